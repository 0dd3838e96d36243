#include <array>

#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/own_common.h"
#include "ridgeline/device/cpu/own_kernels.h"
#include "ridgeline/image/normalize.h"

namespace ridgeline::device {

KernelChoice make_own_image_tail(const KernelRequest& request) {
  const Shape& shape = request.inputs[0].type.shape;
  const auto& mean = request.node.attributes.reals("mean");
  const auto& std = request.node.attributes.reals("std");
  if (shape[3] != 3 || mean.size() != 3 || std.size() != 3) return Refusal{"not three channels"};
  const image::NormalizeTable table({mean[0], mean[1], mean[2]}, {std[0], std[1], std[2]});
  const bool flips = request.inputs.size() == 2;
  return make_body_kernel(own_name("image_tail"), [table, shape, flips](const KernelArguments& a) {
    const std::int64_t row = shape[2] * 3;
    parallel_for(shape[0] * shape[1], 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t at = begin; at < end; ++at) {
        const image::ImageView line{input<std::uint8_t>(a, 0) + at * row, 1, static_cast<int>(shape[2]), 3, row};
        const bool flip = flips && input<std::uint8_t>(a, 1)[at / shape[1]] != 0;
        table.tail(line, flip, output<float>(a, 0) + at * row);
      }
    });
  });
}

}  // namespace ridgeline::device
