#include "tests/device/cuda/card/stage.h"

namespace ridgeline::cuda::check {

std::span<const Stage> stages() {
  static constexpr Stage kStages[] = {
      {"driver", "memory, streams, events, a captured graph, a kernel of ours", 10, check_driver},
      {"libraries", "where NVIDIA's libraries are", 10, look_for_libraries},
      {"rates", "copies, launches, replays of graphs", 15, measure_rates},
  };
  return kStages;
}

}  // namespace ridgeline::cuda::check
