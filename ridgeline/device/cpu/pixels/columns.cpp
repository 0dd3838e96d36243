#include "ridgeline/device/cpu/pixels/columns.h"

#include <algorithm>

namespace ridgeline::device::pixels {

Columns::Columns(const Pixels& p, std::int64_t first, std::int64_t count, std::int64_t width, std::int64_t panel)
    : p_(p), first_(first), count_(count), width_(width) {
  const Window& v = p_.window;
  const std::int64_t c = p_.c, s = v.kernel[1];
  for (std::int64_t at = first; at < first + count;) {
    const std::int64_t column = at - first, tap = at / c, channel = at % c;
    const std::int64_t most = std::min(width_ - column % width_, first + count - at);
    const std::int64_t from = (tap / s * v.dilation[0] * p_.w + tap % s * v.dilation[1]) * c + channel;
    const Run run{tap / s, tap % s, from, column / width_ * panel + column % width_, std::min(most, c - channel)};
    border_.push_back(run);
    // Neighbouring taps are contiguous.
    Run* const last = inside_.empty() ? nullptr : &inside_.back();
    if (last != nullptr && last->from + last->count == run.from && last->to + last->count == run.to)
      last->count += run.count;
    else
      inside_.push_back(run);
    at += run.count;
  }
}

std::int64_t Columns::begin_of(std::int64_t pixel) const {
  const std::int64_t row = pixel / p_.ow;  // of all images
  const std::int64_t top = p_.window.input_position(0, row % p_.oh, 0);
  return ((row / p_.oh * p_.h + top) * p_.w + p_.window.input_position(1, pixel % p_.ow, 0)) * p_.c;
}

template <class Value>
void Columns::gather(const Value* x, std::int64_t pixel, std::int64_t pixels, float* to) const {
  const products::Moves<Value>& moves = code_.of<Value>();
  const Window& v = p_.window;
  const std::int64_t step = v.stride[1] * p_.c;
  for (const std::int64_t end = pixel + pixels; pixel < end;) {
    const std::int64_t row = pixel / p_.ow, j = pixel % p_.ow;  // of all images
    const std::int64_t top = v.input_position(0, row % p_.oh, 0), left = v.input_position(1, j, 0);
    const std::int64_t from = begin_of(pixel), room = p_.w - left - v.span(1);
    if (top >= 0 && left >= 0 && top + v.span(0) <= p_.h && room >= 0) {
      // Neighbours that reach no border either; all following pixels where each reads exactly its own.
      std::int64_t count = std::min({end - pixel, p_.ow - j, room / v.stride[1] + 1});
      if (p_.same()) count = end - pixel;
      for (const Run& run : inside_) moves.copy(x + from + run.from, step, count, run.count, to + run.to, width_);
      pixel += count;
      to += count * width_;
      continue;
    }
    for (const Run& run : border_) {
      const std::int64_t y = top + run.r * v.dilation[0], z = left + run.s * v.dilation[1];
      if (y >= 0 && y < p_.h && z >= 0 && z < p_.w)
        moves.copy(x + (from + run.from), step, 1, run.count, to + run.to, width_);
      else
        std::fill_n(to + run.to, run.count, 0.0f);
    }
    ++pixel;
    to += width_;
  }
}

template <class Value>
void Columns::append_lines(const Value* x, std::int64_t pixel, std::int64_t pixels,
                           LineVector<products::Lines>& lines) const {
  if (pixels <= 0) return;
  if (p_.single() && (p_.strided() || count_ < p_.c)) {
    for (std::int64_t i = 0; i < pixels; ++i)
      lines.push_back(products::lines_of(x + begin_of(pixel + i) + first_, count_));
    return;
  }
  // From the last tap row of the first pixel to that of the last one.
  const std::int64_t last_row = (p_.window.span(0) - 1) * p_.w * p_.c;
  const std::int64_t begin = std::clamp<std::int64_t>(begin_of(pixel) + last_row, 0, p_.floats());
  const std::int64_t end =
      std::clamp(begin_of(pixel + pixels - 1) + last_row + p_.window.span(1) * p_.c, begin, p_.floats());
  lines.push_back(products::lines_of(x + begin, end - begin));
}

template void Columns::gather(const float*, std::int64_t, std::int64_t, float*) const;
template void Columns::gather(const bfloat16*, std::int64_t, std::int64_t, float*) const;
template void Columns::append_lines(const float*, std::int64_t, std::int64_t, LineVector<products::Lines>&) const;
template void Columns::append_lines(const bfloat16*, std::int64_t, std::int64_t, LineVector<products::Lines>&) const;

}  // namespace ridgeline::device::pixels
