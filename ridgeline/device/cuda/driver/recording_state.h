// ridgeline/device/cuda/driver/recording_state.h
//
// Inside of the recording driver: its objects by their handles, and the checks of every call (Guard). Included only by
// the files of the driver.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "ridgeline/device/cuda/driver/late_work.h"
#include "ridgeline/device/cuda/driver/recording.h"
#include "ridgeline/device/cuda/driver/strict_memory.h"

namespace ridgeline::cuda::recorded {

// The context that this thread has set: a driver keeps one for each thread.
inline thread_local ContextHandle current_context = nullptr;

constexpr unsigned kMaxThreads = 1024;
constexpr unsigned kMaxShared = 232448;        // that a block may ask for on sm_90
constexpr unsigned kSharedUnasked = 48 << 10;  // and without asking

struct EventState {
  bool timed = false;
  bool recorded = false;
  LateWork::Point point;
  std::chrono::steady_clock::time_point when;
};

struct ModuleState {
  void* library = nullptr;  // of a shared object; null: the table
  ~ModuleState() {
    if (library != nullptr) dlclose(library);
  }
};

struct FunctionState {
  std::string name;
  std::function<HostKernelFunction> run;
  unsigned shared_limit = kSharedUnasked;
};

struct GraphState {
  std::vector<WorkNode> nodes;
  std::vector<std::size_t> order;
  std::vector<TouchedRange> touches;  // of all nodes
};

// Objects by their handles, which are addresses that are never reused: a stale one is detected.
template <class Handle, class State>
class Handles {
 public:
  Handle add(std::shared_ptr<State> state) {
    State* address = state.get();
    states_[address] = std::move(state);
    return reinterpret_cast<Handle>(address);
  }
  State* find(Handle handle) const {
    const auto at = states_.find(reinterpret_cast<State*>(handle));
    return at == states_.end() ? nullptr : at->second.get();
  }
  std::shared_ptr<State> share(Handle handle) const {
    const auto at = states_.find(reinterpret_cast<State*>(handle));
    return at == states_.end() ? nullptr : at->second;
  }
  bool remove(Handle handle) { return states_.erase(reinterpret_cast<State*>(handle)) != 0; }
  std::size_t size() const { return states_.size(); }
  template <class Body>
  void each(Body body) {
    for (auto& [address, state] : states_) body(*state);
  }

 private:
  std::map<State*, std::shared_ptr<State>> states_;
};

class RecordingState : public RecordingDriver {
 public:
  explicit RecordingState(RecordingOptions options) : options_(std::move(options)), work_(options_.work_fault) {
    used_.resize(static_cast<std::size_t>(options_.devices));
  }

 protected:
  // The lock, and whether the call may proceed: the driver is initialised, this thread has set one of its contexts,
  // nothing failed before, and no capture of this thread forbids `what`. Releases are done after errors, too.
  struct Guard {
    explicit Guard(RecordingState& driver, std::string_view what = {}, bool releases = false) : lock(driver.mutex_) {
      if (!driver.initialized_) {
        code = result::kNotInitialized;
      } else if (!driver.knows(current_context)) {
        code = driver.problem(result::kInvalidContext, "the thread has not set the device's context");
      } else if (!releases && driver.work_.sticky() != 0) {
        code = driver.work_.sticky();
      } else {
        if (driver.work_.sticky() == 0) driver.work_.set_problem("");
        if (!what.empty()) refuse_in_capture(driver, what);
      }
    }
    void refuse_in_capture(RecordingState& driver, std::string_view what) {
      const auto at = driver.capturing_.find(std::this_thread::get_id());
      const auto capture = at == driver.capturing_.end() ? nullptr : at->second.lock();
      if (!capture) return;
      capture->problem = std::string(what) + " inside of a capture";
      code = driver.problem(result::kCaptureUnsupported, capture->problem);
    }
    std::lock_guard<std::recursive_mutex> lock;
    Result code = result::kSuccess;
  };

  bool knows(ContextHandle context) const {
    const auto* at = reinterpret_cast<const std::size_t*>(context);
    return !used_.empty() && at >= used_.data() && at < used_.data() + used_.size();
  }
  std::size_t device() const {
    return static_cast<std::size_t>(reinterpret_cast<const std::size_t*>(current_context) - used_.data());
  }
  std::size_t& used() { return used_[device()]; }

  Result problem(Result code, const std::string& text) {
    if (work_.sticky() == 0) work_.set_problem(text);
    return code;
  }
  Result bad_handle(const char* kind) {
    return problem(result::kInvalidHandle, fmt::format("no {} of this driver, or one that was destroyed", kind));
  }
  Result end_capture(LateWork::Stream& stream, const std::string& why) {
    stream.capture->problem = why + " inside of a capture";
    return problem(result::kCaptureUnsupported, stream.capture->problem);
  }
  Result give(LateWork::Stream& stream, WorkNode work) {
    return work_.give(stream, std::move(work)) ? result::kSuccess : result::kInvalidValue;
  }
  Result reached(const LateWork::Point& point) {
    if (work_.finished(point)) {
      work_.finish(point);  // the host has waited for it
      return work_.sticky();
    }
    work_.advance(point);
    return work_.sticky() != 0 ? work_.sticky() : result::kNotReady;
  }
  Result check_device(DeviceAddress address, std::size_t bytes, const LateWork::Stream&) {
    std::string why;
    return memory_.translate(address, bytes, &why) != nullptr ? result::kSuccess : problem(result::kInvalidValue, why);
  }
  Result check_host(const void* address, const char* what) {
    return memory_.holds(reinterpret_cast<DeviceAddress>(address))
               ? problem(result::kInvalidValue,
                         fmt::format("{} is an address of the device, where the host's is meant", what))
               : result::kSuccess;
  }
  bool is_pinned(const void* address, std::size_t bytes) const {
    const auto wanted = reinterpret_cast<DeviceAddress>(address);
    auto at = pinned_.upper_bound(wanted);
    if (at == pinned_.begin()) return false;
    --at;
    return wanted + bytes <= at->first + at->second.first;
  }
  // The host address of device bytes when work runs; the memory may have been freed since the work was given.
  void* host(DeviceAddress address, std::size_t bytes) const {
    std::string why;
    void* found = memory_.translate(address, bytes, &why);
    if (found == nullptr) throw std::runtime_error(why);
    return found;
  }
  const RecordingOptions options_;
  mutable std::recursive_mutex mutex_;
  bool initialized_ = false;
  std::vector<std::size_t> used_;  // bytes for each device; the address of each is its context
  StrictMemory memory_;
  std::map<DeviceAddress, std::pair<std::size_t, std::size_t>> allocations_;  // bytes and device
  std::map<DeviceAddress, std::pair<std::size_t, std::vector<char>>> pinned_;
  Handles<StreamHandle, LateWork::Stream> streams_;
  Handles<EventHandle, EventState> events_;
  Handles<ModuleHandle, ModuleState> modules_;
  Handles<FunctionHandle, FunctionState> functions_;
  Handles<GraphHandle, GraphState> graphs_;
  Handles<GraphExecHandle, GraphState> executables_;
  std::map<std::thread::id, std::weak_ptr<CapturedWork>> capturing_;
  RecordingCounts counts_;
  std::string told_;
  LateWork work_;
};

}  // namespace ridgeline::cuda::recorded
