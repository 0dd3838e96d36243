#include "ridgeline/device/cpu/winograd/weights.h"

#include <algorithm>

#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/winograd/scratch.h"

namespace ridgeline::device::winograd {
namespace {

constexpr std::int64_t kBlockChannels = 8;  // transposed at a time with the filters of a panel: 18 KB for 3x3 taps
constexpr std::int64_t kWidestPanel = 64;
constexpr int kMostTaps = 25;

inline float widened(float x) { return x; }
inline float widened(bfloat16 x) { return to_float(x); }

}  // namespace

std::int64_t WeightsForm::panels() const { return (columns + panel_width() - 1) / panel_width(); }
std::int64_t WeightsForm::panel_floats() const { return rows * panel_width(); }
std::int64_t WeightsForm::distance() const { return stream_distance(panels() * panel_floats()); }
std::int64_t WeightsForm::floats() const { return rule.positions() * distance(); }

WeightsCode::WeightsCode(Rule rule, std::int64_t filters, std::int64_t channels)
    : rule_(rule),
      filters_(filters),
      channels_(channels),
      code_(transforms<float>(rule)),
      narrow_code_(transforms<bfloat16>(rule)),
      panel_(panel_width()) {}

template <class Weight>
void WeightsCode::forward(const Weight* weights, float* transformed) const {
  const WeightsForm form = forward_form();
  const Streams all = form.streams(transformed);
  const std::int64_t taps = rule_.r * rule_.r;
  const std::int64_t channel_blocks = (channels_ + kBlockChannels - 1) / kBlockChannels;
  parallel_for(form.panels() * channel_blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    // Transposed, so that vectors run over filters: [tap][channel][filter of the panel].
    alignas(64) float block[kMostTaps][kBlockChannels][kWidestPanel];
    const float* pixels[kMostTaps];
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t panel = item / channel_blocks;
      const std::int64_t c0 = item % channel_blocks * kBlockChannels;
      const std::int64_t filters = std::min(panel_, filters_ - panel * panel_);
      const std::int64_t channels = std::min(kBlockChannels, channels_ - c0);
      const Weight* from = weights + panel * panel_ * taps * channels_ + c0;
      for (std::int64_t k = 0; k < filters; ++k) {
        for (std::int64_t tap = 0; tap < taps; ++tap, from += channels_) {
          for (std::int64_t c = 0; c < channels; ++c) block[tap][c][k] = widened(from[c]);
        }
      }
      float* const to = all.base + panel * all.panel_stride + c0 * panel_;
      for (std::int64_t c = 0; c < channels; ++c) {
        for (std::int64_t tap = 0; tap < taps; ++tap) pixels[tap] = block[tap][c];
        code_->weights(pixels, filters, {to + c * panel_, all.distance, panel_}, nullptr);
      }
    }
  });
}

template <class Weight>
void WeightsCode::turned(const Weight* weights, float* transformed) const {
  const Streams all = turned_form().streams(transformed);
  const std::int64_t taps = rule_.r * rule_.r;
  parallel_for(filters_, 1, [&](std::int64_t begin, std::int64_t end) {
    const Weight* pixels[kMostTaps];
    for (std::int64_t k = begin; k < end; ++k) {
      for (std::int64_t tap = 0; tap < taps; ++tap) pixels[tap] = weights + (k * taps + taps - 1 - tap) * channels_;
      code<Weight>().weights(pixels, channels_, {all.base + k * panel_, all.distance, all.panel_stride}, nullptr);
    }
  });
}

void WeightsCode::gradient(const float* sums, float* weights, bool add) const {
  const ConstStreams all = turned_form().streams(sums);
  const std::int64_t taps = rule_.r * rule_.r;
  parallel_for(filters_, 1, [&](std::int64_t begin, std::int64_t end) {
    float* pixels[kMostTaps];
    for (std::int64_t k = begin; k < end; ++k) {
      for (std::int64_t tap = 0; tap < taps; ++tap) pixels[tap] = weights + (k * taps + tap) * channels_;
      code_->weights_gradient({all.base + k * panel_, all.distance, all.panel_stride}, channels_, pixels,
                              {.addend = add ? pixels : nullptr});
    }
  });
}

template void WeightsCode::forward(const float*, float*) const;
template void WeightsCode::forward(const bfloat16*, float*) const;
template void WeightsCode::turned(const float*, float*) const;
template void WeightsCode::turned(const bfloat16*, float*) const;

}  // namespace ridgeline::device::winograd
