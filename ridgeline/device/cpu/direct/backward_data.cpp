#include "ridgeline/device/cpu/direct/geometry.h"
#include "ridgeline/device/cpu/direct/kernels.h"
#include "ridgeline/device/cpu/direct/panels.h"
#include "ridgeline/device/cpu/own/common.h"
#include "ridgeline/device/cpu/refuse_empty.h"

namespace ridgeline::device {
namespace direct {
namespace {

using Panel = Panels::Panel;

// dx[pixel, c] = sum over r, s of sum over k of dy * w: a piece of a row of the image times a panel of channels. A tap
// meets every stride-th pixel of the row.
class BackwardData final : public Kernel {
 public:
  explicit BackwardData(const Geometry& geometry)
      : g_(geometry),
        panels_{g_.groups, g_.group_channels(), g_.r() * g_.s() * g_.group_filters()},
        pieces_((g_.w + kMostPositions - 1) / kMostPositions),
        positions_((g_.w + pieces_ - 1) / pieces_) {
    packed_ = scratch_.reserve(panels_.batch() * panels_.floats());
    sums_ = scratch_.reserve(threads_ * positions_ * panels_.width);
    scratch_bytes = scratch_.bytes();
  }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    float* const scratch = static_cast<float*>(a.scratch);
    for_each_panel(
        panels_, g_.n * g_.h * pieces_, scratch + packed_,
        [&](const Panel& panel, float* to) { pack(input<float>(a, 1), panel, to); },
        [&](const Panel& panel, const float* packed, std::int64_t item, int thread) {
          piece(a, panel, packed, item, scratch + sums_ + thread * positions_ * panels_.width);
        });
  }

 private:
  // [k][r,s,c] to [r,s][k][c]; columns behind the last are zero.
  void pack(const float* weights, const Panel& panel, float* to) const {
    const std::int64_t taps = g_.r() * g_.s();
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      for (std::int64_t k = 0; k < g_.group_filters(); ++k, to += panels_.width) {
        const float* from =
            weights + ((panel.group * g_.group_filters() + k) * taps + tap) * g_.group_channels() + panel.first;
        std::copy_n(from, panel.count, to);
        std::fill(to + panel.count, to + panels_.width, 0.0f);
      }
    }
  }

  void piece(const KernelArguments& a, const Panel& panel, const float* packed, std::int64_t item, float* sums) const {
    const std::int64_t first = item % pieces_ * positions_;
    const std::int64_t count = std::min(positions_, g_.w - first);
    if (count <= 0) return;
    const std::int64_t row = item / pieces_;  // of all images
    const std::int64_t image = row / g_.h;
    const Window& v = g_.window;
    std::fill_n(sums, count * panels_.width, 0.0f);
    for (std::int64_t r = 0; r < g_.r(); ++r) {
      const std::int64_t above = row % g_.h + v.pad_before[0] - r * v.dilation[0];
      const std::int64_t i = above / v.stride[0];
      if (above < 0 || above % v.stride[0] != 0 || i >= g_.oh) continue;
      const float* dy = input<float>(a, 0) + (image * g_.oh + i) * g_.ow * g_.k + panel.group * g_.group_filters();
      for (std::int64_t s = 0; s < g_.s(); ++s) {
        const std::int64_t shift = v.input_position(1, 0, s);
        const Run run = Run::of(g_.ow, v.stride[1], shift, first, first + count);
        if (run.count == 0) continue;
        multiply_({run.count, panel.count, g_.group_filters(), kDepthStep, dy + run.first * g_.k, g_.k, 1,
                   packed + (r * g_.s() + s) * g_.group_filters() * panels_.width,
                   sums + (run.first * v.stride[1] + shift - first) * panels_.width, v.stride[1] * panels_.width, true,
                   nullptr});
      }
    }
    float* dx = output<float>(a, 0) + (row * g_.w + first) * g_.c + panel.group * g_.group_channels() + panel.first;
    for (std::int64_t j = 0; j < count; ++j) std::copy_n(sums + j * panels_.width, panel.count, dx + j * g_.c);
  }

  Geometry g_;
  Panels panels_;
  std::int64_t pieces_;     // of a row
  std::int64_t positions_;  // in a piece
  int threads_ = compute_threads();
  winograd::Multiply multiply_ = winograd::multiply();
  Scratch scratch_;
  std::int64_t packed_ = 0;
  std::int64_t sums_ = 0;
};

KernelChoice make_backward_data(const KernelRequest& request, const Geometry& geometry) {
  if (auto refusal = refuse_empty(request)) return *refusal;
  auto kernel = std::make_unique<BackwardData>(geometry);
  kernel->name = own_name("direct " + request.def.name);
  return kernel;
}

}  // namespace
}  // namespace direct

KernelChoice make_direct_conv2d_bwd_data(const KernelRequest& request) {
  return direct::make_backward_data(
      request, direct::Geometry::of_convolution(request, request.outputs[0].type.shape, request.inputs[1].type.shape,
                                                request.inputs[0].type.shape));
}

KernelChoice make_direct_dense_bwd_data(const KernelRequest& request) {
  return direct::make_backward_data(
      request, direct::Geometry::of_dense(request.inputs[0].type.shape, request.inputs[1].type.shape));
}

}  // namespace ridgeline::device
