#include <array>

#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/common.h"
#include "ridgeline/device/cpu/loop/interpreter.h"
#include "ridgeline/device/cpu/scratch.h"
#include "ridgeline/image/normalize.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/device/cpu/copy/image_tail.cpp"
#include "ridgeline/device/cpu/simd_targets.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ridgeline::device::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Finite values rounded to nearest even, two vectors of f32 to one of bf16; targets without vectors go value by value.
template <bool kStreamed>
void round_image_line_as(const float* HWY_RESTRICT from, std::int64_t n, bfloat16* HWY_RESTRICT to) {
  std::int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<float> d;
  const hn::ScalableTag<std::uint32_t> du32;
  const hn::ScalableTag<std::uint16_t> du16;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto in_upper_half = [&](const float* at) HWY_ATTR {
    const auto bits = hn::BitCast(du32, hn::LoadU(d, at));
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du32, 1u));
    return hn::BitCast(du16, hn::Add(bits, hn::Add(odd, hn::Set(du32, 0x7fffu))));
  };
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const auto both = hn::ConcatOdd(du16, in_upper_half(from + i + lanes), in_upper_half(from + i));
    if constexpr (kStreamed) {
      hn::Stream(both, du16, reinterpret_cast<std::uint16_t*>(to + i));
    } else {
      hn::StoreU(both, du16, reinterpret_cast<std::uint16_t*>(to + i));
    }
  }
#endif
  for (; i < n; ++i) to[i] = to_bfloat16(from[i]);
}

// With non-temporal stores where `to` is aligned as a vector.
void round_image_line(const float* from, std::int64_t n, bfloat16* to, bool past_caches) {
  constexpr std::uintptr_t kVector = HWY_LANES(std::uint16_t) * sizeof(bfloat16);
  if (past_caches && reinterpret_cast<std::uintptr_t>(to) % kVector == 0) return round_image_line_as<true>(from, n, to);
  round_image_line_as<false>(from, n, to);
}

}  // namespace ridgeline::device::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::device {

HWY_EXPORT(round_image_line);

namespace {

// Bytes of a result that do not stay in caches until it is read.
constexpr std::size_t kStreamedImages = 4 << 20;

// A line in f32, in scratch memory, rounded from there: the values of the f32 kernel followed by a cast.
class NarrowTail final : public Kernel {
 public:
  NarrowTail(const image::NormalizeTable& table, const ValueType& result, bool flips)
      : table_(table), shape_(result.shape), dtype_(result.dtype), flips_(flips) {
    past_caches_ = result.bytes() >= kStreamedImages;
    scratch_bytes = static_cast<std::size_t>(threads_ * line_floats_) * sizeof(float);
    name = own_name("image_tail");
  }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    const auto* const images = input<std::uint8_t>(a, 0);
    for_each_item(shape_[0], [&](std::int64_t image, int thread) {
      float* const line = static_cast<float*>(a.scratch) + thread * line_floats_;
      const bool flip = flips_ && input<std::uint8_t>(a, 1)[image] != 0;
      for (std::int64_t at = image * shape_[1]; at < (image + 1) * shape_[1]; ++at) {
        table_.row(images + at * row_, static_cast<std::size_t>(shape_[2]), flip, line);
        store(line, at * row_, a.outputs[0]);
      }
      if (past_caches_) image::finish_streamed();
    });
  }

 private:
  void store(const float* line, std::int64_t at, void* to) const {
    if (dtype_ == DType::bf16)
      return HWY_DYNAMIC_DISPATCH(round_image_line)(line, row_, static_cast<bfloat16*>(to) + at, past_caches_);
    BlockArguments block;
    block.a = line;
    block.to = to;
    block.first = at;
    block.count = static_cast<std::size_t>(row_);
    store_f16_(block);
  }

  int threads_ = compute_threads();  // that have lines
  image::NormalizeTable table_;
  Shape shape_;
  DType dtype_;
  bool flips_, past_caches_;
  std::int64_t row_ = shape_[2] * 3;
  std::int64_t line_floats_ = round_up(row_, kLineFloats);
  BlockFunction store_f16_ = block_function(LoopOp::store_f16, 0);
};

}  // namespace

KernelChoice make_own_image_tail(const KernelRequest& request) {
  const Shape& shape = request.inputs[0].type.shape;
  const auto& mean = request.node.attributes.reals("mean");
  const auto& std = request.node.attributes.reals("std");
  if (shape[3] != 3 || mean.size() != 3 || std.size() != 3) return Refusal{"not three channels"};
  const image::NormalizeTable table({mean[0], mean[1], mean[2]}, {std[0], std[1], std[2]});
  const bool flips = request.inputs.size() == 2;
  const ValueType& result = request.outputs[0].type;
  if (result.dtype != DType::f32) return std::make_unique<NarrowTail>(table, result, flips);
  const auto stores = result.bytes() >= kStreamedImages ? image::Stores::streamed : image::Stores::cached;
  return make_body_kernel(own_name("image_tail"), [table, shape, flips, stores](const KernelArguments& a) {
    const std::int64_t row = shape[2] * 3;
    parallel_for(shape[0] * shape[1], 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t at = begin; at < end; ++at) {
        const bool flip = flips && input<std::uint8_t>(a, 1)[at / shape[1]] != 0;
        table.row(input<std::uint8_t>(a, 0) + at * row, static_cast<std::size_t>(shape[2]), flip,
                  output<float>(a, 0) + at * row, stores);
      }
      if (stores == image::Stores::streamed) image::finish_streamed();
    });
  });
}

}  // namespace ridgeline::device
#endif  // HWY_ONCE
