// ridgeline/image/augment/border.h
//
// Widening an image by a border: a colour, or the image continued by numpy's pad modes (torchvision's Pad). Pure
// functions: any thread.
#pragma once

#include <string_view>

#include "ridgeline/image/image.h"

namespace ridgeline::image {

struct Border {
  int top = 0, left = 0, bottom = 0, right = 0;
};

enum class BorderMode {
  constant,   // a colour
  edge,       // the last pixel repeated: a a|a b c|c c
  reflect,    // mirrored about the last pixel: c b|a b c|b a
  symmetric,  // mirrored after the last pixel: b a|a b c|c b
};

std::string_view name_of(BorderMode mode);
// An Error that lists the names for an unknown one.
BorderMode parse_border_mode(std::string_view name);

// The position in 0..n-1 whose pixel is shown at `position`, which may be outside; for all modes except constant.
// Mirrors repeat as often as needed.
int source_position(BorderMode mode, int position, int n);

// The size with the border. An Error for a border that is negative.
Size padded_size(Size image, const Border& border);

// 1 or 3 channels; `out` holds padded_size() pixels without gaps and must not overlap the input.
void pad(const ImageView& in, const Border& border, BorderMode mode, Colour fill, std::uint8_t* out);

}  // namespace ridgeline::image
