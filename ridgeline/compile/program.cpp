#include "ridgeline/compile/program.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <mutex>

#include "ridgeline/compile/check_memory.h"
#include "ridgeline/compile/lanes.h"
#include "ridgeline/compile/place_arena.h"
#include "ridgeline/compile/places.h"
#include "ridgeline/core/threads.h"

namespace ridgeline {
struct Program::State {
  explicit State(const Plan& plan) : places(plan), bases(static_cast<std::size_t>(places.spaces()), nullptr) {}

  Places places;
  std::vector<void*> bases;                           // by space; null of inputs, which each run may bind elsewhere
  std::vector<std::unique_ptr<DeviceMemory>> memory;  // arenas and kept blocks
  struct Input {
    ValueType type;
    Tensor value;                // keeps the memory alive that the launches read
    std::vector<void**> places;  // in input_addresses
  };
  std::map<std::string, Input> inputs;              // by argument name
  std::vector<std::vector<void*>> input_addresses;  // by launch
  std::vector<std::vector<void*>> output_addresses;
  std::vector<void*> scratch_addresses;
  std::vector<double> milliseconds;
  std::vector<double> started;                            // milliseconds after `begin`
  std::chrono::steady_clock::time_point begin;            // of the last run
  bool bound = false;                                     // every input has been bound
  std::vector<std::unique_ptr<Event>> packed, exchanged;  // of each exchange: may begin, is over

  struct Form {
    const ParameterStore::Entry* entry = nullptr;
    std::shared_ptr<DerivedForm> form;
    bool stale = true;     // made in this run
    bool updated = false;  // by the launch that updates the entry
  };
  std::map<int, Form> forms;                            // by buffer
  std::vector<const Form*> form_of_launch;              // by launch: the form that it helps to make, or null
  std::vector<ParameterStore::Entry*> written;          // entries that a run changes
  std::vector<std::shared_ptr<const void>> leases;      // of all entries that the program has addresses of
  std::vector<std::shared_ptr<void>> exchanged_blocks;  // of communicators
  struct Source {
    const ParameterStore::Entry* entry;
    std::uint64_t version = 0;  // of which the constant launches were made; 0: never
  };
  std::vector<Source> constant_sources;
  bool constants_made = false;     // in any run
  bool constants_stale = true;     // made in this run
  std::vector<std::int64_t> runs;  // by launch
  std::vector<bool> ran;           // by launch: in the last run
  // Of launches side by side: the last section's run, and by launch the one that has done it.
  std::uint32_t round = 0;
  std::vector<std::atomic<std::uint32_t>> done;

  // What a run leaves, however it ends: the values that it may have written are new ones, and forms count as made only
  // by a run that came to its end.
  struct Ending {
    State& state;
    bool complete = false;
    ~Ending() {
      for (auto& [buffer, form] : state.forms) {
        if (form.stale) form.form->version = complete ? form.entry->version : 0;
      }
      if (state.constants_stale) {
        for (Source& source : state.constant_sources) source.version = complete ? source.entry->version : 0;
      }
      state.constants_made = state.constants_made || complete;
      for (ParameterStore::Entry* entry : state.written) ++entry->version;
      for (auto& [buffer, form] : state.forms) {
        if (form.updated) form.form->version = complete ? form.entry->version : 0;
      }
    }
  };
};

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
    if (Trace* trace = session_.trace(); trace != nullptr && launch.exchange)
      launch.exchange = std::make_unique<TracedExchange>(std::move(launch.exchange), *trace,
                                                         plan_.graph.nodes[static_cast<std::size_t>(launch.node)].name);
  }
  const std::size_t count = plan_.launches.size();
  state_->input_addresses.resize(count);
  state_->output_addresses.resize(count);
  state_->scratch_addresses.resize(count, nullptr);
  state_->milliseconds.resize(count, 0.0);
  state_->started.resize(count, 0.0);
  state_->runs.resize(count, 0);
  state_->ran.resize(count, false);
  state_->done = std::vector<std::atomic<std::uint32_t>>(plan_.sections.empty() ? 0 : count);
  // All addresses but those of inputs are known for good: compilation has fixed where parameters lie.
  for (std::size_t i = 0; i < count; ++i) {
    const Launch& launch = plan_.launches[i];
    state_->form_of_launch.push_back(launch.derives >= 0 ? &state_->forms.at(launch.derives) : nullptr);
    for (int b : launch.inputs) {
      state_->input_addresses[i].push_back(is_input(b) ? nullptr : address(b));
    }
    for (std::size_t k = 0; k < launch.inputs.size(); ++k) {
      const Buffer& b = plan_.buffers[static_cast<std::size_t>(launch.inputs[k])];
      if (b.home == BufferHome::input) state_->inputs.at(b.name).places.push_back(&state_->input_addresses[i][k]);
    }
    for (int b : launch.outputs) state_->output_addresses[i].push_back(address(b));
    if (launch.scratch >= 0) state_->scratch_addresses[i] = address(launch.scratch);
  }
}

