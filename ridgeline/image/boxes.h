// ridgeline/image/boxes.h
//
// How operations on an image change the boxes of its objects. Boxes are in fractions of the height and width
// (ObjectBox, as in the slim ImageNet records): 0 is the image's upper or left border, 1 the lower or right one. So a
// resize changes nothing, and every function says of which image its results are fractions. Only clip_boxes() clips:
// until then a box may reach outside. Computed in double, rounded to f32 once. Pure functions: any thread.
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
// The same for a perspective warp. A box that reaches behind the horizon is first cut to the image; if nothing of it is
// in front of the horizon, it becomes empty.
void perspective_boxes(std::span<ObjectBox> boxes, Size image, const PerspectiveCoefficients& coefficients);
// The same for an operation of a policy: those that move no pixels do not change boxes.
void augment_boxes(std::span<ObjectBox> boxes, Size image, const AugmentStep& step);

// Clips boxes to 0..1; a box that is wholly outside becomes empty, at the border.
void clip_boxes(std::span<ObjectBox> boxes);

// Which boxes are worth keeping.
struct BoxRule {
  double min_area = 1;   // pixels of the clipped box
  double min_share = 0;  // clipped area over the whole box's, 0 to 1
};
// Clips the boxes, removes those that the rule excludes, and returns the former positions of the others, in order, to
// select their labels. `image`: the image of which they are fractions.
std::vector<std::size_t> clip_and_drop_boxes(std::vector<ObjectBox>& boxes, Size image, const BoxRule& rule);

}  // namespace ridgeline::image
