// ridgeline/image/augment/colour_jitter.h
//
// torchvision's ColorJitter, which MindData calls RandomColorAdjust: brightness, contrast, saturation and hue by drawn
// factors in a drawn order. Drawing and pixel operations are separate, so that each can be tested and replayed. Pure
// functions.
#pragma once

#include <array>
#include <optional>

#include "ridgeline/core/random.h"
#include "ridgeline/image/image.h"
#include "ridgeline/image/interval.h"

namespace ridgeline::image {

enum class ColourStep { brightness, contrast, saturation, hue };

// Ranges of the factors; one that holds only the neutral factor (1, and 0 for the hue) switches its step off.
struct ColourJitterRule {
  Interval brightness{1, 1}, contrast{1, 1}, saturation{1, 1}, hue{0, 0};
};

// torchvision's single numbers: 1 - x (at least 0) to 1 + x, the hue from -x to x. An Error for a negative number or a
// hue above 0.5.
ColourJitterRule colour_jitter_rule(double brightness, double contrast, double saturation, double hue);
// An Error for a range that is reversed, negative or not finite, and for a hue outside -0.5 to 0.5.
void check_colour_jitter_rule(const ColourJitterRule& rule);

struct ColourJitter {
  std::array<ColourStep, 4> order{};
  std::array<std::optional<double>, 4> factor;  // by step; nullopt: that step is off
};

// Draws the order first (three integers, Fisher-Yates), then the factors of the steps that are on, in the order of
// ColourStep, each uniform: torchvision's get_params.
ColourJitter draw_colour_jitter(const ColourJitterRule& rule, SampleRandom& random);

// 1 or 3 channels; `out` has the input's size without gaps and may be the input itself.
void apply_colour_jitter(const ImageView& in, const ColourJitter& jitter, std::uint8_t* out);

}  // namespace ridgeline::image
