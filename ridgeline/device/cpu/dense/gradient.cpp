#include "ridgeline/device/cpu/dense/gradient.h"

namespace ridgeline::device::dense {

Gradient::Gradient(const Dense& d, Scratch& scratch) : dense_(d), turned_pitch_(round_up(d.rows, kLineFloats)) {
  // Full panels of any vector length, so that the ranges are the same everywhere.
  constexpr std::int64_t kGrain = 64;
  range_ = std::clamp(kRangeFloats / d.rows / kGrain * kGrain, kLeastRange, kMostRange);
  range_ = std::min(range_, round_up(d.inputs, kGrain));
  x_at_ = scratch.reserve(ranges() * range_ * d.rows);
  dy_at_ = scratch.reserve(d.outputs * turned_pitch_);
}

template <class Value>
void Gradient::prepare(const Value* x, const Value* dy, float* scratch) const {
  const products::Moves<Value>& moves = code_.of<Value>();
  constexpr std::int64_t kColumns = 64, kOfLine = products::kLineBytes / sizeof(Value);
  const std::int64_t turns = parts_of(dense_.outputs, kColumns);
  for_each_item(ranges() + turns, [&](std::int64_t item, int) {
    if (item >= ranges()) {
      const std::int64_t first = (item - ranges()) * kColumns;
      moves.transpose(dy + first, dense_.outputs, dense_.rows, std::min(kColumns, dense_.outputs - first),
                      scratch + dy_at_ + first * turned_pitch_, turned_pitch_);
      return;
    }
    const PanelForm form = form_of(item);
    for (std::int64_t chunk = 0; chunk < form.chunks(); ++chunk) {
      for (std::int64_t panel = 0; panel < form.panels(); ++panel) {
        const std::int64_t width = form.width(panel);
        const Value* const next = x + chunk * kDepth * dense_.inputs + item * range_ + (panel + 1) * code_.panel;
        if (panel + 1 < form.panels()) {
          for (std::int64_t row = 0; row < form.deep(chunk); ++row) {
            for (std::int64_t line = 0; line < form.width(panel + 1); line += kOfLine)
              __builtin_prefetch(next + row * dense_.inputs + line);
          }
        }
        moves.copy(x + chunk * kDepth * dense_.inputs + item * range_ + panel * code_.panel, dense_.inputs,
                   form.deep(chunk), width, scratch + x_at_ + item * range_ * dense_.rows + form.at(chunk, panel),
                   code_.pitch(width));
      }
    }
  });
}

template void Gradient::prepare(const float*, const float*, float*) const;
template void Gradient::prepare(const bfloat16*, const bfloat16*, float*) const;

void Gradient::multiply(std::int64_t output, std::int64_t rows, std::int64_t range, const float* scratch, float* strip,
                        std::span<const Lines> ahead) const {
  const PanelForm form = form_of(range);
  const float* const x = scratch + x_at_ + range * range_ * dense_.rows;
  Ahead lines(ahead, form.panels() * form.chunks() * Ahead::fours(rows, std::min(kDepth, dense_.rows)));
  for (std::int64_t chunk = 0; chunk < form.chunks(); ++chunk) {
    for (std::int64_t panel = 0; panel < form.panels(); ++panel) {
      const PanelProduct product{rows,
                                 form.width(panel),
                                 form.deep(chunk),
                                 scratch + dy_at_ + output * turned_pitch_ + chunk * kDepth,
                                 turned_pitch_,
                                 x + form.at(chunk, panel),
                                 strip + panel * code_.panel,
                                 pitch(),
                                 chunk > 0};
      product.run(code_, lines);
    }
  }
}

}  // namespace ridgeline::device::dense
