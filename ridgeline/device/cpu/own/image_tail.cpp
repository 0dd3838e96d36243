#include <array>

#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/loop/interpreter.h"
#include "ridgeline/device/cpu/own/common.h"
#include "ridgeline/device/cpu/own/kernels.h"
#include "ridgeline/device/cpu/scratch.h"
#include "ridgeline/image/normalize.h"

namespace ridgeline::device {

namespace {

// A line in f32, in scratch memory, rounded from there: the values of the f32 kernel and a cast behind it.
std::unique_ptr<Kernel> make_narrow_tail(const image::NormalizeTable& table, const Shape& shape, bool flips,
                                         DType dtype) {
  const std::int64_t row = shape[2] * 3;
  const auto line_floats = round_up(row, kLineFloats);
  const BlockFunction store = block_function(dtype == DType::bf16 ? LoopOp::store_bf16 : LoopOp::store_f16, 0);
  const int threads = compute_threads();  // that have lines
  const auto run = [table, shape, flips, row, line_floats, store, threads](const KernelArguments& a) {
    const ComputeScope team(threads);
    for_each_item(shape[0], [&](std::int64_t image, int thread) {
      float* const line = static_cast<float*>(a.scratch) + thread * line_floats;
      const bool flip = flips && input<std::uint8_t>(a, 1)[image] != 0;
      for (std::int64_t at = image * shape[1]; at < (image + 1) * shape[1]; ++at) {
        table.row(input<std::uint8_t>(a, 0) + at * row, static_cast<std::size_t>(shape[2]), flip, line);
        BlockArguments block;
        block.a = line;
        block.to = a.outputs[0];
        block.first = at * row;
        block.count = static_cast<std::size_t>(row);
        store(block);
      }
    });
  };
  auto kernel = make_body_kernel(own_name("image_tail"), run);
  kernel->scratch_bytes = static_cast<std::size_t>(threads * line_floats) * sizeof(float);
  return kernel;
}

}  // namespace

KernelChoice make_own_image_tail(const KernelRequest& request) {
  const Shape& shape = request.inputs[0].type.shape;
  const auto& mean = request.node.attributes.reals("mean");
  const auto& std = request.node.attributes.reals("std");
  if (shape[3] != 3 || mean.size() != 3 || std.size() != 3) return Refusal{"not three channels"};
  const image::NormalizeTable table({mean[0], mean[1], mean[2]}, {std[0], std[1], std[2]});
  const bool flips = request.inputs.size() == 2;
  if (const DType dtype = request.outputs[0].type.dtype; dtype != DType::f32) {
    return make_narrow_tail(table, shape, flips, dtype);
  }
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
