#include "ridgeline/compile/run/program.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <iterator>
#include <mutex>

#include "ridgeline/compile/lower/check_memory.h"
#include "ridgeline/compile/lower/place_arena.h"
#include "ridgeline/compile/run/program_state.h"
#include "ridgeline/core/threads.h"

namespace ridgeline {
namespace {

// An exchange that a trace shows, on the lane of the second stream's thread.
class TracedExchange final : public Kernel {
 public:
  TracedExchange(std::unique_ptr<Kernel> exchange, Trace& trace, std::string node)
      : exchange_(std::move(exchange)), trace_(trace), node_(std::move(node)) {
    name = exchange_->name;
  }
  void run(const KernelArguments& arguments) override {
    if (!named_) trace_.name_thread("exchanges between ranks");
    named_ = true;
    const TraceSpan span(&trace_, "exchange", node_);
    exchange_->run(arguments);
  }

 private:
  std::unique_ptr<Kernel> exchange_;
  Trace& trace_;
  std::string node_;
  bool named_ = false;
};

}  // namespace

Program::Program(Session& session, Plan plan, const MemoryReport& memory)
    : session_(session), plan_(std::move(plan)), memory_(memory), state_(std::make_unique<State>(plan_)) {
  session_.log().trace("memory", memory_.to_text());
  check_memory(memory_, session_.device());
  for (ValueId id : plan_.graph.arguments) {
    const ValueInfo& info = plan_.graph.value(id);
    if (info.kind == ValueKind::input) state_->inputs[info.name].type = info.type;
  }
  ParameterStore& store = session_.parameters();
  const auto borrow = [&](const std::string& name) { state_->leases.push_back(store.entry(name).lease); };
  for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
    const Buffer& b = plan_.buffers[i];
    if (b.home == BufferHome::store || b.home == BufferHome::derived) borrow(b.name);
    if (b.home != BufferHome::derived) continue;
    state_->forms[static_cast<int>(i)] = {&store.entry(b.name),
                                          store.derived(b.name, b.type.dtype, *b.device, b.layout)};
  }
  allocate();
  for (const std::string& name : plan_.constant_sources) {
    state_->constant_sources.push_back({&store.entry(name)});
    borrow(name);
  }
  for (const Update& update : plan_.graph.updates) {
    if (update.next == update.current) continue;
    state_->written.push_back(&store.entry(plan_.graph.value(update.current).name));
  }
  for (const Launch& launch : plan_.launches) {
    for (int b : launch.writes_forms) state_->forms.at(b).updated = true;
  }
  state_->packed.resize(static_cast<std::size_t>(plan_.events));
  state_->exchanged.resize(static_cast<std::size_t>(plan_.events));
  for (const Launch& launch : plan_.launches) {
    if (launch.kind != LaunchKind::start) continue;
    state_->packed[static_cast<std::size_t>(launch.event)] = launch.device->make_event();
    state_->exchanged[static_cast<std::size_t>(launch.event)] = launch.device->make_event();
  }
  for (Launch& launch : plan_.launches) {
    if (Trace* trace = session_.trace(); trace != nullptr && launch.exchange && launch.device->host_memory())
      launch.exchange = std::make_unique<TracedExchange>(std::move(launch.exchange), *trace,
                                                         plan_.graph.nodes[static_cast<std::size_t>(launch.node)].name);
  }
  const std::size_t count = plan_.launches.size();
  state_->input_addresses.resize(count);
  state_->output_addresses.resize(count);
  state_->scratch_addresses.resize(count, nullptr);
  state_->milliseconds.resize(count, 0.0);
  state_->started.resize(count, 0.0);
  state_->work.resize(count);
  state_->runs.resize(count, 0);
  state_->ran.resize(count, false);
  state_->done = std::vector<std::atomic<std::uint32_t>>(plan_.sections.empty() ? 0 : count);
  // All addresses except those of inputs are final: compilation has fixed where parameters lie.
  for (std::size_t i = 0; i < count; ++i) {
    const Launch& launch = plan_.launches[i];
    state_->form_of_launch.push_back(launch.derives >= 0 ? &state_->forms.at(launch.derives) : nullptr);
    for (int b : launch.inputs) {
      state_->input_addresses[i].push_back(is_input(b) ? nullptr : address(b));
    }
    for (std::size_t k = 0; k < launch.inputs.size(); ++k) {
      const Buffer& b = plan_.buffers[static_cast<std::size_t>(launch.inputs[k])];
      if (b.home != BufferHome::input) continue;
      State::Input& input = state_->inputs.at(b.name);
      (b.device->host_memory() ? input.places : input.copied).push_back(&state_->input_addresses[i][k]);
    }
    for (int b : launch.outputs) state_->output_addresses[i].push_back(address(b));
    if (launch.scratch >= 0) state_->scratch_addresses[i] = address(launch.scratch);
  }
  prepare_device();
}

