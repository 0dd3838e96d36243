#include "ridgeline/device/simulated/simulated_stream.h"

#include <cstring>
#include <thread>

#include "ridgeline/core/error.h"
#include "ridgeline/device/simulated/arena.h"
#include "ridgeline/device/simulated/recorded_work.h"
#include "ridgeline/device/staged_copy.h"

namespace ridgeline {
namespace {

// Enough of the bytes to notice that somebody wrote over them.
std::uint64_t fingerprint(const void* bytes, std::size_t size) {
  std::uint64_t sum = 14695981039346656037u;
  for (std::size_t i = 0; i < size; ++i) sum = (sum ^ static_cast<const unsigned char*>(bytes)[i]) * 1099511628211u;
  return sum;
}

const char* chars(const void* address) { return static_cast<const char*>(address); }

}  // namespace

void SimulatedStream::run(Kernel& kernel, const KernelArguments& arguments) {
  if (kernel.device != &device_) throw Error("[simulated] kernel '" + kernel.name + "' was made for another device");
  kernel.run({arguments.inputs, arguments.outputs, arguments.scratch, this});
}

void SimulatedStream::launch(const SimulatedKernel& kernel, const KernelArguments& arguments) {
  SimulatedWork work{.what = "'" + kernel.name + "'"};
  const auto translate = [&](void* address, std::size_t bytes, bool writes, const std::string& what) {
    void* const at = device_.arena().translate(address, bytes, what + " of '" + kernel.name + "'");
    work.accesses.push_back({chars(address), bytes, writes});
    return at;
  };
  std::vector<void*> inputs, outputs;
  for (std::size_t i = 0; i < kernel.input_bytes.size(); ++i)
    inputs.push_back(translate(arguments.inputs[i], kernel.input_bytes[i], false, "operand " + std::to_string(i)));
  for (std::size_t i = 0; i < kernel.output_bytes.size(); ++i)
    outputs.push_back(translate(arguments.outputs[i], kernel.output_bytes[i], true, "result " + std::to_string(i)));
  void* scratch = nullptr;
  if (kernel.scratch_bytes > 0) scratch = translate(arguments.scratch, kernel.scratch_bytes, true, "scratch");
  work.body = [reference = kernel.reference, inputs = std::move(inputs), outputs = std::move(outputs), scratch,
               least = kernel.product ? least_ : kernel.least_time] {
    const auto begin = std::chrono::steady_clock::now();
    reference->run({inputs.data(), outputs.data(), scratch});
    if (least.count() > 0) std::this_thread::sleep_until(begin + least);
  };
  device_.launched(kernel.name);
  submit(std::move(work));
}

SourceUse SimulatedStream::copy(const Copy& copy) {
  const auto own = [&](const Device* device) { return device == &device_; };
  const auto host = [](const Device* device) { return device == nullptr || device->host_memory(); };
  if ((!own(copy.to_device) && !host(copy.to_device)) || (!own(copy.from_device) && !host(copy.from_device))) {
    refuse_while_recording("a copy between two devices");
    return staged_copy(*this, copy);
  }
  const SimulatedArena& arena = device_.arena();
  const std::string direction =
      own(copy.to_device) ? own(copy.from_device) ? "within the device" : "from the host" : "to the host";
  SimulatedWork work{.what = "a copy " + direction};
  void* to = copy.to;
  const void* from = copy.from;
  if (own(copy.to_device)) {
    to = arena.translate(copy.to, copy.bytes, "the target of a copy " + direction);
    work.accesses.push_back({chars(copy.to), copy.bytes, true});
  } else {
    arena.refuse_device_address(copy.to, "the target of a copy " + direction);
  }
  if (own(copy.from_device)) {
    from = arena.translate(copy.from, copy.bytes, "the source of a copy " + direction);
    work.accesses.push_back({chars(copy.from), copy.bytes, false});
  } else {
    arena.refuse_device_address(copy.from, "the source of a copy " + direction);
  }
  const std::size_t bytes = copy.bytes;
  const bool from_host = !own(copy.from_device);
  const bool pinned = !from_host || arena.pinned(copy.from, bytes);
  if ((from_host && !pinned) || (!own(copy.to_device) && !arena.pinned(copy.to, bytes)))
    refuse_while_recording("a copy of memory that is not pinned");
  if (!pinned) {
    work.body = [to, staged = std::vector<char>(chars(from), chars(from) + bytes)] {
      if (!staged.empty()) std::memcpy(to, staged.data(), staged.size());
    };
    submit(std::move(work));
    return SourceUse::over;
  }
  // A recorded copy reads what lies there at each replay.
  const bool checked = from_host && !device_.recording();
  work.body = [to, from, bytes, checked, before = checked ? fingerprint(from, bytes) : 0] {
    if (checked && fingerprint(from, bytes) != before)
      throw Error("[simulated] the source of a copy from the host was written over before the copy was done");
    if (bytes > 0) std::memmove(to, from, bytes);
  };
  submit(std::move(work));
  return SourceUse::in_flight;
}

void SimulatedStream::clear(void* device, std::size_t bytes) {
  void* const to = device_.arena().translate(device, bytes, "what is cleared");
  submit({.what = "clearing", .accesses = {{chars(device), bytes, true}}, .body = [to, bytes] {
            if (bytes > 0) std::memset(to, 0, bytes);
          }});
}

void SimulatedStream::synchronize() {
  refuse_while_recording("waiting for a stream");
  device_.host_waited();
  queue_.synchronize();
  device_.order().host_waits(device_.order().record(index()));
}

void SimulatedStream::record(Event& event) {
  RIDGELINE_CHECK(&event.device() == &device_, "a stream records the events of its own device");
  submit({.kind = SimulatedWork::Kind::record, .event = &event});
}

void SimulatedStream::wait(Event& event) { submit({.kind = SimulatedWork::Kind::wait, .event = &event}); }

void SimulatedStream::submit(SimulatedWork work) {
  if (RecordedWork* recording = device_.recording())
    recording->add(purpose_, std::move(work));
  else
    give(work);
}

void SimulatedStream::give(const SimulatedWork& work) {
  AccessOrder& order = device_.order();
  if (work.kind == SimulatedWork::Kind::work) {
    order.add(index(), work.accesses, work.what);
    queue_.push(work.body);
    return;
  }
  if (&work.event->device() != &device_) {
    queue_.push([event = work.event] { event->wait(); });
    return;
  }
  auto& event = static_cast<SimulatedEvent&>(*work.event);
  if (work.kind == SimulatedWork::Kind::record) {
    event.set_clock(order.record(index()));
    queue_.record(event.host());
  } else {
    order.wait(index(), event.clock());
    queue_.push([&host = event.host(), record = event.host().recorded()] { host.wait_for(record); });
  }
}

void SimulatedStream::refuse_while_recording(const char* what) const {
  if (device_.recording() != nullptr) throw Error("[simulated] " + std::string(what) + " cannot be recorded");
}

}  // namespace ridgeline
