// ridgeline/data/tool/caption.h
//
// Short texts in a picture, in a built-in font of 5 x 7 dots: capitals, digits and signs. For contact sheets.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "ridgeline/image/image.h"

namespace ridgeline::data {

inline constexpr int kGlyphHeight = 7;
inline constexpr int kGlyphAdvance = 6;  // width 5 and a gap

// Writes `text` with its upper left corner at (top, left), in at most `width` pixels: a text that does not fit is cut,
// and its last glyph is "~". Lower case is written as capitals, characters that the font lacks as a box. RGB only.
void draw_text(image::Image& image, int top, int left, int width, std::string_view text,
               std::array<std::uint8_t, 3> colour);

}  // namespace ridgeline::data
