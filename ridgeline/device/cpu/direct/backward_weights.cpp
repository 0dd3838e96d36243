#include "ridgeline/device/cpu/common.h"
#include "ridgeline/device/cpu/direct/geometry.h"
#include "ridgeline/device/cpu/direct/panels.h"
#include "ridgeline/device/cpu/refuse_empty.h"
#include "ridgeline/device/cpu/sum/column_sums.h"

namespace ridgeline::device::direct {
namespace {

// dw[k, r,s,c] = sum over pixels of dy[pixel, k] * x[pixel at (r,s), c]: for each row of taps a panel of (s,c) times
// some filters. Pixels of all images are one long sum, kDepthStep of them at a time.
class BackwardWeights final : public Kernel {
 public:
  BackwardWeights(const Geometry& geometry, bool bias)
      : g_(geometry), bias_(bias), panels_{g_.groups * g_.r(), g_.s() * g_.group_channels(), kDepthStep} {
    // Filters are divided where there are too few panels for the team: each sum is one thread's in any case.
    const std::int64_t wanted = std::max<std::int64_t>(1, 4 * threads_ / panels_.total());
    const std::int64_t blocks =
        std::clamp<std::int64_t>(wanted, 1, (g_.group_filters() + kLeastFilters - 1) / kLeastFilters);
    filters_ = (g_.group_filters() + blocks - 1) / blocks;
    packed_ = scratch_.reserve(threads_ * panels_.floats());
    sums_ = scratch_.reserve(threads_ * filters_ * panels_.width);
    scratch_bytes = scratch_.bytes();
  }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    float* const scratch = static_cast<float*>(a.scratch);
    const std::int64_t blocks = (g_.group_filters() + filters_ - 1) / filters_;
    for_each_item(panels_.total() * blocks, [&](std::int64_t item, int thread) {
      block(a, item / blocks, item % blocks * filters_, scratch + packed_ + thread * panels_.floats(),
            scratch + sums_ + thread * filters_ * panels_.width);
    });
    if (bias_) sum_columns(input<float>(a, 1), g_.k, g_.pixels(), g_.k, output<float>(a, 1));
  }

 private:
  static constexpr std::int64_t kLeastFilters = 24;

  void block(const KernelArguments& a, std::int64_t index, std::int64_t first, float* packed, float* sums) const {
    const Panels::Panel panel = panels_.panel(index);
    const std::int64_t group = panel.group / g_.r();
    const std::int64_t r = panel.group % g_.r();
    const std::int64_t count = std::min(filters_, g_.group_filters() - first);
    if (count <= 0) return;
    std::fill_n(sums, count * panels_.width, 0.0f);
    for (std::int64_t pixel = 0; pixel < g_.pixels(); pixel += kDepthStep) {
      const std::int64_t depth = std::min(kDepthStep, g_.pixels() - pixel);
      pack(input<float>(a, 0) + group * g_.group_channels(), r, panel, pixel, depth, packed);
      add_product(count, panel.count, depth, input<float>(a, 1) + pixel * g_.k + group * g_.group_filters() + first, 1,
                  g_.k, packed, sums, panels_.width);
    }
    const std::int64_t row = g_.s() * g_.group_channels();
    float* dw = output<float>(a, 0) + ((group * g_.group_filters() + first) * g_.r() + r) * row + panel.first;
    for (std::int64_t k = 0; k < count; ++k) std::copy_n(sums + k * panels_.width, panel.count, dw + k * g_.filter());
  }

  // x at the panel's (s,c) for `depth` pixels of the result; zero outside the image.
  void pack(const float* x, std::int64_t r, const Panels::Panel& panel, std::int64_t pixel, std::int64_t depth,
            float* to) const {
    const std::int64_t channels = g_.group_channels();
    std::int64_t j = pixel % g_.ow;
    std::int64_t row = pixel / g_.ow;  // of all images
    for (std::int64_t d = 0; d < depth; ++d, to += panels_.width) {
      const std::int64_t i = g_.window.input_position(0, row % g_.oh, r);
      const bool inside = i >= 0 && i < g_.h;
      const float* line = x + (row / g_.oh * g_.h + (inside ? i : 0)) * g_.w * g_.c;
      for (std::int64_t at = 0; at < panel.count;) {
        const std::int64_t s = (panel.first + at) / channels;
        const std::int64_t c = (panel.first + at) % channels;
        const std::int64_t count = std::min(channels - c, panel.count - at);
        const std::int64_t column = g_.window.input_position(1, j, s);
        if (inside && column >= 0 && column < g_.w)
          std::copy_n(line + column * g_.c + c, count, to + at);
        else
          std::fill_n(to + at, count, 0.0f);
        at += count;
      }
      std::fill(to + panel.count, to + panels_.width, 0.0f);
      if (++j == g_.ow) {
        j = 0;
        ++row;
      }
    }
  }

  Geometry g_;
  bool bias_;
  Panels panels_;             // a group for each group of the convolution and row of taps
  std::int64_t filters_ = 0;  // of a piece of work
  int threads_ = compute_threads();
  Scratch scratch_;
  std::int64_t packed_ = 0;
  std::int64_t sums_ = 0;
};

}  // namespace

KernelChoice make_backward_weights(const KernelRequest& request) {
  if (auto refusal = refuse_empty(request)) return *refusal;
  const Geometry geometry = Geometry::of_convolution(request, request.inputs[0].type.shape,
                                                     request.outputs[0].type.shape, request.inputs[1].type.shape);
  auto kernel = std::make_unique<BackwardWeights>(geometry, request.outputs.size() == 2);
  kernel->name = own_name("direct " + request.def.name);
  return kernel;
}

}  // namespace ridgeline::device::direct
