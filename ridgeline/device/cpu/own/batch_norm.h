// ridgeline/device/cpu/own/batch_norm.h
//
// What our batch norm kernels share: x as rows of channels, and the chunks over which sums run.
#pragma once

#include <optional>

#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/own/common.h"
#include "ridgeline/device/cpu/refuse_empty.h"

namespace ridgeline::device {

// x as [rows, channels] and the chunks over which its sums run.
struct Norm {
  std::int64_t rows;
  std::int64_t channels;
  Chunks chunks;
  explicit Norm(const Shape& shape)
      : rows(shape.elements() / std::max<std::int64_t>(1, shape[-1])), channels(shape[-1]), chunks(rows, 128, 64) {}
  // Two doubles for every chunk and channel, then four floats a channel.
  std::size_t scratch_bytes() const {
    return static_cast<std::size_t>(channels) *
           (static_cast<std::size_t>(chunks.count) * 2 * sizeof(double) + 4 * sizeof(float));
  }
  double* partial(void* scratch, std::int64_t chunk) const {
    return static_cast<double*>(scratch) + chunk * 2 * channels;
  }
  float* factors(void* scratch, int i) const {
    return reinterpret_cast<float*>(partial(scratch, chunks.count)) + i * channels;
  }
  // Rows that a task gets at least when a pass streams through memory.
  std::int64_t row_grain() const { return std::max<std::int64_t>(1, 16 * 1024 / channels); }
};

// y = (x - mean) * scale + beta [+ addend], channel by channel, then relu. y may lie on x or on the addend.
struct NormaliseOperands {
  const float* x;
  const float* mean;
  const float* scale;
  const float* beta;
  const float* addend;  // null: none
  bool relu;

  NormaliseOperands from(std::int64_t element) const {
    NormaliseOperands moved = *this;
    moved.x += element;
    if (addend != nullptr) moved.addend += element;
    return moved;
  }
};

enum class Gate { none, of_x, of_y };

// g = dy [+ addend], 0 where the gate is closed: where not y > 0, with y given or (x - mean) * scale + beta.
struct GradientOperands {
  Gate gate;
  const float* x;
  const float* dy;
  const float* addend;  // null: none
  const float* y;       // of_y
  const float* mean;
  const float* scale;  // of_x
  const float* beta;   // of_x

  GradientOperands from(std::int64_t element) const {
    GradientOperands moved = *this;
    moved.x += element;
    moved.dy += element;
    if (addend != nullptr) moved.addend += element;
    if (y != nullptr) moved.y += element;
    return moved;
  }
};

template <class Finish>
void for_channels(const Norm& norm, const Finish& finish) {
  parallel_for(norm.channels, 128, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t c = begin; c < end; ++c) finish(c);
  });
}

}  // namespace ridgeline::device
