// ridgeline/image/jpeg/header.h
//
// The header of a JPEG that our own decoder supports: baseline, 8 bits, one scan of all components. Anything else, and
// anything that libjpeg would warn about, is not an error here but "not ours": libjpeg then decides. Private to this
// folder.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace ridgeline::image {

// A DHT table as in the file: the number of codes of each length 1..16, and their symbols.
struct HuffmanSpec {
  std::array<std::uint8_t, 16> counts{};
  std::array<std::uint8_t, 256> symbols{};  // zero after the last
  friend bool operator==(const HuffmanSpec&, const HuffmanSpec&) = default;
};

struct JpegComponent {
  int h = 1, v = 1;  // sampling factors
  int dc_table = 0, ac_table = 0;
  std::array<std::uint16_t, 64> quant{};  // zigzag order
};

// 1 component (grey, 1x1) or 3 (YCbCr; luma 1x1, 2x1, 1x2 or 2x2, chroma 1x1).
struct JpegHeader {
  int height = 0, width = 0;
  int components = 0;
  std::array<JpegComponent, 3> component;
  std::array<HuffmanSpec, 4> dc, ac;
  int restart_interval = 0;    // in MCUs; 0: none
  std::size_t scan_begin = 0;  // where the entropy-coded data begin

  int mcu_width() const { return 8 * component[0].h; }
  int mcu_height() const { return 8 * component[0].v; }
  int mcu_columns() const { return (width + mcu_width() - 1) / mcu_width(); }
  int mcu_rows() const { return (height + mcu_height() - 1) / mcu_height(); }
  // Chroma samples of the image in each direction.
  int chroma_width() const { return (width + component[0].h - 1) / component[0].h; }
  int chroma_height() const { return (height + component[0].v - 1) / component[0].v; }
};

// Nothing for a file that is not ours.
std::optional<JpegHeader> parse_jpeg_header(std::span<const std::uint8_t> bytes);

}  // namespace ridgeline::image
