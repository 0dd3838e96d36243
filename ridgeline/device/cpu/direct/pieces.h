// ridgeline/device/cpu/direct/pieces.h
//
// What the forward pass and the gradient of the image share: results are computed in pieces of a row of pixels, each
// times a panel of weights. Owns the layout of the scratch memory; like any kernel it is run by one thread at a time.
#pragma once

#include "ridgeline/device/cpu/direct/geometry.h"
#include "ridgeline/device/cpu/direct/panels.h"

namespace ridgeline::device::direct {

class PieceKernel : public Kernel {
 public:
  void run(const KernelArguments& arguments) final;

 protected:
  using Panel = Panels::Panel;

  // Some pixels of a row; rows are counted through all images.
  struct Piece {
    std::int64_t row, first, count;
  };

  // Results are `rows` rows of `width` pixels.
  PieceKernel(const Geometry& geometry, const Panels& panels, std::int64_t rows, std::int64_t width);

  // Packs a panel of the weights for the product kernel.
  virtual void pack(const float* weights, const Panel& panel, float* to) const = 0;
  // `sums` are the piece's [pixel][panels_.width], initially zero.
  virtual void make(const KernelArguments& arguments, const Panel& panel, const float* packed, const Piece& piece,
                    float* sums) const = 0;

  const Geometry g_;
  const Panels panels_;

 private:
  std::int64_t rows_, width_;
  std::int64_t pieces_;     // of a row
  std::int64_t positions_;  // in a piece
  int threads_ = compute_threads();
  std::int64_t packed_, sums_;
};

}  // namespace ridgeline::device::direct