Program::~Program() { end_exchanges(nullptr); }

// Of a device with memory of its own: where inputs are copied to, and what its loops need if it runs asynchronously.
void Program::prepare_device() {
  Device& device = session_.device();
  if (device.host_memory()) return;
  std::vector<std::size_t> bytes;
  for (auto& [name, input] : state_->inputs) {
    if (input.copied.empty()) continue;
    input.number = state_->copied.size();
    state_->copied.push_back(&input);
    bytes.push_back(input.type.bytes());
  }
  if (!bytes.empty()) state_->sets = std::make_unique<InputSets>(device, bytes);
  state_->timeline = std::make_unique<DeviceTimeline>(
      device, [this](const auto& span, auto stream, auto begin, auto end) { timed(span, stream, begin, end); });
  const auto on_device = [&](int b) { return plan_.buffers[static_cast<std::size_t>(b)].device == &device; };
  state_->behind = std::all_of(plan_.launches.begin(), plan_.launches.end(), [&](const Launch& launch) {
    return launch.device == &device && std::all_of(launch.inputs.begin(), launch.inputs.end(), on_device) &&
           std::all_of(launch.outputs.begin(), launch.outputs.end(), on_device) &&
           (!launch.kernel || launch.kernel->replays) && (!launch.exchange || launch.exchange->replays);
  });
}

bool Program::runs_behind() const { return state_->behind; }

void Program::allocate() {
  // In the order of the starts, which is that of all ranks.
  for (const Launch& launch : plan_.launches) {
    if (launch.shared < 0) continue;
    const Place& block = state_->places.of(launch.shared);
    state_->exchanged_blocks.push_back(launch.ranks->allocate(static_cast<std::int64_t>(block.end)));
    state_->bases[static_cast<std::size_t>(block.space)] = state_->exchanged_blocks.back().get();
  }
  const auto own = [&](Device& device, std::size_t bytes) {
    state_->memory.push_back(device.allocate(bytes));
    return state_->memory.back()->address();
  };
  for (int s = 0; s < state_->places.spaces(); ++s) {
    const Space& space = state_->places.space(s);
    void*& base = state_->bases[static_cast<std::size_t>(s)];
    const auto buffer = static_cast<std::size_t>(space.buffer);
    switch (space.home) {
      case BufferHome::arena: base = own(*plan_.devices[space.device], std::max(space.bytes, kMemoryAlignment)); break;
      case BufferHome::store: base = session_.parameters().entry(plan_.buffers[buffer].name).memory->address(); break;
      case BufferHome::derived: base = state_->forms.at(space.buffer).form->memory->address(); break;
      case BufferHome::kept:
        if (!space.exchanged) base = own(*plan_.buffers[buffer].device, space.bytes);
        break;
      case BufferHome::input: break;
    }
  }
}

void* Program::address(int buffer) const {
  const Place& place = state_->places.of(buffer);
  return static_cast<char*>(state_->bases[static_cast<std::size_t>(place.space)]) + place.begin;
}

bool Program::is_input(int index) const {
  return plan_.buffers[static_cast<std::size_t>(index)].home == BufferHome::input;
}

