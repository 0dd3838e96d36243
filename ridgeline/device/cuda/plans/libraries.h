// ridgeline/device/cuda/plans/libraries.h
//
// cuDNN and cuBLASLt for one card: handles, stored execution plans, and how plans are chosen. Owned by the device;
// kernels made with it must not outlive it. Programs of a card are compiled and run by one thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "ridgeline/device/cuda/cublas/functions.h"
#include "ridgeline/device/cuda/cudnn/target.h"
#include "ridgeline/device/cuda/plans/plan_folder.h"
#include "ridgeline/device/cuda/plans/trial.h"

namespace ridgeline::cuda {

struct LibrariesOptions {
  std::function<void(const std::string& line)> warn;  // gets plans that fail and files that are damaged
  std::string folder = {};                            // of stored plans; "": none are stored
  TrialClock clock = {};                              // times plans to choose one; empty: the heuristics' first
  NanProbe keeps_nan = {};                            // checks plans that end in a relu; empty: all pass
};

class Libraries {
 public:
  // For a card: `target` and the handle of cuBLASLt are those of its context. If `cublas` or `cublas_handle` is null,
  // dense layers are refused.
  Libraries(cudnn::Target target, const cublas::Functions* cublas, cublas::Handle cublas_handle,
            LibrariesOptions options);
  ~Libraries();
  Libraries(const Libraries&) = delete;
  Libraries& operator=(const Libraries&) = delete;

  // Opens both libraries for the card whose context is current in the calling thread. `plan_folder`: below the user's
  // cache (PlanFolder::folder_of), by the versions found.
  static std::unique_ptr<Libraries> open(std::string_view card, int driver_version, LibrariesOptions options);

  const cudnn::Target& cudnn() const { return target_; }
  const cublas::Functions* cublas() const { return cublas_; }
  cublas::Handle cublas_handle() const { return cublas_handle_; }
  PlanFolder& folder() { return folder_; }
  const TrialClock& clock() const { return options_.clock; }
  bool keeps_nan(const Trial& trial) const { return !options_.keeps_nan || options_.keeps_nan(trial); }
  void warn(const std::string& line) const { options_.warn(line); }

 private:
  LibrariesOptions options_;
  cudnn::Target target_;
  const cublas::Functions* cublas_;
  cublas::Handle cublas_handle_;
  PlanFolder folder_;
};

}  // namespace ridgeline::cuda
