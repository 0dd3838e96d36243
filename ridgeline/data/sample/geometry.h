// ridgeline/data/sample/geometry.h
//
// What was done to an image's geometry, as text: for users who apply the same changes to masks, key points or other
// boxes. One line for each step, with its name and numbers, which parse back to the same doubles; a step that did
// nothing to this image (a flip that was not drawn) has no line. Operations and arguments are those of torchvision's
// functionals:
//
//   size H W                        of the picture as it came; always the first line
//   exif K                          stored as Exif's orientation K (2 to 8), and turned upright
//   crop TOP LEFT HEIGHT WIDTH      the window may reach beyond the image, where it is filled
//   iou_crop TOP LEFT HEIGHT WIDTH  the same; boxes whose middle lies outside are gone
//   center_crop HEIGHT WIDTH
//   pad LEFT TOP RIGHT BOTTOM       filled; pad_edge, pad_reflect, pad_symmetric: with what lies at the border
//   resize HEIGHT WIDTH
//   horizontal_flip
//   vertical_flip
//   rotate ANGLE EXPAND [X Y]       degrees against the clock; expand 0 or 1; the centre in pixels, if one was given
//   affine ANGLE X Y SCALE SHEAR_X SHEAR_Y [X Y]
//   perspective A B C D E F G H     the coefficients
//   note TEXT                       of note_geometry
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>

#include "ridgeline/data/sample/step.h"

namespace ridgeline::data {

// Does nothing if geometry is not recorded.
void record_geometry(Frame& frame, std::string_view op, std::span<const double> numbers);
inline void record_geometry(Frame& frame, std::string_view op, std::initializer_list<double> numbers = {}) {
  record_geometry(frame, op, std::span<const double>(numbers.begin(), numbers.size()));
}
inline void record_geometry(Frame& frame, std::string_view op, image::Size size) {
  record_geometry(frame, op, {static_cast<double>(size.height), static_cast<double>(size.width)});
}
inline void record_geometry(Frame& frame, std::string_view op, const image::Box& box) {
  record_geometry(frame, op,
                  {static_cast<double>(box.top), static_cast<double>(box.left), static_cast<double>(box.height),
                   static_cast<double>(box.width)});
}

}  // namespace ridgeline::data
