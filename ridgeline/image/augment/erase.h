// ridgeline/image/augment/erase.h
//
// Erasing a rectangle: torchvision's RandomErasing and the Cutout of DeVries and Taylor (2017). Drawing the box and
// changing pixels are separate. Pure functions: any thread.
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

// The rectangle of torchvision's RandomErasing.get_params. Each attempt draws an area (uniform) and a ratio
// (log-uniform), and rounds the sides half to even; it is accepted if both are smaller than the image's. Then a row and
// a column are drawn. nullopt after ten attempts: the image stays as it is. The caller first draws whether to erase at
// all (torchvision's p).
std::optional<Box> draw_erasing_box(Size image, const ErasingRule& rule, SampleRandom& random);

// Where Cutout's square may be.
enum class CutoutRule {
  centre,   // the authors' rule: around a pixel that is drawn uniformly; an odd side becomes one pixel shorter
  mindata,  // MindData's CutOut: the upper left corner is uniform from -side to the image's height and width, both
            // included
};
// Cutout: a square of `side` pixels; what is outside the image is cut off, so it may have fewer pixels or none. Draws
// two integers, the row first. An Error if `side` is not positive; with MindData's rule also if it is larger than the
// image.
Box draw_cutout_box(Size image, int side, SampleRandom& random, CutoutRule rule = CutoutRule::centre);

// Fills a box of an image without gaps between rows, in place. `box` must be inside the image; it may be empty.
void erase(std::uint8_t* data, Size image, int channels, const Box& box, Colour value);
// Fills with uniform noise; 32 bits are drawn for each byte.
void erase_with_noise(std::uint8_t* data, Size image, int channels, const Box& box, SampleRandom& random);
// The same on normalised f32 pixels: torchvision applies this transform after Normalize.
void erase(float* data, Size image, int channels, const Box& box, const std::array<float, 3>& value);
// Fills with standard normal noise, one draw for each value, in the order of memory (torchvision's value="random").
void erase_with_noise(float* data, Size image, int channels, const Box& box, SampleRandom& random);

}  // namespace ridgeline::image
