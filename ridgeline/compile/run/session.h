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
  // Number of lanes in which independent launches run side by side, each with its share of the compute threads, if that
  // promises to be as fast (side_by_side.h); 0, 1: one after the other. More than 1 is an Error on a device that
  // cannot.
  int parallel_launches = 0;
  std::string device = "cpu";  // by name, see device/devices.h
  KernelPromise promise;       // what kernels must promise: reproducibility, accuracy
  // If not empty, kernels are chosen by time, measured once: the file that keeps the times, or "auto"
  // (device/kernel_tuner.h). Empty: by the order of their list. Requires that bits may depend on it (promise.bits fast)
  // and a device with a tuner, else an Error.
  std::string tune;
  SimulatedDeviceOptions simulated;
  std::function<std::unique_ptr<Device>()> make_device;  // makes the caller's own device, instead of `device`
  RankGroups groups;                                     // the ranks with which its programs exchange values
  std::string log;                                       // diagnostic components, see core/log.h
  bool trace = false;
};

class Session {
 public:
  explicit Session(const SessionOptions& options = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // The device on which programs are placed, and the host's.
  Device& device() { return *device_; }
  Device& cpu() { return *cpu_; }
  ParameterStore& parameters() { return *parameters_; }
  Log& log() { return log_; }
  Trace* trace() { return trace_.get(); }
  // The size of its team, independent of other sessions. Programs are compiled for it and run with it, each time in a
  // ComputeScope: outside of these, the caller's OpenMP settings are not changed.
  int compute_threads() const { return compute_threads_; }
  int parallel_launches() const { return lanes_ ? lanes_->lanes() : 1; }
  // The threads of lanes on which programs run; only with more than one lane.
  LaneThreads& lanes() { return *lanes_; }
  const RankGroups& groups() const { return groups_; }
  // Programs check it between launches.
  std::atomic<bool>& stop_flag() { return stop_; }
  // Logs a line once: what is true for all programs is only logged by the first. One thread at a time.
  void say_once(const std::string& line);

 private:
  void start_lanes(int lanes);

  int compute_threads_;
  RankGroups groups_;
  std::unique_ptr<LaneThreads> lanes_;  // null: one lane
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
