// ridgeline/device/cpu/dense/dense.h
//
// A dense layer over many rows as its kernels see it: x [rows, inputs], w [outputs, inputs], dy [rows, outputs], all
// f32 or all bf16 (Value): values that are packed are converted to f32. Weights are in plain rows and are read once for
// kMostRows rows of x; the other matrix, which is small, is packed as products read it best. A plain value.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "ridgeline/device/cpu/products/products.h"
#include "ridgeline/device/cpu/scratch.h"
#include "ridgeline/device/cpu/team_shares.h"
#include "ridgeline/device/cpu/value_kernel.h"
#include "ridgeline/device/kernel.h"

namespace ridgeline::device::dense {

using products::Ahead;
using products::kBlockRows;
using products::kDepth;
using products::Lines;
using products::lines_of;
using products::product_code;
using products::ProductCode;

// Rows of x that are multiplied while a block of the weights is in the second-level cache.
constexpr std::int64_t kMostRows = 256;

constexpr std::int64_t parts_of(std::int64_t n, std::int64_t part) { return (n + part - 1) / part; }

// How many of n columns make an item: at most `most`, a multiple of `grain`, and the same number of items for every
// thread.
inline std::int64_t fair_item(std::int64_t n, std::int64_t most, std::int64_t grain, std::int64_t threads) {
  if (threads > kSmallTeam) {
    const auto overhead = static_cast<double>(grain) / 4;  // cost of an item
    std::int64_t best = std::max(most / grain, std::int64_t{1}) * grain;
    const auto cost = [&](std::int64_t item) {
      return team_rounds(parts_of(n, item), threads) * (static_cast<double>(item) + overhead);
    };
    for (std::int64_t item = best - grain; item >= grain; item -= grain) {
      if (cost(item) < cost(best)) best = item;
    }
    return best;
  }
  const std::int64_t items = round_up(parts_of(n, most), threads);
  return round_up(parts_of(n, items), grain);
}

struct Dense {
  std::int64_t rows = 0, inputs = 0, outputs = 0;
  Dense(const ValueType& x, const ValueType& w) : rows(x.shape[0]), inputs(x.shape[1]), outputs(w.shape[0]) {}

  // Refuses operands without elements, weights (operand or result) in another layout than plain rows, and `values` of
  // several types.
  std::optional<Refusal> refusal(const KernelRequest& request, std::initializer_list<const KernelOperand*> w,
                                 std::initializer_list<const KernelOperand*> values) const;
};

// The panels of a matrix of `columns`: [chunk of depth][panel][depth][pitch]. A panel's columns are whole vectors, so
// only the last is narrower than the others.
struct PanelForm {
  const ProductCode* code;
  std::int64_t columns, depth;

  std::int64_t panels() const { return parts_of(columns, code->panel); }
  std::int64_t chunks() const { return parts_of(depth, kDepth); }
  std::int64_t pitch() const { return code->pitch(columns); }  // of all panels
  std::int64_t floats() const { return depth * pitch(); }
  std::int64_t width(std::int64_t panel) const { return std::min(code->panel, columns - panel * code->panel); }
  std::int64_t deep(std::int64_t chunk) const { return std::min(kDepth, depth - chunk * kDepth); }
  std::int64_t at(std::int64_t chunk, std::int64_t panel) const {
    return chunk * kDepth * pitch() + panel * code->panel * deep(chunk);
  }
};

// Some rows of a times one chunk of a panel.
struct PanelProduct {
  std::int64_t rows, columns, depth;
  const float* a;
  std::int64_t a_row;
  const float* b;
  float* c;
  std::int64_t c_row;
  bool add;  // whether to add to c

  void run(const ProductCode& code, Ahead& ahead) const {
    code.multiply({.rows = rows,
                   .columns = columns,
                   .depth = depth,
                   .depth_step = kDepth,
                   .a = a,
                   .a_row = a_row,
                   .a_step = 1,
                   .b = b,
                   .b_step = code.pitch(columns),
                   .c = c,
                   .c_row = c_row,
                   .from = add ? c : nullptr,
                   .from_row = c_row},
                  ahead);
  }
};

}  // namespace ridgeline::device::dense