Program::~Program() { end_exchanges(nullptr); }

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

void Program::bind(const std::string& input, const Tensor& value) {
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
  for (void** place : target.places) *place = const_cast<void*>(value.raw());
}

void Program::check_bound() {
  for (const auto& [name, input] : state_->inputs) {
    if (!input.value.defined()) throw Error("input " + name + " of the program is not bound");
  }
  state_->bound = true;
}

// Waits until nothing of this program is exchanged any more. `why`: tells the other ranks, who wait for this one, that
// it does not come.
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

// A run that does not come to its end leaves nothing in flight: its memory is used again.
struct Program::Exchanges {
  Program& program;
  const bool& complete;
  ~Exchanges() {
    if (!complete) program.end_exchanges("it stopped in the middle of a step");
  }
};

bool Program::run() {
  if (!state_->bound) check_bound();
  const ComputeScope team(session_.compute_threads());
  session_.parameters().fill_zeros();
  find_work();
  if (session_.trace()) session_.trace()->name_thread("compute");
  state_->begin = std::chrono::steady_clock::now();
  State::Ending ending{*state_};
  const Exchanges exchanges{*this, ending.complete};
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
  for (Device* device : plan_.devices) device->stream().synchronize();
  ending.complete = true;
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
  const Launch& launch = plan_.launches[i];
  ++state_->runs[i];
  const auto begin = std::chrono::steady_clock::now();
  void* const* inputs = state_->input_addresses[i].data();
  void* const* outputs = state_->output_addresses[i].data();
  Stream& stream = launch.device->stream();
  switch (launch.kind) {
    case LaunchKind::kernel: stream.run(*launch.kernel, {inputs, outputs, state_->scratch_addresses[i]}); break;
    case LaunchKind::copy: copy(launch, inputs[0], outputs[0]); break;
    case LaunchKind::start: begin_exchange(launch, {inputs, outputs, state_->scratch_addresses[i]}); break;
    case LaunchKind::done: stream.wait(*state_->exchanged[static_cast<std::size_t>(launch.event)]); break;
  }
  if (!profiling_ && !session_.trace()) return;
  stream.synchronize();
  const auto end = std::chrono::steady_clock::now();
  state_->milliseconds[i] = std::chrono::duration<double, std::milli>(end - begin).count();
  state_->started[i] = std::chrono::duration<double, std::milli>(begin - state_->begin).count();
  if (Trace* trace = session_.trace()) trace_launch(*trace, i, begin, end);
}

void Program::trace_launch(Trace& trace, std::size_t i, Trace::Clock::time_point begin, Trace::Clock::time_point end) {
  const LaunchReport launch = report(i);
  char work[64];
  std::snprintf(work, sizeof work, "%.3f GFLOP of %.3f, %.2f MB", launch.flops_done / 1e9, launch.cost.flops / 1e9,
                launch.cost.bytes / 1e6);
  trace.record("launch", plan_.launches[i].node >= 0 ? launch.node : "update", begin, end,
               {{"kernel", launch.kernel}, {"work", work}});
}

