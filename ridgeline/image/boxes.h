// ridgeline/image/boxes.h
//
// Objects' boxes under the operations on their image. Boxes are in fractions of the height and width (ObjectBox, as in
// the slim ImageNet records): 0 is the image's upper or left border, 1 the lower or right one. So a resize changes
// nothing, and every function says of which image its results are fractions. Nothing is cut off before clip_boxes():
// a box may lie outside. Computed in double, rounded to f32 once. Pure functions: any thread.
#pragma once

#include <span>
#include <vector>

#include "ridgeline/image/augment/augment.h"
#include "ridgeline/image/augment/border.h"
#include "ridgeline/image/augment/rotate.h"
#include "ridgeline/image/geometry.h"

namespace ridgeline::image {

// In place. `image` is the image before the operation. An Error for an image without pixels.
void crop_boxes(std::span<ObjectBox> boxes, Size image, const Box& crop);
void pad_boxes(std::span<ObjectBox> boxes, Size image, const Border& border);
void flip_boxes_horizontal(std::span<ObjectBox> boxes);
void flip_boxes_vertical(std::span<ObjectBox> boxes);
// Turns boxes of the picture as it is stored into boxes of the upright picture (orientation.h).
void turn_boxes_upright(std::span<ObjectBox> boxes, int orientation);
// The smallest upright box around the warped one. An Error for a matrix that has no inverse.
void warp_boxes(std::span<ObjectBox> boxes, Size image, const AffineMatrix& matrix, Size out);
void rotate_boxes(std::span<ObjectBox> boxes, Size image, const Rotation& rotation);
// The same for a perspective warp. A box that reaches behind the horizon is cut to the image first; one of which
// nothing is left in front becomes empty.
void perspective_boxes(std::span<ObjectBox> boxes, Size image, const PerspectiveCoefficients& coefficients);
// For an operation of a policy: those that move no pixel leave boxes alone.
void augment_boxes(std::span<ObjectBox> boxes, Size image, const AugmentStep& step);

// Cuts off what lies outside 0..1; a box that lies outside as a whole becomes empty, at the border.
void clip_boxes(std::span<ObjectBox> boxes);

// Which boxes are worth keeping.
struct BoxRule {
  double min_area = 1;   // pixels of the clipped box
  double min_share = 0;  // clipped area over the whole box's, 0 to 1
};
// Clips the boxes, removes those that fall below the rule, and returns the former positions of those that stay, in
// order, for the labels beside them. `image`: the image they are fractions of now.
std::vector<std::size_t> clip_and_drop_boxes(std::vector<ObjectBox>& boxes, Size image, const BoxRule& rule);

}  // namespace ridgeline::image
