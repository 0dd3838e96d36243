// ridgeline/image/augment/warp_draw.h
//
// The draws of torchvision's RandomAffine, RandomRotation and RandomPerspective; warp.h and rotate.h move the pixels.
// Pure functions.
#pragma once

#include "ridgeline/core/random.h"
#include "ridgeline/image/augment/warp.h"
#include "ridgeline/image/interval.h"

namespace ridgeline::image {

// What may be absent in torchvision (None) has its neutral value then and is not drawn.
struct RandomAffineRule {
  Interval degrees;
  double translate_x = 0, translate_y = 0;  // share of the width and height, 0 to 1
  Interval scale{1, 1};
  Interval shear_x, shear_y;  // degrees
};
// An Error for ranges that are reversed or not finite, a share outside 0 to 1, or a scale that is not positive.
void check_random_affine_rule(const RandomAffineRule& rule);
// Draws a double each, all uniform: the angle; the two translations (when either share is not 0), rounded half to even
// to whole pixels; the scale; the shears across and down.
AffineRule draw_affine(const RandomAffineRule& rule, Size image, SampleRandom& random);

// One double, uniform: RandomRotation's angle. An Error for a range that is reversed or not finite.
double draw_angle(Interval degrees, SampleRandom& random);

// RandomPerspective: each corner moves inwards by up to `distortion` (0 to 1) of half a side, by whole pixels drawn
// uniformly, across before down, clockwise from the top left: eight integers. The coefficients map the image's corners
// to these positions. An Error for an image with a side below 2 pixels or corners that fall on a line.
PerspectiveCoefficients draw_perspective(double distortion, Size image, SampleRandom& random);

}  // namespace ridgeline::image
