// ridgeline/compile/run/program.h
//
// A compiled graph: a flat list of launches over planned addresses. A step allocates nothing and takes no lock.
// Borrows the session's devices and parameters. One thread at a time.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ridgeline/compile/lower/count_launches.h"
#include "ridgeline/compile/lower/memory_report.h"
#include "ridgeline/compile/lower/plan.h"
#include "ridgeline/compile/run/device_timeline.h"
#include "ridgeline/compile/run/session.h"
#include "ridgeline/core/function_ref.h"
#include "ridgeline/core/team_recording.h"
#include "ridgeline/core/trace.h"

namespace ridgeline {

struct LaunchReport {
  std::string node;  // name of the node
  std::string op;
  std::string kernel;
  std::string where;  // the user's line
  std::string device;
  // Whether the last run launched it, and how many runs did so far: a derived form is only remade when its parameter
  // has changed.
  bool ran = false;
  std::int64_t runs = 0;
  Cost cost;                    // by the op's formula
  double flops_done = 0;        // by the kernel: fewer than in `cost` if it saves multiplications
  bool converts = false;        // a change of layout or type before the node, not the node itself
  std::string parameter;        // the stored value that it converts or makes a derived form of; empty for others
  DType products = DType::f32;  // the type of the values that the kernel multiplies; selects the device's rate
  int lane = -1;                // if launches run side by side
  // Of the last profiled run; `started` is counted from its begin.
  double started = 0;
  double milliseconds = 0;
  TeamWork work = {};  // of a profiled run during a recording (core/team_recording.h)
};

class Program {
 public:
  // The plan's memory must be planned (plan_memory.h).
  Program(Session& session, Plan plan, const MemoryReport& memory);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Binds an input by name; the tensor's memory must stay until the run is over (a view is enough).
  // Wrong names, types and shapes are Errors.
  // `lease`, if given, keeps the memory alive and is released when it is no longer read.
  void bind(const std::string& input, const Tensor& value, std::shared_ptr<const void> lease = nullptr);
  // Unbinds inputs that were bound with a lease, and releases leases whose values are no longer read; `wait`: waits
  // until all are released.
  void give_back(bool wait);
  // Runs one step. False if the session was stopped in the middle (then no result of the step may be used).
  bool run();
  // Runs up to `steps` steps. `feed` binds the inputs of the next one and returns false if there is none. `done` is
  // called once for each finished step, in order, when output() is of that step; if it returns false, no more steps are
  // begun. If steps run asynchronously (runs_behind), they are given to the device without waiting, so `done` is called
  // some steps later, and then output() has only small values (ReturnedValues::kMostBytes). Returns how many steps were
  // done.
  std::int64_t run_loop(std::int64_t steps, FunctionRef<bool()> feed, FunctionRef<bool()> done);
  std::int64_t run_loop(std::int64_t steps, FunctionRef<bool()> feed) {
    return run_loop(steps, feed, [] { return true; });
  }
  // Whether the device runs whole steps asynchronously. Such steps are recorded and replayed if it can
  // (Device::record).
  bool runs_behind() const;
  // A returned value of the last run, in host memory; valid until the next run.
  Tensor output(const std::string& name);
  // The same by its index among the graph's returned values.
  Tensor output(std::size_t index);

  // Times every launch of later runs, and keeps how its work was divided if that is recorded.
  void set_profiling(bool on) { profiling_ = on; }
  std::vector<LaunchReport> launches() const;
  const MemoryReport& memory() const { return memory_; }
  // A step's launches, and the bytes that they read and write.
  LaunchCounts counts() const { return count_launches(plan_); }
  // What makes the program slow, one line each: ops on a reference kernel or on another device.
  const std::vector<std::string>& warnings() const { return plan_.warnings; }
  // A hash of the kernels that were chosen by time: if it differs, results may have other bits. Empty: all by their
  // order.
  const std::string& kernel_plan() const { return plan_.kernel_plan; }
  // How ranks divide the step, for the log; empty: only the data.
  const std::string& ranks_plan() const { return plan_.ranks_plan; }
  // The graph after all passes.
  const Graph& graph() const { return plan_.graph; }

 private:
  struct State;
  struct Attempt;
  void allocate();
  void prepare_device();
  void* address(int buffer) const;
  bool is_input(int buffer) const;
  void check_bound();
  std::int64_t run_behind(std::int64_t steps, FunctionRef<bool()> feed, FunctionRef<bool()> done);
  void spoil();
  bool give();
  void finish();
  void drain();
  void copy_inputs();
  bool replay();
  bool give_launches();
  void find_work();
  void run_launch(std::size_t index);
  void give_launch(std::size_t index);
  LaunchReport report(std::size_t index) const;
  void timed(const TimedSpan& span, StreamPurpose stream, DeviceTimeline::Moment begin, DeviceTimeline::Moment end);
  void trace_launch(Trace& trace, std::string_view lane, std::size_t index, Trace::Clock::time_point begin,
                    Trace::Clock::time_point end);
  void copy(const Launch& launch, void* from, void* to);
  void begin_exchange(const Launch& launch, const KernelArguments& arguments);
  void end_exchanges(const char* why);
  bool run_side_by_side(const Section& section);

  Session& session_;
  Plan plan_;
  MemoryReport memory_;
  std::unique_ptr<State> state_;
  bool profiling_ = false;
};

}  // namespace ridgeline
