#include "ridgeline/device/cpu/common.h"
#include "ridgeline/device/cpu/direct/pieces.h"
#include "ridgeline/device/cpu/refuse_empty.h"

namespace ridgeline::device::direct {
namespace {

// dx[pixel, c] = sum over r, s of sum over k of dy * w: a piece of a row of the image times a panel of channels. A tap
// meets every stride-th pixel of the row.
class BackwardData final : public PieceKernel {
 public:
  explicit BackwardData(const Geometry& g)
      : PieceKernel(g, {g.groups, g.group_channels(), g.r() * g.s() * g.group_filters()}, g.n * g.h, g.w) {}

 private:
  // [k][r,s,c] to [r,s][k][c]; columns behind the last are zero.
  void pack(const float* weights, const Panel& panel, float* to) const override {
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

  void make(const KernelArguments& a, const Panel& panel, const float* packed, const Piece& piece,
            float* sums) const override {
    const std::int64_t image = piece.row / g_.h, first = piece.first, count = piece.count;
    const Window& v = g_.window;
    for (std::int64_t r = 0; r < g_.r(); ++r) {
      const std::int64_t above = piece.row % g_.h + v.pad_before[0] - r * v.dilation[0];
      const std::int64_t i = above / v.stride[0];
      if (above < 0 || above % v.stride[0] != 0 || i >= g_.oh) continue;
      const float* dy = input<float>(a, 0) + (image * g_.oh + i) * g_.ow * g_.k + panel.group * g_.group_filters();
      for (std::int64_t s = 0; s < g_.s(); ++s) {
        const std::int64_t shift = v.input_position(1, 0, s);
        const Run run = Run::of(g_.ow, v.stride[1], shift, first, first + count);
        if (run.count == 0) continue;
        add_product(run.count, panel.count, g_.group_filters(), dy + run.first * g_.k, g_.k, 1,
                    packed + (r * g_.s() + s) * g_.group_filters() * panels_.width,
                    sums + (run.first * v.stride[1] + shift - first) * panels_.width, v.stride[1] * panels_.width);
      }
    }
    float* dx =
        output<float>(a, 0) + (piece.row * g_.w + first) * g_.c + panel.group * g_.group_channels() + panel.first;
    for (std::int64_t j = 0; j < count; ++j) std::copy_n(sums + j * panels_.width, panel.count, dx + j * g_.c);
  }
};

}  // namespace

KernelChoice make_backward_data(const KernelRequest& request) {
  if (request.inputs.size() > 2) return Refusal{"a gate"};
  if (auto refusal = refuse_empty(request)) return *refusal;
  const Geometry geometry = Geometry::of_convolution(request, request.outputs[0].type.shape,
                                                     request.inputs[1].type.shape, request.inputs[0].type.shape);
  auto kernel = std::make_unique<BackwardData>(geometry);
  kernel->name = own_name("direct " + request.def.name);
  return kernel;
}

}  // namespace ridgeline::device::direct
