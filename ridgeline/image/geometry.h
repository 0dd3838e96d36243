// ridgeline/image/geometry.h
//
// Positions and sizes of crops and resizes, rounded as torchvision rounds them. No pixels here. Pure functions.
#pragma once

#include <span>

#include "ridgeline/core/random.h"
#include "ridgeline/image/image.h"

namespace ridgeline::image {

// Python's round(): ties to even, whatever the thread's rounding mode. For values within an int.
int round_half_even(double x);

// An object in an image, in fractions of height and width (the slim ImageNet keys image/object/bbox/*).
struct ObjectBox {
  float ymin = 0, xmin = 0, ymax = 1, xmax = 1;
};

struct CropRule {
  double scale_low = 0.08;  // share of the image's area
  double scale_high = 1.0;
  double ratio_low = 3.0 / 4.0;  // width over height
  double ratio_high = 4.0 / 3.0;
  int attempts = 10;
  // If objects are given, an attempt must cover this share of one of them (TensorFlow's sample_distorted_bounding_box).
  double min_object_covered = 0.1;
};

// Error for a rule that no image can meet (scale or ratio reversed or not positive, no attempts).
void check_crop_rule(const CropRule& rule);

// torchvision's RandomResizedCrop.get_params: area uniform, aspect ratio log-uniform, sides rounded half to even, then
// the row, then the column, both ends included. Draws two doubles for each attempt and two integers for the accepted
// one. After `attempts` failures gives the largest centred box within the ratios, or the whole image if objects were
// given.
Box random_resized_crop(Size image, const CropRule& rule, SampleRandom& random,
                        std::span<const ObjectBox> objects = {});

// How the long side is rounded when the short one is given.
enum class SizeRule {
  torchvision,  // int(size * long / short) in double
  mindata,      // floor(float(long / short) * size) in float: one pixel less for some sizes (MindSpore 2)
};

// Resize with an integer: the short side becomes `size`.
Size resized_short_side(Size image, int size, SizeRule rule = SizeRule::torchvision);

// torchvision's CenterCrop: offsets round half to even; a side that is too short is padded with zeros first,
// d/2 before and (d+1)/2 after.
struct CenterCrop {
  int pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  Box box;  // in the padded image
};
CenterCrop center_crop(Size image, Size crop);

}  // namespace ridgeline::image