void Program::bind(const std::string& input, const Tensor& value, std::shared_ptr<const void> lease) {
  const auto it = state_->inputs.find(input);
  if (it == state_->inputs.end()) {
    std::vector<std::string> names;
    for (const auto& [name, known] : state_->inputs) names.push_back(name);
    throw Error("the program has no input " + input + did_you_mean(input, names));
  }
  State::Input& target = it->second;
  if (value.dtype() != target.type.dtype || value.shape() != target.type.shape) {
    const ValueType given{value.dtype(), value.shape()};
    throw Error("input " + input + " is " + target.type.to_string() + ", not " + given.to_string());
  }
  target.value = value;
  target.lease = std::move(lease);
  for (void** place : target.places) *place = const_cast<void*>(value.raw());
}

void Program::check_bound() {
  for (const auto& [name, input] : state_->inputs) {
    if (!input.value.defined()) throw Error("input " + name + " of the program is not bound");
  }
  state_->bound = true;
}

void Program::give_back(bool wait) {
  for (auto& [name, input] : state_->inputs) {
    if (input.lease == nullptr) continue;
    input.value = {};
    input.lease.reset();
    state_->bound = false;
  }
  if (state_->sets) state_->sets->let_go(wait);
}

// Waits until no exchange of this program is in flight. `why`: what is reported to the other ranks, which wait for this
// one.
void Program::end_exchanges(const char* why) {
  if (plan_.events == 0) return;
  for (const Launch& launch : plan_.launches) {
    if (launch.kind != LaunchKind::start) continue;
    if (why != nullptr) launch.ranks->abort(why);
  }
  // Both streams: after an error the second one does not wait for the events that the first one has yet to reach.
  for (const Launch& launch : plan_.launches) {
    if (launch.kind != LaunchKind::start) continue;
    for (Stream* stream : {&launch.device->stream(), &launch.device->stream_for(StreamPurpose::exchanges)}) {
      try {
        stream->synchronize();
      } catch (...) {  // was thrown by the done that waited for it, or belongs to a run that is given up
      }
    }
  }
}

// A run that fails leaves nothing in flight, since its memory is reused.
Program::Attempt::~Attempt() {
  if (complete) return;
  program.end_exchanges("it stopped in the middle of a step");
  program.drain();
}

// Nothing of a failed run may be used: forms are remade. Nothing of it is in flight.
void Program::spoil() {
  if (state_->returned) state_->returned->forget();
  if (state_->timeline) state_->timeline->forget();
  if (state_->sets) state_->sets->forget();
  for (auto& [buffer, form] : state_->forms) form.form->version = 0;
  state_->constants_made = false;
  for (ParameterStore::Entry* entry : state_->written) ++entry->version;
}

// Waits until nothing is in flight any more, whatever the result.
void Program::drain() {
  Device& device = session_.device();
  if (device.host_memory()) return;
  for (const StreamPurpose stream : {StreamPurpose::compute, StreamPurpose::copies, StreamPurpose::exchanges}) {
    try {
      device.stream_for(stream).synchronize();
    } catch (...) {  // belongs to abandoned runs, and was reported
    }
  }
}

bool Program::run() {
  if (!give()) return false;
  finish();
  return true;
}

// Enqueues one run. On an asynchronous device it has not finished then.
bool Program::give() {
  if (!state_->bound) check_bound();
  const ComputeScope team(session_.compute_threads());
  session_.parameters().fill_zeros();
  find_work();
  if (session_.trace()) session_.trace()->name_thread("compute");
  state_->begin = std::chrono::steady_clock::now();
  ++state_->run;
  State::Ending ending{*state_};
  const Attempt attempt{*this, ending.complete};
  if (state_->timeline) state_->timeline->collect();
  copy_inputs();
  if (!(replay() || give_launches())) return false;
  if (state_->sets) state_->sets->read();
  ending.complete = true;
  return true;
}

// Waits until all enqueued runs are done.
void Program::finish() {
  try {
    for (Device* device : plan_.devices) device->stream().synchronize();
  } catch (...) {
    end_exchanges("its device failed in a step");
    drain();
    spoil();
    throw;
  }
  if (state_->timeline) state_->timeline->collect();
}

// Into the input set that no run in flight reads.
void Program::copy_inputs() {
  if (!state_->sets) return;
  std::vector<InputSets::Source> sources;
  for (const State::Input* input : state_->copied) sources.push_back({&input->value, input->lease});
  state_->set = state_->sets->fill(sources, session_.trace() ? state_->timeline.get() : nullptr);
  for (const State::Input* input : state_->copied) {
    for (void** place : input->copied) *place = state_->sets->address(state_->set, input->number);
  }
}

