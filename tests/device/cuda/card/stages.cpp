#include "tests/device/cuda/card/stage.h"

namespace ridgeline::cuda::check {

std::span<const Stage> stages() {
  static constexpr Stage kStages[] = {
      {"driver", "memory, streams, events, a captured graph, a kernel of ours", 10, check_driver},
      {"libraries", "where NVIDIA's libraries are", 10, look_for_libraries},
      {"plans", "plans of cuDNN and cuBLASLt beside the reference, three runs' bits, NaN", 40, check_library_plans},
      {"plan_times", "time of the first plans of AlexNet, ResNet-50 and VGG-11", 120, time_library_plans},
      {"rates", "copies, launches, replays of graphs", 15, measure_rates},
  };
  return kStages;
}

}  // namespace ridgeline::cuda::check
