// ridgeline/device/cpu/tiles/pooled_gradient.h
//
// The gradient of a convolution's result whose only reader is max pooling, for kernels on tiles: computed from the
// gradient of the pooled image and its index, some rows at a time, in cache. It has the bits of max_pool_bwd. A plain
// value; any thread.
#pragma once

#include <vector>

#include "ridgeline/device/cpu/tiles/convolution.h"

namespace ridgeline::device::tiles {

// dy of a convolution: its values or, with an index, those of the pooled image.
struct GradientOperand {
  const bfloat16* values = nullptr;
  const std::uint8_t* index = nullptr;
};

// The type that the pool's gradient would have, for a request of the merged op.
ValueType unpooled_gradient(const KernelRequest& request);

class PooledGradient {
 public:
  // For an op with the attributes pool_kernel, pool_stride and pool_pad.
  PooledGradient(const Attributes& attributes, const ValueType& image, const ValueType& pooled);

  std::int64_t channels() const { return pool_.c; }

  // Channels [first, first + n) of rows [rows[0], rows[1]), counted through all images, written to their places in the
  // image that begins at `to`. An Error if an element of the index is not a pixel of its window.
  void make(const TileCode& code, const GradientOperand& from, const Pair& rows, std::int64_t first, std::int64_t n,
            bfloat16* to) const;

  // Pixels [columns[0], columns[1]) of a row, `to_step` values apart. Does not check the index.
  void make_row(const TileCode& code, const GradientOperand& from, std::int64_t row, const Pair& columns,
                std::int64_t first, std::int64_t n, bfloat16* to, std::int64_t to_step) const;
  // An Error if an element of the index is not a pixel of its window. Uses the team.
  void check(const std::uint8_t* index) const;

  // What `make` reads.
  LinesAhead value_lines(const GradientOperand& from, const Pair& rows, std::int64_t first, std::int64_t n,
                         const LinesAhead* then) const;
  LinesAhead index_lines(const GradientOperand& from, const Pair& rows) const;

 private:
  Pair windows(const Pair& rows) const;

  PoolGeometry pool_;
  Images pooled_;
  std::vector<Covering> columns_;
};

}  // namespace ridgeline::device::tiles