// Replays the run by one call. A run is recorded when the same launches were enqueued before; false: it is not
// recorded, and must be enqueued launch by launch.
bool Program::replay() {
  Device& device = session_.device();
  if (!state_->behind || !device.records() || profiling_ || session_.trace() != nullptr) return false;
  if (session_.stop_flag().load(std::memory_order_relaxed)) return false;
  const auto same = [&](const State::Recorded& r) { return r.set == state_->set && r.ran == state_->ran; };
  auto known = std::find_if(state_->recorded.begin(), state_->recorded.end(), same);
  if (known == state_->recorded.end()) {
    if (state_->given != state_->ran) return false;
    bool whole = false;
    std::unique_ptr<Recording> work = device.record([&] { whole = give_launches(); });
    if (!work || !whole) return false;
    constexpr std::size_t kMost = 2 * InputSets::kSets;  // with the first run of parameters that have changed
    if (state_->recorded.size() == kMost) {
      device.stream().synchronize();  // it may be running
      state_->recorded.erase(state_->recorded.begin());
    }
    state_->recorded.push_back({state_->ran, state_->set, std::move(work)});
    known = std::prev(state_->recorded.end());
  } else {
    for (std::size_t i = 0; i < state_->ran.size(); ++i) state_->runs[i] += state_->ran[i] ? 1 : 0;
  }
  known->work->replay();
  return true;
}

// One after the other, or side by side. False when the session was stopped meanwhile.
bool Program::give_launches() {
  auto section = plan_.sections.begin();
  for (std::size_t i = 0; i < plan_.launches.size();) {
    if (session_.stop_flag().load(std::memory_order_relaxed)) return false;
    if (section != plan_.sections.end() && static_cast<std::size_t>(section->first) == i) {
      if (!run_side_by_side(*section)) return false;
      i = static_cast<std::size_t>(section->last);
      ++section;
    } else {
      run_launch(i++);
    }
  }
  state_->given = state_->ran;
  return true;
}

// Which forms and constants are stale, and so which launches this run leaves out.
void Program::find_work() {
  for (auto& [buffer, form] : state_->forms) form.stale = form.form->version != form.entry->version;
  state_->constants_stale =
      !state_->constants_made || std::any_of(state_->constant_sources.begin(), state_->constant_sources.end(),
                                             [](const auto& s) { return s.version != s.entry->version; });
  for (std::size_t i = 0; i < plan_.launches.size(); ++i) {
    const State::Form* form = state_->form_of_launch[i];
    state_->ran[i] = !(form ? !form->stale : plan_.launches[i].constant && !state_->constants_stale);
  }
}

void Program::run_launch(std::size_t i) {
  if (!state_->ran[i]) {
    state_->milliseconds[i] = state_->started[i] = 0;
    return;
  }
  ++state_->runs[i];
  const bool timed = profiling_ || session_.trace() != nullptr;
  if (timed && plan_.launches[i].device == &session_.device() && state_->timeline) {
    state_->timeline->span(StreamPurpose::compute, {.launch = static_cast<int>(i), .run = state_->run},
                           [&] { give_launch(i); });
    return;
  }
  const auto begin = std::chrono::steady_clock::now();
  give_launch(i);
  if (!timed) return;
  const auto end = std::chrono::steady_clock::now();
  state_->milliseconds[i] = std::chrono::duration<double, std::milli>(end - begin).count();
  state_->started[i] = std::chrono::duration<double, std::milli>(begin - state_->begin).count();
  if (Trace* trace = session_.trace()) trace_launch(*trace, "", i, begin, end);
}

