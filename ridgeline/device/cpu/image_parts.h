// ridgeline/device/cpu/image_parts.h
//
// Ops that work image by image, so that a kernel for some images can process a batch in chunks of images. Operands and
// results without an image axis are shared, or are sums over the chunks.
#pragma once

#include <cstdint>
#include <string_view>

#include "ridgeline/device/kernel.h"

namespace ridgeline::device {

struct ImageParts {
  std::string_view op;
  std::uint32_t inputs, outputs;  // bit i: operand or result i has an image axis
  bool has_input(std::size_t i) const { return i < 32 && (inputs >> i & 1u) != 0; }
  bool has_output(std::size_t i) const { return i < 32 && (outputs >> i & 1u) != 0; }

  // The request for `images` images of its batch.
  KernelRequest of(KernelRequest request, std::int64_t images) const {
    const auto cut = [&](KernelOperand& operand) {
      std::vector<std::int64_t> extents = operand.type.shape.dims();
      extents[0] = images;
      operand.type.shape = Shape(extents);
    };
    for (std::size_t i = 0; i < request.inputs.size(); ++i) {
      if (has_input(i)) cut(request.inputs[i]);
    }
    for (std::size_t i = 0; i < request.outputs.size(); ++i) {
      if (has_output(i)) cut(request.outputs[i]);
    }
    return request;
  }
};

inline constexpr ImageParts kImageParts[] = {
    {"conv2d", 0b1001, 0b1},
    {"conv2d_bwd_data", 0b101, 0b1},
    {"conv2d_bwd_weights", 0b11, 0b00},
};

// Null for an op that does not work image by image.
inline const ImageParts* image_parts(std::string_view op) {
  for (const ImageParts& parts : kImageParts) {
    if (parts.op == op) return &parts;
  }
  return nullptr;
}

}  // namespace ridgeline::device
