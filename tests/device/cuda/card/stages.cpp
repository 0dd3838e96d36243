#include "tests/device/cuda/card/stage.h"

namespace ridgeline::cuda::check {

std::span<const Stage> stages() {
  static constexpr Stage kStages[] = {
      {"driver", "memory, streams, events, a captured graph, a kernel of ours", 10, check_driver},
      {"libraries", "where NVIDIA's libraries are", 10, look_for_libraries},
      {"kernels", "every kernel of ours on random operands beside its host version", 45, check_kernels},
      {"loops", "random loops, compiled for this card, beside the reference, bit by bit", 30, check_loops},
      {"dense_updates", "random updates of dense weights with their gradient, beside the reference", 40,
       check_dense_updates},
      {"ops", "every entry of the table of kernels beside the references, in f32, bf16 and f16", 20, check_ops},
      {"graphs", "200 random training steps beside the references; the same bits again", 45, check_graphs},
      {"ranks", "NCCL on this card alone, and exchanges between all cards beside the CPU's", 40, check_ranks},
      {"plans", "plans of cuDNN and cuBLASLt beside the reference, three runs' bits, NaN", 40, check_library_plans},
      {"plan_times", "time of the first plans of AlexNet, ResNet-50 and VGG-11", 120, time_library_plans, true},
      {"rates", "copies, launches, replays of graphs", 15, measure_rates},
      {"kernel_rates", "bytes a second of each kernel of ours beside a copy", 60, measure_kernels, true},
      {"sticky", "a kernel that writes where nothing is ends in a clear error; the last stage", 5, break_the_context},
  };
  return kStages;
}

}  // namespace ridgeline::cuda::check
