#include "ridgeline/compile/run/session.h"

#include "ridgeline/core/error.h"
#include "ridgeline/core/threads.h"

namespace ridgeline {
namespace {

constexpr std::string_view kCpuName = "cpu";

std::unique_ptr<Device> made_by(const std::function<std::unique_ptr<Device>()>& make_device) {
  std::unique_ptr<Device> device = make_device();
  if (device == nullptr) throw Error("SessionOptions::make_device gave no device", ErrorKind::usage);
  return device;
}

}  // namespace

Session::Session(const SessionOptions& options)
    : compute_threads_(usable_threads(options.compute_threads)), groups_(options.groups) {
  if (!options.log.empty()) log_.enable(options.log);
  if (options.trace) trace_ = std::make_unique<Trace>();
  const NamedDevice named = device_named(options.device);
  const bool elsewhere = options.make_device != nullptr || named.entry->name != kCpuName;
  KernelPromise promise = options.promise;
  if (elsewhere) promise.fp32_compute = {};  // a name of the other device's
  cpu_ = device_named(kCpuName).make({.promise = promise, .tune = elsewhere ? "" : options.tune});
  if (options.make_device)
    other_ = made_by(options.make_device);
  else if (elsewhere)
    other_ = named.make({.promise = options.promise, .tune = options.tune, .simulated = options.simulated});
  if (other_ && options.make_device && !options.tune.empty()) {
    throw Error("tune is for devices by name, and SessionOptions::make_device gives " + std::string(other_->name()),
                ErrorKind::usage);
  }
  device_ = other_ ? other_.get() : cpu_.get();
  parameters_ = std::make_unique<ParameterStore>(*device_);
  if (options.parallel_launches > 1) start_lanes(options.parallel_launches);
}

void Session::start_lanes(int lanes) {
  // Each is a thread; more than a few never have work.
  constexpr int kMost = 64;
  if (lanes > kMost) {
    throw Error(
        std::to_string(lanes) + " launches side by side are wanted; at most " + std::to_string(kMost) + " can be",
        ErrorKind::usage);
  }
  if (!device_->side_by_side()) {
    throw Error(std::to_string(lanes) + " launches side by side are wanted, and device " +
                    std::string(device_->name()) + " runs one after the other",
                ErrorKind::usage);
  }
  lanes_ = std::make_unique<LaneThreads>(lanes);
}

void Session::say_once(const std::string& line) {
  if (said_.insert(line).second) log_.info(line);
}

Session::~Session() {
  stop_ = true;
  parameters_.reset();  // its memory belongs to the device, which is destroyed last
}

}  // namespace ridgeline
