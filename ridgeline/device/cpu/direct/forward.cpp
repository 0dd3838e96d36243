#include "ridgeline/device/cpu/common.h"
#include "ridgeline/device/cpu/direct/pieces.h"
#include "ridgeline/device/cpu/refuse_empty.h"

namespace ridgeline::device::direct {
namespace {

// y[pixel, k] = sum over r of sum over s, c of x * w: a piece of a row of results times a panel of filters.
// Neighbouring taps of one image row lie side by side in x and in w, so they are one product where nothing is between
// them.
class Forward final : public PieceKernel {
 public:
  Forward(const Geometry& g, const KernelRequest& request)
      : PieceKernel(g, {g.groups, g.group_filters(), g.filter()}, g.n * g.oh, g.ow),
        bias_(request.inputs.size() >= 3),
        addend_(request.inputs.size() == 4),
        relu_(request.node.attributes.string("activation") == "relu") {}

 private:
  // [k][r,s,c] to [r,s,c][k]; columns behind the last are zero.
  void pack(const float* weights, const Panel& panel, float* to) const override {
    const std::int64_t depth = panels_.depth;
    const float* from = weights + (panel.group * panels_.columns + panel.first) * depth;
    for (std::int64_t d = 0; d < depth; ++d) {
      float* const row = to + d * panels_.width;
      for (std::int64_t i = 0; i < panel.count; ++i) row[i] = from[i * depth + d];
      std::fill(row + panel.count, row + panels_.width, 0.0f);
    }
  }

  void make(const KernelArguments& a, const Panel& panel, const float* packed, const Piece& piece,
            float* sums) const override {
    const std::int64_t image = piece.row / g_.oh;
    for (std::int64_t r = 0; r < g_.r(); ++r) {
      const std::int64_t i = g_.window.input_position(0, piece.row % g_.oh, r);
      if (i < 0 || i >= g_.h) continue;
      const float* x = input<float>(a, 0) + (image * g_.h + i) * g_.w * g_.c + panel.group * g_.group_channels();
      add_row(x, packed + r * g_.s() * g_.group_channels() * panels_.width, {piece.first, piece.count}, panel.count,
              sums);
    }
    write(a, panel, (piece.row * g_.ow + piece.first) * g_.k + panel.group * g_.group_filters() + panel.first,
          piece.count, sums);
  }

  // One row of taps.
  void add_row(const float* x, const float* w, const Run& piece, std::int64_t columns, float* sums) const {
    const std::int64_t stride = g_.window.stride[1];
    const bool neighbours = g_.groups == 1 && g_.window.dilation[1] == 1;
    const auto add = [&](std::int64_t first, std::int64_t count, std::int64_t tap, std::int64_t taps) {
      const std::int64_t j = g_.window.input_position(1, first, tap);
      add_product(count, columns, taps * g_.group_channels(), x + j * g_.c, stride * g_.c, 1,
                  w + tap * g_.group_channels() * panels_.width, sums + (first - piece.first) * panels_.width,
                  panels_.width);
    };
    if (!neighbours) {
      for (std::int64_t s = 0; s < g_.s(); ++s) {
        const Run run = within(piece, s, s);
        if (run.count > 0) add(run.first, run.count, s, 1);
      }
      return;
    }
    const Run inside = within(piece, 0, g_.s() - 1);
    const std::int64_t end = piece.first + piece.count;
    for (std::int64_t j = piece.first; j < end; ++j) {
      if (inside.count > 0 && j == inside.first) {
        add(j, inside.count, 0, g_.s());
        j += inside.count - 1;
        continue;
      }
      // At a border: the taps that meet the image.
      const std::int64_t left = g_.window.input_position(1, j, 0);
      const std::int64_t tap = std::max<std::int64_t>(0, -left);
      const std::int64_t taps = std::min(g_.s(), g_.w - left) - tap;
      if (taps > 0) add(j, 1, tap, taps);
    }
  }

  // The positions of a piece at which the taps from `first` to `last` meet the image.
  Run within(const Run& piece, std::int64_t first, std::int64_t last) const {
    const std::int64_t stride = g_.window.stride[1];
    const Run low = Run::of(g_.ow, stride, g_.window.input_position(1, 0, first), 0, g_.w);
    const Run high = Run::of(g_.ow, stride, g_.window.input_position(1, 0, last), 0, g_.w);
    const std::int64_t begin = std::max({piece.first, low.first, high.first});
    const std::int64_t end = std::min({piece.first + piece.count, low.first + low.count, high.first + high.count});
    return {begin, std::max<std::int64_t>(0, end - begin)};
  }

  void write(const KernelArguments& a, const Panel& panel, std::int64_t at, std::int64_t count,
             const float* sums) const {
    const float* b = bias_ ? input<float>(a, 2) + panel.group * g_.group_filters() + panel.first : nullptr;
    for (std::int64_t j = 0; j < count; ++j) {
      float* const y = output<float>(a, 0) + at + j * g_.k;
      const float* const addend = addend_ ? input<float>(a, 3) + at + j * g_.k : nullptr;
      const float* const sum = sums + j * panels_.width;
      for (std::int64_t i = 0; i < panel.count; ++i) {
        float v = b ? sum[i] + b[i] : sum[i];
        if (addend) v += addend[i];
        y[i] = !relu_ || v != v || v > 0 ? v : 0.0f;  // NaN stays, -0 does not
      }
    }
  }

  bool bias_, addend_;
  bool relu_;
};

}  // namespace

KernelChoice make_forward(const KernelRequest& request) {
  if (auto refusal = refuse_empty(request)) return *refusal;
  const Geometry geometry = Geometry::of_convolution(request, request.inputs[0].type.shape,
                                                     request.inputs[1].type.shape, request.outputs[0].type.shape);
  auto kernel = std::make_unique<Forward>(geometry, request);
  kernel->name = own_name("direct " + request.def.name);
  return kernel;
}

}  // namespace ridgeline::device::direct
