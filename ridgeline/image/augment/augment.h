// ridgeline/image/augment/augment.h
//
// The operations of automatic augmentation by name and magnitude, as torchvision's autoaugment._apply_op does them on
// PIL images. Which are applied is drawn by augment/policy.h. Pure functions: any thread.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "ridgeline/image/augment/warp.h"

namespace ridgeline::image {

// The comments say what the magnitude means.
enum class Augment {
  identity,
  shear_x,      // pixels that a row moves left relative to the row above
  shear_y,      // pixels that a column moves up relative to the one on its left
  translate_x,  // pixels to the right, fraction dropped
  translate_y,  // pixels down, fraction dropped
  rotate,       // degrees counterclockwise
  brightness,   // factor 1 + magnitude; the next three alike
  color,
  contrast,
  sharpness,
  posterize,  // bits that are kept
  solarize,   // threshold
  autocontrast,
  equalize,
  invert,
};
inline constexpr int kAugments = 15;

// torchvision's names: "Identity", "ShearX", "TranslateY", "Rotate", "Color", "AutoContrast", ...
std::string_view name_of(Augment augment);
// An Error with the nearest name for an unknown one.
Augment parse_augment(std::string_view name);

struct AugmentStep {
  Augment op = Augment::identity;
  double magnitude = 0;  // with its sign
  friend bool operator==(const AugmentStep&, const AugmentStep&) = default;
};

// For the geometric operations; torchvision's defaults.
struct AugmentOptions {
  Sampling sampling = Sampling::nearest;
  Colour fill = {0, 0, 0};
};

// The map from result to source, for the operations that shear and translate.
std::optional<AffineMatrix> augment_matrix(const AugmentStep& step);

// 1 or 3 channels; `out` has the input's size without gaps between rows. Not in place.
void apply_augment(const ImageView& in, const AugmentStep& step, const AugmentOptions& options, std::uint8_t* out);
// One after the other; `scratch` is reused memory of the caller's.
void apply_augments(const ImageView& in, std::span<const AugmentStep> steps, const AugmentOptions& options,
                    Image& scratch, std::uint8_t* out);

}  // namespace ridgeline::image
