#include "ridgeline/device/cuda/driver/recording.h"

#include <fmt/format.h>

#include "ridgeline/device/cuda/driver/recording_kernels.h"

namespace ridgeline::cuda {
namespace {

constexpr std::pair<Result, const char*> kNames[] = {
    {result::kInvalidValue, "CUDA_ERROR_INVALID_VALUE"},
    {result::kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
    {result::kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED"},
    {result::kNoDevice, "CUDA_ERROR_NO_DEVICE"},
    {result::kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE"},
    {result::kInvalidImage, "CUDA_ERROR_INVALID_IMAGE"},
    {result::kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT"},
    {result::kNoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
    {result::kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE"},
    {result::kNotFound, "CUDA_ERROR_NOT_FOUND"},
    {result::kNotReady, "CUDA_ERROR_NOT_READY"},
    {result::kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS"},
    {result::kLaunchOutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
    {result::kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED"},
    {result::kNotSupported, "CUDA_ERROR_NOT_SUPPORTED"},
    {result::kCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
    {result::kCaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"},
    {result::kCaptureUnjoined, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED"},
    {result::kCaptureIsolation, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"},
};

class Recording final : public recorded::RecordingKernels {
 public:
  using RecordingKernels::RecordingKernels;

  std::string_view origin() const override { return "recording driver"; }
  bool recording() const override { return true; }
  RecordingCounts counts() const override {
    const std::lock_guard lock(mutex_);
    RecordingCounts counts = counts_;
    counts.works = work_.works();
    counts.live_objects = allocations_.size() + pinned_.size() + streams_.size() + events_.size() + modules_.size() +
                          graphs_.size() + executables_.size();
    return counts;
  }
  std::vector<std::string> node_names(GraphHandle graph) const override {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> names;
    if (const recorded::GraphState* state = graphs_.find(graph)) {
      for (const WorkNode& node : state->nodes) names.push_back(node.name);
    }
    return names;
  }

  Result error_name(Result code, const char** name) override {
    const auto* found =
        std::find_if(std::begin(kNames), std::end(kNames), [&](const auto& n) { return n.first == code; });
    *name = found == std::end(kNames) ? "CUDA_ERROR_UNKNOWN" : found->second;
    return result::kSuccess;
  }
  Result error_text(Result, const char** text) override {
    const std::lock_guard lock(mutex_);
    told_ = work_.problem();
    if (told_.empty()) return result::kInvalidValue;
    *text = told_.c_str();
    return result::kSuccess;
  }
};

}  // namespace

std::unique_ptr<RecordingDriver> RecordingDriver::make(RecordingOptions options) {
  return std::make_unique<Recording>(std::move(options));
}

}  // namespace ridgeline::cuda
