#include "ridgeline/device/cpu/tiles/halves.h"

#include <algorithm>

#include "ridgeline/device/cpu/refuse_empty.h"

namespace ridgeline::device::tiles {

void split_rows(const TileCode& code, const float* from, std::int64_t rows, std::int64_t length, bfloat16* to) {
  const std::int64_t half = half_channels(length);
  parallel_for(rows, 64, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      bfloat16* const high = to + row * 2 * half;
      code.split(from + row * length, length, high, high + half);
      clear(high + length, half - length);
      clear(high + half + length, half - length);
    }
  });
}

void split_values(const TileCode& code, const float* from, std::int64_t n, bfloat16* high, bfloat16* low) {
  parallel_for(n, 4096, [&](std::int64_t begin, std::int64_t end) {
    code.split(from + begin, end - begin, high + begin, low + begin);
  });
}

std::optional<Refusal> refuse_halves(std::initializer_list<const ValueType*> types, std::int64_t depth) {
  for (const ValueType* type : types) {
    if (type->dtype != DType::f32) {
      return Refusal{std::string(ridgeline::name_of(type->dtype)) + " operand: three bf16 products stand for f32 ones"};
    }
    if (auto refusal = refuse_empty(*type)) return refusal;
  }
  if (depth < kTileDepth) {
    return Refusal{std::to_string(depth) + " channels: three bf16 products are for " + std::to_string(kTileDepth) +
                   " and more, which fill a tile"};
  }
  return std::nullopt;
}

KernelChoice unless_few(KernelChoice choice, const ValueType& x, const ValueType& w, const ValueType& y,
                        std::int64_t least) {
  if (std::holds_alternative<Refusal>(choice)) return choice;
  const std::int64_t products = y.shape.elements() * (w.shape.elements() / w.shape[0]);
  const std::int64_t each = products / (x.shape.elements() + y.shape.elements());
  if (each >= least) return choice;
  return Refusal{std::to_string(each) + " products a value: the library is faster below " + std::to_string(least)};
}

void name_halves(Kernel& kernel, const KernelRequest& request, Tiles tiles) {
  describe(kernel, request, tiles, " bf16x3");
  kernel.remark = "f32 ops multiply by three products of bf16 halves: fp32_compute is bf16x3";
  kernel.flops_share = 3;
}

}  // namespace ridgeline::device::tiles
