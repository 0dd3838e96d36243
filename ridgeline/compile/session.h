// ridgeline/compile/session.h
//
// Owns what outlives programs: devices, the parameter store, the diagnostic log, the trace and the stop flag. Programs
// and data iterators borrow from it and must be destroyed first. Destroying it at any moment stops everything.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "ridgeline/compile/parameter_store.h"
#include "ridgeline/core/log.h"
#include "ridgeline/core/trace.h"
#include "ridgeline/device/devices.h"

namespace ridgeline {

struct SessionOptions {
  int compute_threads = 0;     // 0: the cores that the process may use; never more than OpenMP has to give
  std::string device = "cpu";  // by name, see device/devices.h
  KernelPromise promise;       // what kernels must promise: reproducibility, accuracy
  SimulatedDeviceOptions simulated;
  std::function<std::unique_ptr<Device>()> make_device;  // a device of the caller's own instead of a named one
  std::string log;                                       // diagnostic components, see core/log.h
  bool trace = false;
};

class Session {
 public:
  explicit Session(const SessionOptions& options = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // The device that programs are placed on, and the host's.
  Device& device() { return *device_; }
  Device& cpu() { return *cpu_; }
  ParameterStore& parameters() { return *parameters_; }
  Log& log() { return log_; }
  Trace* trace() { return trace_.get(); }
  // The size of its team, whatever other sessions have. Programs are compiled for it and run by it, each time in a
  // ComputeScope: outside of them nothing of the caller's OpenMP is changed.
  int compute_threads() const { return compute_threads_; }
  // Programs look at it between launches.
  std::atomic<bool>& stop_flag() { return stop_; }

 private:
  int compute_threads_;
  Log log_;
  std::unique_ptr<Trace> trace_;
  std::atomic<bool> stop_{false};
  std::unique_ptr<Device> cpu_;
  std::unique_ptr<Device> other_;
  Device* device_ = nullptr;
  std::unique_ptr<ParameterStore> parameters_;
};

}  // namespace ridgeline
