// ridgeline/compile/run/session.h
//
// Owns what outlives programs: devices, the parameter store, the diagnostic log, the trace and the stop flag. Programs
// and data iterators borrow from it and must be destroyed first. Destroying it at any moment stops everything.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "ridgeline/compile/lower/rank_groups.h"
#include "ridgeline/compile/run/parameter_store.h"
#include "ridgeline/core/lane_threads.h"
#include "ridgeline/core/log.h"
#include "ridgeline/core/trace.h"
#include "ridgeline/device/devices.h"

namespace ridgeline {

struct SessionOptions {
  int compute_threads = 0;  // 0: the cores that the process may use; never more than OpenMP has to give
  // Launches that depend on nothing of each other run side by side in so many lanes, which divide the compute threads
  // among them, where that promises to be as fast (side_by_side.h); 0, 1: one after the other. More than 1 needs a
  // device that can (an Error).
  int parallel_launches = 0;
  std::string device = "cpu";  // by name, see device/devices.h
  KernelPromise promise;       // what kernels must promise: reproducibility, accuracy
  // Kernels are chosen by time, measured once: a file that keeps the times, or "auto" (device/kernel_tuner.h); empty:
  // by the order of their list. Where bits may depend on it (promise.bits fast), and the device has a tuner: else an
  // Error.
  std::string tune;
  SimulatedDeviceOptions simulated;
  std::function<std::unique_ptr<Device>()> make_device;  // a device of the caller's own instead of a named one
  RankGroups groups;                                     // the ranks that its programs exchange values with
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
  int parallel_launches() const { return lanes_ ? lanes_->lanes() : 1; }
  // Of more than one lane. Programs run on them.
  LaneThreads& lanes() { return *lanes_; }
  const RankGroups& groups() const { return groups_; }
  // Programs look at it between launches.
  std::atomic<bool>& stop_flag() { return stop_; }
  // A line for the log, unless it was said before: what holds for all programs is said by the first. By one thread at a
  // time.
  void say_once(const std::string& line);

 private:
  void start_lanes(int lanes);

  int compute_threads_;
  RankGroups groups_;
  std::unique_ptr<LaneThreads> lanes_;  // null: one
  Log log_;
  std::set<std::string> said_;
  std::unique_ptr<Trace> trace_;
  std::atomic<bool> stop_{false};
  std::unique_ptr<Device> cpu_;
  std::unique_ptr<Device> other_;
  Device* device_ = nullptr;
  std::unique_ptr<ParameterStore> parameters_;
};

}  // namespace ridgeline
