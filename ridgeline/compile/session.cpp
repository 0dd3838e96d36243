#include "ridgeline/compile/session.h"

#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/cpu_device.h"

namespace ridgeline {

Session::Session(const SessionOptions& options) : compute_threads_(usable_threads(options.compute_threads)) {
  if (!options.log.empty()) log_.enable(options.log);
  if (options.trace) trace_ = std::make_unique<Trace>();
  cpu_ = std::make_unique<CpuDevice>();
  if (options.device == "cpu") {
    device_ = cpu_.get();
  } else if (options.device == "simulated") {
    other_ = std::make_unique<SimulatedDevice>(options.simulated);
    device_ = other_.get();
  } else {
    throw Error("unknown device '" + options.device + "' (allowed: cpu, simulated)", ErrorKind::usage);
  }
  parameters_ = std::make_unique<ParameterStore>(*device_);
}

Session::~Session() {
  stop_ = true;
  parameters_.reset();  // its memory belongs to the device, which goes last
}

}  // namespace ridgeline
