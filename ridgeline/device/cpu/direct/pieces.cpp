#include "ridgeline/device/cpu/direct/pieces.h"

#include "ridgeline/device/cpu/common.h"

namespace ridgeline::device::direct {

PieceKernel::PieceKernel(const Geometry& geometry, const Panels& panels, std::int64_t rows, std::int64_t width)
    : g_(geometry),
      panels_(panels),
      rows_(rows),
      width_(width),
      pieces_((width + kMostPositions - 1) / kMostPositions),
      positions_((width + pieces_ - 1) / pieces_) {
  Scratch scratch;
  packed_ = scratch.reserve(panels_.batch() * panels_.floats());
  sums_ = scratch.reserve(threads_ * positions_ * panels_.width);
  scratch_bytes = scratch.bytes();
}

void PieceKernel::run(const KernelArguments& a) {
  const ComputeScope team(threads_);
  float* const scratch = static_cast<float*>(a.scratch);
  for_each_panel(
      panels_, rows_ * pieces_, scratch + packed_,
      [&](const Panel& panel, float* to) { pack(input<float>(a, 1), panel, to); },
      [&](const Panel& panel, const float* packed, std::int64_t item, int thread) {
        const std::int64_t first = item % pieces_ * positions_;
        const Piece piece{item / pieces_, first, std::min(positions_, width_ - first)};
        if (piece.count <= 0) return;
        float* const sums = scratch + sums_ + thread * positions_ * panels_.width;
        std::fill_n(sums, piece.count * panels_.width, 0.0f);
        make(a, panel, packed, piece, sums);
      });
}

}  // namespace ridgeline::device::direct
