// ridgeline/image/augment/erase.h
//
// Erasing a rectangle: torchvision's RandomErasing and the Cutout of DeVries and Taylor (2017). Which box is drawn
// apart from the pixels. Pure functions: any thread.
#pragma once

#include <optional>

#include "ridgeline/core/random.h"
#include "ridgeline/image/image.h"

namespace ridgeline::image {

struct ErasingRule {
  double scale_low = 0.02, scale_high = 0.33;  // share of the image's area
  double ratio_low = 0.3, ratio_high = 3.3;    // height over width
};

// An Error for ranges that are reversed, not positive (ratio) or outside 0 to 1 (scale).
void check_erasing_rule(const ErasingRule& rule);

// torchvision's RandomErasing.get_params: area uniform, ratio log-uniform, sides rounded half to even and smaller than
// the image's, then row and column. Draws two doubles an attempt and two integers for the accepted one; nullopt after
// ten attempts: the image stays. Whether to erase at all (torchvision's p) is the caller's draw before.
std::optional<Box> draw_erasing_box(Size image, const ErasingRule& rule, SampleRandom& random);

// Where Cutout's square may lie.
enum class CutoutRule {
  centre,   // the authors': around a pixel drawn uniformly; an odd side loses one
  mindata,  // MindData's CutOut: its upper left corner uniform from -side to the image's height and width, both
            // included
};
// Cutout: a square of `side` pixels, cut off at the borders; it may so have fewer pixels, or none. Draws two integers,
// the row first. An Error for a side that is not positive, for MindData's rule also for one above the image's.
Box draw_cutout_box(Size image, int side, SampleRandom& random, CutoutRule rule = CutoutRule::centre);

// Fills a box of an image without gaps between rows, in place. `box` must lie inside; it may be empty.
void erase(std::uint8_t* data, Size image, int channels, const Box& box, Colour value);
// With uniform noise, 32 bits drawn a byte.
void erase_with_noise(std::uint8_t* data, Size image, int channels, const Box& box, SampleRandom& random);
// The same on normalised f32 pixels: torchvision's place for this transform, after Normalize.
void erase(float* data, Size image, int channels, const Box& box, const std::array<float, 3>& value);
// Standard normal noise, one draw a value, in the order of memory (torchvision's value="random").
void erase_with_noise(float* data, Size image, int channels, const Box& box, SampleRandom& random);

}  // namespace ridgeline::image
