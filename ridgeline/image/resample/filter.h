// ridgeline/image/resample/filter.h
//
// The filters of a resize, each with its convention. Pillow's filters have plain names, others carry their convention
// in the name. torchvision on PIL images is exactly Pillow's rule. On tensors with antialias=True (its default) it is
// that rule with shorter weights: bilinear within 1 and bicubic within 2, with 0.2 and 0.4 % of the values different,
// so that neither needs a name. MindData's Inter.NEAREST, LINEAR, CUBIC and AREA are the opencv_* filters, its PILCUBIC
// is bicubic.
#pragma once

#include <span>
#include <string_view>

namespace ridgeline::image {

enum class Filter {
  nearest,  // Pillow's: source pixel int((x + 0.5) * scale)
  box,
  bilinear,
  bicubic,         // a = -0.5
  lanczos,         // three lobes
  tf1_bilinear,    // TensorFlow 1's resize_bilinear: source x * scale, no antialiasing; rounded to nearest for 8 bits
  torch_bilinear,  // torchvision's on tensors with antialias=False, within 1: half-pixel centres, two taps per axis
  torch_bicubic,   // the same with four taps, a = -0.75, within 2
  opencv_nearest,  // source pixel floor(x * scale)
  opencv_linear,   // no antialiasing, 11-bit weights, OpenCV's bits; a mean of 2x2 when halving both sides
  opencv_cubic,    // a = -0.75, no antialiasing, 11-bit weights; without IPP OpenCV's bits except in 1 of 100,000
  opencv_area,     // mean over the source's area when shrinking both sides, else linear on another grid
};

std::span<const Filter> all_filters();
std::string_view name_of(Filter filter);
// An Error that lists the names for an unknown one.
Filter parse_filter(std::string_view name);

constexpr bool is_pillow(Filter filter) { return filter <= Filter::lanczos; }
constexpr bool is_opencv(Filter filter) { return filter >= Filter::opencv_nearest; }

}  // namespace ridgeline::image