void Program::give_launch(std::size_t i) {
  const Launch& launch = plan_.launches[i];
  void* const* inputs = state_->input_addresses[i].data();
  void* const* outputs = state_->output_addresses[i].data();
  Stream& stream = launch.device->stream();
  TeamRecording* const recording = TeamRecording::active();
  if (recording != nullptr) recording->start();
  switch (launch.kind) {
    case LaunchKind::kernel: stream.run(*launch.kernel, {inputs, outputs, state_->scratch_addresses[i]}); break;
    case LaunchKind::copy: copy(launch, inputs[0], outputs[0]); break;
    case LaunchKind::start: begin_exchange(launch, {inputs, outputs, state_->scratch_addresses[i]}); break;
    case LaunchKind::done: stream.wait(*state_->exchanged[static_cast<std::size_t>(launch.event)]); break;
  }
  if (recording != nullptr) state_->work[i] = recording->take();
}

void Program::begin_exchange(const Launch& launch, const KernelArguments& arguments) {
  Stream& stream = launch.device->stream();
  Stream& behind = launch.device->stream_for(StreamPurpose::exchanges);
  Event& packed = *state_->packed[static_cast<std::size_t>(launch.event)];
  if (launch.kernel) stream.run(*launch.kernel, arguments);
  stream.record(packed);
  behind.wait(packed);
  const auto exchange = [&] { behind.run(*launch.exchange, {arguments.inputs, arguments.outputs, nullptr}); };
  if (session_.trace() != nullptr && state_->timeline) {
    const std::string& node = plan_.graph.nodes[static_cast<std::size_t>(launch.node)].name;
    state_->timeline->span(StreamPurpose::exchanges, {.category = "exchange", .name = node}, exchange);
  } else {
    exchange();
  }
  behind.record(*state_->exchanged[static_cast<std::size_t>(launch.event)]);
}

void Program::copy(const Launch& launch, void* from_address, void* to_address) {
  const Buffer& from = plan_.buffers[static_cast<std::size_t>(launch.inputs[0])];
  const Buffer& to = plan_.buffers[static_cast<std::size_t>(launch.outputs[0])];
  Stream& stream = (from.device->host_memory() ? to.device : from.device)->stream();
  const auto owner = [](Device* device) { return device->host_memory() ? nullptr : device; };
  stream.copy({to_address, from_address, from.bytes, owner(to.device), owner(from.device)});
  // The host's launches run at once.
  if (to.device->host_memory() && !from.device->host_memory()) stream.synchronize();
}

// Each lane runs its launches in order and waits where the plan says so. A lane waits only for launches that come
// before in the plan's order, so one lane can always continue. After an error or a stop nothing is run any more, and
// everything that lanes wait for counts as done.
bool Program::run_side_by_side(const Section& section) {
  const std::uint32_t round = ++state_->round;
  std::atomic<bool> over{false};
  std::mutex mutex;
  std::exception_ptr error;
  const auto run_lane = [&](int lane) {
    for (const int index : section.lanes[static_cast<std::size_t>(lane)]) {
      const auto i = static_cast<std::size_t>(index);
      for (const int other : plan_.launches[i].waits_for) {
        std::atomic<std::uint32_t>& done = state_->done[static_cast<std::size_t>(other)];
        for (std::uint32_t seen = done.load(std::memory_order_acquire); seen != round;
             seen = done.load(std::memory_order_acquire)) {
          done.wait(seen, std::memory_order_acquire);
        }
      }
      if (session_.stop_flag().load(std::memory_order_relaxed)) over.store(true, std::memory_order_relaxed);
      if (!over.load(std::memory_order_relaxed)) {
        try {
          run_launch(i);
        } catch (...) {
          const std::lock_guard lock(mutex);
          if (!error) error = std::current_exception();
          over.store(true, std::memory_order_relaxed);
        }
      }
      state_->done[i].store(round, std::memory_order_release);
      state_->done[i].notify_all();
    }
  };
  session_.lanes().run(static_cast<int>(section.lanes.size()), [&](int lane) {
    if (Trace* trace = session_.trace(); trace != nullptr && lane > 0)
      trace->name_thread("compute lane " + std::to_string(lane));
    try {
      const ComputeScope team(plan_.lane_team);
      run_lane(lane);
    } catch (...) {  // OpenMP has no team for this lane
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
      over.store(true, std::memory_order_relaxed);
      run_lane(lane);
    }
  });
  if (error) std::rethrow_exception(error);
  return !over;
}

}  // namespace ridgeline
