// ridgeline/device/cpu/norm/batch_norm.h
//
// What our batch norm kernels share: x as rows of channels, and the chunks over which sums run.
#pragma once

#include <optional>

#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/common.h"
#include "ridgeline/device/cpu/refuse_empty.h"
#include "ridgeline/device/cpu/team_shares.h"

namespace ridgeline::device {

// x as [rows, channels] and the chunks over which its sums run.
struct Norm {
  std::int64_t rows;
  std::int64_t channels;
  Chunks chunks;
  // Sums are divided for a team of `team` (team_shares.h).
  Norm(const Shape& shape, std::int64_t team)
      : rows(shape.elements() / std::max<std::int64_t>(1, shape[-1])),
        channels(shape[-1]),
        chunks(team > kSmallTeam ? fair_chunks(rows, team) : Chunks(rows, 128, 64)) {}
  // Equally many for each thread, with a minimum of rows.
  static Chunks fair_chunks(std::int64_t rows, std::int64_t team) {
    constexpr std::int64_t kMost = 64, kLeastRows = 32;
    const std::int64_t each = std::clamp<std::int64_t>(rows / kLeastRows / team, 1, (kMost + team - 1) / team);
    return {rows, 1, team * each};
  }
  // Two doubles for every chunk and channel, then four floats for each channel.
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
  // Rows that a pass streams through memory at a time.
  std::int64_t row_grain() const { return std::max<std::int64_t>(1, 16 * 1024 / channels); }
  // Rows that a thread gets at least.
  std::int64_t thread_rows() const { return std::max<std::int64_t>(1, 4 * 1024 / channels); }
  // Calls pass(first, rows) over rows [begin, end) from the last to the first, some at a time: caches hold the end of
  // what the previous pass has read.
  template <class Pass>
  void from_behind(std::int64_t begin, std::int64_t end, const Pass& pass) const {
    for (std::int64_t last = end; last > begin;) {
      const std::int64_t first = std::max(begin, last - row_grain());
      pass(first, last - first);
      last = first;
    }
  }
};

// y = (x - mean) * scale + beta [+ addend], channel by channel, then relu or relu6. y may be x or the addend. Images
// are stored as T, values of channels as f32.
template <class T>
struct NormaliseOperands {
  const T* x;
  const float* mean;
  const float* scale;
  const float* beta;
  const T* addend;  // null: none
  bool relu;        // or relu6, if there is a ceiling
  float ceiling = 0;
  bool stream = false;  // bypass the caches, if y is aligned

  NormaliseOperands from(std::int64_t element) const {
    NormaliseOperands moved = *this;
    moved.x += element;
    if (addend != nullptr) moved.addend += element;
    return moved;
  }
};

enum class Gate { none, of_x, of_y };

// g = dy [+ addend], but 0 where the gate is closed: where y <= 0, or y >= ceiling if there is one, with y given or
// computed as (x - mean) * scale + beta.
template <class T>
struct GradientOperands {
  Gate gate;
  float ceiling;  // 0: none
  const T* x;
  const T* dy;
  const T* addend;  // null: none
  const T* y;       // of_y
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
  // In small teams one thread does few channels alone: waking the others takes longer.
  const std::int64_t grain = compute_threads() > kSmallTeam ? 16 : 128;
  parallel_for(norm.channels, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t c = begin; c < end; ++c) finish(c);
  });
}

// Operands and results of x's type are images; all others are of channels, and f32.
inline std::optional<Refusal> refuse_norm(const KernelRequest& request) {
  const ValueType& x = request.inputs[0].type;
  if (auto refusal = refuse_empty(request)) return refusal;
  for (const auto* operands : {&request.inputs, &request.outputs}) {
    for (const KernelOperand& operand : *operands) {
      const DType wanted = operand.type.shape.rank() == x.shape.rank() ? x.dtype : DType::f32;
      if (operand.type.dtype != wanted) {
        return Refusal{"a value of channels is " + std::string(name_of(operand.type.dtype)) + ": f32 is taken"};
      }
    }
  }
  return std::nullopt;
}

}  // namespace ridgeline::device
