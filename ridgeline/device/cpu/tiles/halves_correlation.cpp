#include <algorithm>

#include "ridgeline/device/cpu/common.h"
#include "ridgeline/device/cpu/tiles/correlation.h"
#include "ridgeline/device/cpu/tiles/halves.h"
#include "ridgeline/device/cpu/tiles/on_tiles.h"

namespace ridgeline::device::tiles {
namespace {

// The forward pass and the gradient of the image on f32 values, each by three products of their halves. Pixels and
// weights are split in each call.
class HalvesKernel final : public Kernel {
 public:
  // `channels` of a pixel that is read, before it is split. For the gradient of the image, weights are transposed:
  // their filters are depths.
  HalvesKernel(const Correlation& correlation, const WeightsForm& form, std::int64_t channels, Tiles tiles, bool relu)
      : code_(tile_code(tiles)),
        form_(form),
        pixels_(correlation.in.count * correlation.in.size[0] * correlation.in.size[1]),
        channels_(channels),
        relu_(relu),
        pixels_at_(reserve_halves(pixels_ * both_halves(channels))),
        plain_at_(reserve_halves(form.filters * form.taps * form.channels)),
        packed_at_(reserve_halves(form.values())),
        bias_at_(scratch_.reserve(correlation.out.channels + kBlock)),
        correlation_(correlation, form, false, tiles, scratch_, true) {
    scratch_bytes = scratch_.bytes();
  }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    float* const scratch = static_cast<float*>(a.scratch);
    const auto at = [&](std::int64_t place) { return reinterpret_cast<bfloat16*>(scratch + place); };
    split_rows(code_, input<float>(a, 0), pixels_, channels_, at(pixels_at_));
    split_weights(input<float>(a, 1), at(plain_at_));
    form_.pack(code_, at(plain_at_), at(packed_at_));
    float* const padded = scratch + bias_at_;  // whole blocks of it are read
    if (bias) std::copy_n(input<float>(a, 2), correlation_.out_channels(), padded);
    correlation_.run(at(pixels_at_), at(packed_at_), output<float>(a, 0), {bias ? padded : nullptr, relu_}, scratch);
  }

  bool bias = false;

 private:
  std::int64_t reserve_halves(std::int64_t n) { return scratch_.reserve(blocks_of(n, 2)); }

  void split_weights(const float* weights, bfloat16* to) const {
    if (!form_.turned) {
      split_rows(code_, weights, form_.filters * form_.taps, channels_, to);
      return;
    }
    const std::int64_t n = channels_ * form_.taps * form_.channels;
    const std::int64_t half = form_.filters / 2 * form_.taps * form_.channels;
    split_values(code_, weights, n, to, to + half);
    clear(to + n, half - n);
    clear(to + half + n, half - n);
  }

  int threads_ = compute_threads();
  const TileCode& code_;
  WeightsForm form_;
  std::int64_t pixels_, channels_;
  bool relu_;
  Scratch scratch_;
  std::int64_t pixels_at_, plain_at_, packed_at_, bias_at_;
  CorrelationCode correlation_;
};

}  // namespace

KernelChoice make_halves_forward(const KernelRequest& request, Tiles tiles) {
  const ValueType &x = request.inputs[0].type, &w = request.inputs[1].type, &y = request.outputs[0].type;
  if (auto refusal = refuse_tiles(tiles)) return *refusal;
  if (request.inputs.size() > 3) return Refusal{"an addend"};
  Convolution c = convolution_of(request, x, w, y);
  if (auto refusal = refuse_halves({&x, &w, &y}, c.image.channels)) return *refusal;
  if (c.groups != 1) return Refusal{"groups"};
  const std::int64_t channels = c.image.channels;
  c.image.channels = both_halves(channels);
  const WeightsForm form{1, c.result.channels, c.taps(), c.image.channels};
  auto kernel = std::make_unique<HalvesKernel>(forward_correlation(c), form, channels, tiles,
                                               request.node.attributes.string("activation") == "relu");
  kernel->bias = request.inputs.size() == 3;
  name_halves(*kernel, request, tiles);
  return kernel;
}

KernelChoice make_halves_backward_data(const KernelRequest& request, Tiles tiles) {
  const ValueType &dy = request.inputs[0].type, &w = request.inputs[1].type, &dx = request.outputs[0].type;
  if (auto refusal = refuse_tiles(tiles)) return *refusal;
  if (request.inputs.size() > 2) return Refusal{"a gate"};
  Convolution c = convolution_of(request, dx, w, dy);
  if (auto refusal = refuse_halves({&dy, &w, &dx}, c.result.channels)) return *refusal;
  if (c.groups != 1) return Refusal{"groups"};
  const std::int64_t channels = c.result.channels;
  c.result.channels = both_halves(channels);
  const WeightsForm form{1, c.result.channels, c.taps(), c.image.channels, true};
  auto kernel = std::make_unique<HalvesKernel>(backward_data_correlation(c), form, channels, tiles, false);
  name_halves(*kernel, request, tiles);
  return kernel;
}

}  // namespace ridgeline::device::tiles
