#include "ridgeline/image/augment/tone.h"

#include <algorithm>
#include <array>

#include "ridgeline/image/augment/table_rows.h"
#include "ridgeline/image/pixel_rows.h"

namespace ridgeline::image {
namespace {

using Histogram = std::array<std::int64_t, 256>;

std::array<Histogram, 3> histograms(const ImageView& in) {
  std::array<Histogram, 3> count{};
  const auto channels = static_cast<std::size_t>(in.channels);
  for (int y = 0; y < in.height; ++y) {
    const std::uint8_t* p = in.row(y);
    for (int x = 0; x < in.width; ++x, p += channels) {
      for (std::size_t c = 0; c < channels; ++c) ++count[c][p[c]];
    }
  }
  return count;
}

template <class TableOf>
void by_histogram(const char* op, const ImageView& in, std::uint8_t* out, TableOf table_of_channel) {
  check_pixels(op, in);
  const std::array<Histogram, 3> count = histograms(in);
  std::array<ByteTable, 3> tables{};
  for (std::size_t c = 0; c < static_cast<std::size_t>(in.channels); ++c) tables[c] = table_of_channel(count[c]);
  apply_tables(in, tables, out);
}

template <class Value>
void by_value(const char* op, const ImageView& in, std::uint8_t* out, Value value) {
  check_pixels(op, in);
  apply_table(in, table_of(value), out);
}

ByteTable identity_table() {
  return table_of([](int v) { return v; });
}

ByteTable stretched(const Histogram& count) {
  int low = 0, high = 255;
  while (low < 255 && count[static_cast<std::size_t>(low)] == 0) ++low;
  while (high > 0 && count[static_cast<std::size_t>(high)] == 0) --high;
  if (high <= low) return identity_table();
  const double scale = 255.0 / (high - low), offset = -low * scale;
  return table_of([&](int v) { return std::clamp(static_cast<int>(v * scale + offset), 0, 255); });
}

// ImageOps.equalize: the last value's pixels do not count, a step is a 255th of the others.
ByteTable equalized(const Histogram& count) {
  std::int64_t total = 0, last = 0;
  int values = 0;
  for (const std::int64_t n : count) {
    total += n;
    if (n != 0) last = n, ++values;
  }
  const std::int64_t step = (total - last) / 255;
  if (values <= 1 || step == 0) return identity_table();
  std::int64_t sum = step / 2;
  return table_of([&](int v) {
    const std::int64_t value = std::min<std::int64_t>(sum / step, 255);
    sum += count[static_cast<std::size_t>(v)];
    return value;
  });
}

}  // namespace

void invert(const ImageView& in, std::uint8_t* out) {
  by_value("invert", in, out, [](int v) { return 255 - v; });
}

void posterize(const ImageView& in, int bits, std::uint8_t* out) {
  if (bits < 0 || bits > 8) throw Error("[posterize] keeps 0 to 8 bits, not " + std::to_string(bits));
  by_value("posterize", in, out, [mask = 0xff00 >> bits](int v) { return v & mask; });
}

void solarize(const ImageView& in, double threshold, std::uint8_t* out) {
  by_value("solarize", in, out, [&](int v) { return v < threshold ? v : 255 - v; });
}

void solarize_add(const ImageView& in, int addition, double threshold, std::uint8_t* out) {
  if (addition < 0 || addition > 255) {
    throw Error("[solarize_add] addition must be 0 to 255, not " + std::to_string(addition));
  }
  by_value("solarize_add", in, out, [&](int v) { return v < threshold ? std::min(255, v + addition) : v; });
}

void autocontrast(const ImageView& in, std::uint8_t* out) { by_histogram("autocontrast", in, out, stretched); }

void equalize(const ImageView& in, std::uint8_t* out) { by_histogram("equalize", in, out, equalized); }

}  // namespace ridgeline::image
