// ridgeline/image/orientation.h
//
// Exif's orientation: how a picture that a camera stored rotated or mirrored is to be shown. Pure functions: any
// thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ridgeline/image/image.h"

namespace ridgeline::image {

// What a decoder does with it.
enum class ExifOrientation { ignore, apply };
// "ignore", "apply", in this order.
const std::vector<std::string>& exif_orientation_names();
std::string name_of(ExifOrientation orientation);
// An Error for any other text.
ExifOrientation parse_exif_orientation(const std::string& text);

// The orientation of a JPEG, PNG or WebP file, 1 (upright) to 8 as in Exif 2.32, read as Pillow 10.4 does: from Exif in
// any of them, a PNG's text "Raw profile type exif", and its XMP if Exif has none. 1 if there is none, or none that can
// be read.
int exif_orientation(std::span<const std::uint8_t> file);

// What an orientation does: upright(y, x) is stored(y, x), or stored(x, y) if transposed; then rows, columns or both
// are counted from the other end.
struct Turn {
  bool transposed, from_below, from_right;
};
Turn turn_of(int orientation);

// The size of a stored picture once it is shown upright.
Size upright_size(Size stored, int orientation);
// Where the pixels of a box of the upright picture are stored.
Box stored_box(const Box& upright, Size stored, int orientation);
// The pixels as Pillow's ImageOps.exif_transpose turns them.
void turn_upright(const ImageView& stored, int orientation, Image& out);

}  // namespace ridgeline::image
