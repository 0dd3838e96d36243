#include "ridgeline/device/cpu/tiles/convolution.h"

#include <algorithm>

#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/device/cpu/refuse_empty.h"

namespace ridgeline::device::tiles {
namespace {

Images images_of(const Shape& shape) { return {shape[0], {shape[1], shape[2]}, shape[3]}; }

}  // namespace

LinesAhead pixel_lines(const bfloat16* from, const Images& images, std::int64_t top, std::int64_t bottom,
                       std::int64_t first, std::int64_t n, const LinesAhead* then) {
  const std::int64_t pixels = (bottom - top) * images.size[1];
  const bfloat16* const at = from + top * images.size[1] * images.channels + first;
  if (n == images.channels) return {at, 1, pixels * n, 0, then};
  return {at, pixels, n, images.channels, then};
}

Correlation forward_correlation(const Convolution& c) {
  Part part;
  part.size = c.result.size;
  part.in_step = c.window.stride;
  for (std::int64_t r = 0; r < c.window.kernel[0]; ++r) {
    for (std::int64_t s = 0; s < c.window.kernel[1]; ++s) {
      part.taps.push_back(
          {{c.window.input_position(0, 0, r), c.window.input_position(1, 0, s)}, r * c.window.kernel[1] + s});
    }
  }
  return {c.image, c.result, c.groups, {part}};
}

// Pixel p of the image contributes to the results q with q * stride = p + pad - tap * dilation, so only in those taps
// for which the right side is a multiple of the stride.
Correlation backward_data_correlation(const Convolution& c) {
  Correlation correlation{c.result, c.image, c.groups, {}};
  const auto& [kernel, stride, pad, unused, dilation] = c.window;
  const auto reached = [&](std::size_t axis, std::int64_t first, std::int64_t tap) -> std::optional<std::int64_t> {
    const std::int64_t distance = first + pad[axis] - tap * dilation[axis];
    if (distance % stride[axis] != 0) return std::nullopt;
    return distance / stride[axis];
  };
  for (std::int64_t i = 0; i < stride[0]; ++i) {
    for (std::int64_t j = 0; j < stride[1]; ++j) {
      Part part;
      part.origin = {i, j};
      part.step = stride;
      part.size = {blocks_of(c.image.size[0] - i, stride[0]), blocks_of(c.image.size[1] - j, stride[1])};
      if (part.size[0] <= 0 || part.size[1] <= 0) continue;
      for (std::int64_t r = 0; r < kernel[0]; ++r) {
        for (std::int64_t s = 0; s < kernel[1]; ++s) {
          const auto row = reached(0, i, r), column = reached(1, j, s);
          if (row && column) part.taps.push_back({{*row, *column}, r * kernel[1] + s});
        }
      }
      correlation.parts.push_back(std::move(part));
    }
  }
  return correlation;
}

std::optional<Refusal> refuse_tiles(Tiles tiles) {
  const Isa isa = active_isa();
  const bool there = tiles == Tiles::scalar || (tiles == Tiles::amx ? isa == Isa::amx : has_bf16_dots(isa));
  if (there) return std::nullopt;
  return Refusal{"the instruction set in force is " + std::string(name_of(isa)) + ": this kernel needs " +
                 (tiles == Tiles::amx ? "tile registers" : "dot products of bf16")};
}

std::optional<Refusal> refuse_types(std::initializer_list<const ValueType*> narrow,
                                    std::initializer_list<const ValueType*> either) {
  for (const ValueType* type : narrow) {
    if (type->dtype != DType::bf16) {
      return Refusal{std::string(ridgeline::name_of(type->dtype)) + " operand: tile kernels multiply bf16"};
    }
  }
  for (const ValueType* type : either) {
    if (type->dtype != DType::bf16 && type->dtype != DType::f32) {
      return Refusal{std::string(ridgeline::name_of(type->dtype)) + " result or bias: tile kernels take bf16 and f32"};
    }
  }
  for (const auto& types : {narrow, either}) {
    for (const ValueType* type : types) {
      if (auto refusal = refuse_empty(*type)) return refusal;
    }
  }
  return std::nullopt;
}

Convolution convolution_of(const KernelRequest& request, const ValueType& x, const ValueType& w, const ValueType& y) {
  return {images_of(x.shape), images_of(y.shape),
          window_of(request.def.name, request.node.attributes, w.shape[1], w.shape[2]),
          request.node.attributes.integer("groups")};
}

std::optional<Refusal> refuse_groups(const Convolution& c) {
  constexpr std::int64_t kLeast = 8;
  if (c.groups == 1 || (c.group_channels() >= kLeast && c.group_filters() >= kLeast)) return std::nullopt;
  return Refusal{"groups of " + std::to_string(c.group_channels()) + " channels and " +
                 std::to_string(c.group_filters()) + " filters: tile kernels take groups from " +
                 std::to_string(kLeast) + " on"};
}

bool past_caches(const Images& results) {
  constexpr std::int64_t kKeptBytes = 4 << 20;
  return results.count * results.size[0] * results.size[1] * results.channels * 2 > kKeptBytes;
}

void widen_bias(const void* bias, DType type, std::int64_t n, float* to) {
  if (type == DType::f32) {
    std::copy_n(static_cast<const float*>(bias), n, to);
  } else {
    std::transform(static_cast<const bfloat16*>(bias), static_cast<const bfloat16*>(bias) + n, to,
                   [](bfloat16 v) { return to_float(v); });
  }
}

void describe(Kernel& kernel, const KernelRequest& request, Tiles tiles, std::string_view variant) {
  const char* const where = tiles == Tiles::amx ? " amx" : tiles == Tiles::dots ? " bf16 dots" : " scalar tiles";
  kernel.name = "own " + std::string(request.def.name) + where + std::string(variant);
  kernel.products = DType::bf16;
}

}  // namespace ridgeline::device::tiles
