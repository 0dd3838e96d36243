#include "ridgeline/device/cpu/tiles/pooled_gradient.h"

#include <algorithm>

#include "ridgeline/device/cpu/pool/pool_index.h"
#include "ridgeline/graph/op/conv2d_max_pool.h"

namespace ridgeline::device::tiles {

ValueType unpooled_gradient(const KernelRequest& request) {
  std::vector<ValueType> types;
  for (const KernelOperand& operand : request.inputs) types.push_back(operand.type);
  return convolution_gradient({types, request.node.attributes, request.node.name});
}

PooledGradient::PooledGradient(const Attributes& attributes, const ValueType& image, const ValueType& pooled)
    : pool_(PoolGeometry::of(pooling_part(attributes), image.shape, pooled.shape)),
      pooled_{pool_.n, {pool_.oh, pool_.ow}, pool_.c},
      columns_(covering_columns(pool_)) {}

// The rows of windows that overlap the rows of the image, which are of one image or of complete ones.
Pair PooledGradient::windows(const Pair& rows) const {
  const std::int64_t last = rows[1] - 1;
  const Covering top(rows[0] % pool_.h, pool_.sh, pool_.top, pool_.kh, pool_.oh);
  const Covering bottom(last % pool_.h, pool_.sh, pool_.top, pool_.kh, pool_.oh);
  return {rows[0] / pool_.h * pool_.oh + top.first, last / pool_.h * pool_.oh + bottom.last};
}

void PooledGradient::make(const TileCode& code, const GradientOperand& from, const Pair& rows, std::int64_t first,
                          std::int64_t n, bfloat16* to) const {
  const auto [top, bottom] = windows(rows);
  check_pool_index(pool_, from.index, top, bottom);
  for (std::int64_t row = rows[0]; row < rows[1]; ++row, to += pool_.w * pool_.c)
    make_row(code, from, row, {0, pool_.w}, first, n, to + first, pool_.c);
}

void PooledGradient::make_row(const TileCode& code, const GradientOperand& from, std::int64_t row, const Pair& columns,
                              std::int64_t first, std::int64_t n, bfloat16* to, std::int64_t to_step) const {
  const std::int64_t in_image = row % pool_.h;
  const Covering covering(in_image, pool_.sh, pool_.top, pool_.kh, pool_.oh);
  const std::int64_t pooled_row = pool_.ow * pool_.c;
  const std::int64_t at = (row / pool_.h * pool_.oh + covering.first) * pooled_row + first;
  PooledRow pooled{};
  pooled.dy = from.values + at;
  pooled.index = from.index + at;
  pooled.rows = std::max<std::int64_t>(0, covering.last - covering.first);
  pooled.row_step = pooled_row;
  pooled.pixel_step = pool_.c;
  pooled.tap = (in_image + pool_.top - covering.first * pool_.sh) * pool_.kw + pool_.left + columns[0];
  pooled.row_taps = pool_.sh * pool_.kw;
  pooled.column_taps = pool_.sw;
  pooled.columns = std::span(columns_).subspan(static_cast<std::size_t>(columns[0]),
                                               static_cast<std::size_t>(columns[1] - columns[0]));
  code.unpool(pooled, n, to, to_step);
}

void PooledGradient::check(const std::uint8_t* index) const { check_pool_index(pool_, index); }

LinesAhead PooledGradient::value_lines(const GradientOperand& from, const Pair& rows, std::int64_t first,
                                       std::int64_t n, const LinesAhead* then) const {
  const auto [top, bottom] = windows(rows);
  return pixel_lines(from.values, pooled_, top, bottom, first, n, then);
}

LinesAhead PooledGradient::index_lines(const GradientOperand& from, const Pair& rows) const {
  const auto [top, bottom] = windows(rows);
  const std::int64_t row = pool_.ow * pool_.c, half = static_cast<std::int64_t>(sizeof(bfloat16));
  return {reinterpret_cast<const bfloat16*>(from.index + top * row), 1, (bottom - top) * row / half, 0};
}

}  // namespace ridgeline::device::tiles