void Program::begin_exchange(const Launch& launch, const KernelArguments& arguments) {
  Stream& stream = launch.device->stream();
  Stream& behind = launch.device->stream_for(StreamPurpose::exchanges);
  Event& packed = *state_->packed[static_cast<std::size_t>(launch.event)];
  if (launch.kernel) stream.run(*launch.kernel, arguments);
  stream.record(packed);
  behind.wait(packed);
  behind.run(*launch.exchange, {arguments.inputs, arguments.outputs, nullptr});
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

// Each lane runs its launches in order and waits where the plan says so. Who waits waits for a launch that comes before
// in the plan's order, so somebody can always go on. After an error or a stop nothing is run any more, and all that
// others wait for counts as done.
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

std::int64_t Program::run_loop(std::int64_t steps, FunctionRef<bool()> feed) {
  for (std::int64_t done = 0; done < steps; ++done) {
    if (!feed() || !run()) return done;
  }
  return steps;
}

Tensor Program::output(const std::string& name) {
  const std::vector<Return>& returns = plan_.graph.returns;
  const auto found = std::find_if(returns.begin(), returns.end(), [&](const Return& r) { return r.name == name; });
  if (found == returns.end()) throw Error("the program returns no " + name);
  return output(static_cast<std::size_t>(found - returns.begin()));
}

Tensor Program::output(std::size_t index) {
  const int buffer = plan_.buffer_of_return.at(index);
  const Buffer& b = plan_.buffers[static_cast<std::size_t>(buffer)];
  // Not the buffer's type: a view shares the buffer of a value of another shape.
  const ValueType& type = plan_.graph.value(plan_.graph.returns[index].value).type;
  if (b.device->host_memory()) return Tensor::view(address(buffer), type.dtype, type.shape);
  Tensor host(type.dtype, type.shape);
  b.device->stream().copy_to_host(host.raw(), address(buffer), b.bytes);
  b.device->stream().synchronize();
  return host;
}

namespace {

std::string kernel_name(const Launch& launch) {
  switch (launch.kind) {
    case LaunchKind::kernel: return launch.kernel->name;
    case LaunchKind::start: return launch.exchange->name;
    case LaunchKind::done: return "wait";
    case LaunchKind::copy: break;
  }
  return "copy";
}

}  // namespace

LaunchReport Program::report(std::size_t i) const {
  const Launch& launch = plan_.launches[i];
  LaunchReport report;
  report.device = launch.device->name();
  report.milliseconds = state_->milliseconds[i];
  report.started = state_->started[i];
  report.runs = state_->runs[i];
  report.ran = state_->ran[i];
  if (launch.node >= 0) {
    const Node& node = plan_.graph.nodes[static_cast<std::size_t>(launch.node)];
    report.node = node.name;
    report.op = node.op;
    if (!node.where.empty()) report.where = node.where.front().to_string();
  } else {
    report.node = plan_.buffers[static_cast<std::size_t>(launch.outputs[0])].name;
  }
  report.kernel = kernel_name(launch);
  report.converts = launch.converts || launch.kind == LaunchKind::copy;
  if (launch.derives >= 0) {
    report.parameter = plan_.buffers[static_cast<std::size_t>(launch.derives)].name;
  } else if (report.converts) {
    const Buffer& from = plan_.buffers[static_cast<std::size_t>(launch.inputs[0])];
    if (from.home == BufferHome::store || from.home == BufferHome::derived) report.parameter = from.name;
  }
  report.cost = cost_of(plan_, launch);
  const bool computes = launch.kind == LaunchKind::kernel && !launch.converts;
  report.flops_done = report.cost.flops * (computes ? launch.kernel->flops_share : 1);
  if (computes) report.products = launch.kernel->products;
  return report;
}

std::vector<LaunchReport> Program::launches() const {
  std::vector<LaunchReport> reports;
  for (std::size_t i = 0; i < plan_.launches.size(); ++i) reports.push_back(report(i));
  for (const Section& section : plan_.sections) {
    for (std::size_t lane = 0; lane < section.lanes.size(); ++lane) {
      for (const int i : section.lanes[lane]) reports[static_cast<std::size_t>(i)].lane = static_cast<int>(lane);
    }
  }
  return reports;
}

}  // namespace ridgeline
