#include "ridgeline/image/augment/augment.h"

#include <array>
#include <vector>

#include "ridgeline/image/augment/enhance.h"
#include "ridgeline/image/augment/rotate.h"
#include "ridgeline/image/augment/tone.h"
#include "ridgeline/image/pixel_rows.h"

namespace ridgeline::image {
namespace {

constexpr std::array<std::string_view, kAugments> kAugmentNames = {
    "Identity", "ShearX",    "ShearY",    "TranslateX", "TranslateY",   "Rotate",   "Brightness", "Color",
    "Contrast", "Sharpness", "Posterize", "Solarize",   "AutoContrast", "Equalize", "Invert"};

}  // namespace

std::string_view name_of(Augment augment) { return kAugmentNames[static_cast<std::size_t>(augment)]; }

Augment parse_augment(std::string_view name) {
  std::string list;
  for (std::size_t i = 0; i < kAugmentNames.size(); ++i) {
    if (kAugmentNames[i] == name) return static_cast<Augment>(i);
    list += (list.empty() ? "" : ", ") + std::string(kAugmentNames[i]);
  }
  throw Error("[augment] unknown operation '" + std::string(name) + "'" +
                  did_you_mean(name, std::vector<std::string>(kAugmentNames.begin(), kAugmentNames.end())) +
                  " (allowed: " + list + ")",
              ErrorKind::usage);
}

std::optional<AffineMatrix> augment_matrix(const AugmentStep& step) {
  const double m = step.magnitude;
  // torchvision shears about the top left corner with the tangent m, and moves by whole pixels.
  switch (step.op) {
    case Augment::shear_x: return AffineMatrix{1, m, 0, 0, 1, 0};
    case Augment::shear_y: return AffineMatrix{1, 0, 0, m, 1, 0};
    case Augment::translate_x: return AffineMatrix{1, 0, -std::trunc(m), 0, 1, 0};
    case Augment::translate_y: return AffineMatrix{1, 0, 0, 0, 1, -std::trunc(m)};
    default: return std::nullopt;
  }
}

void apply_augment(const ImageView& in, const AugmentStep& step, const AugmentOptions& options, std::uint8_t* out) {
  const double m = step.magnitude;
  check_finite("augment", "the magnitude", m);
  if (const std::optional<AffineMatrix> matrix = augment_matrix(step))
    return warp_affine(in, *matrix, options.sampling, options.fill, {in.height, in.width}, out);
  switch (step.op) {
    case Augment::identity: return copy_pixels(in, out);
    case Augment::shear_x:
    case Augment::shear_y:
    case Augment::translate_x:
    case Augment::translate_y: break;  // by their matrix
    case Augment::rotate: return rotate(in, m, options.sampling, options.fill, out);
    case Augment::brightness: return adjust_brightness(in, 1.0 + m, out);
    case Augment::color: return adjust_saturation(in, 1.0 + m, out);
    case Augment::contrast: return adjust_contrast(in, 1.0 + m, out);
    case Augment::sharpness: return adjust_sharpness(in, 1.0 + m, out);
    case Augment::posterize: return posterize(in, static_cast<int>(m), out);
    case Augment::solarize: return solarize(in, m, out);
    case Augment::autocontrast: return autocontrast(in, out);
    case Augment::equalize: return equalize(in, out);
    case Augment::invert: return invert(in, out);
  }
  throw InternalError("an operation without its function");
}

void apply_augments(const ImageView& in, std::span<const AugmentStep> steps, const AugmentOptions& options,
                    Image& scratch, std::uint8_t* out) {
  check_pixels("augment", in);
  if (steps.empty()) return copy_pixels(in, out);
  if (steps.size() > 1) scratch.reset(in.height, in.width, in.channels);
  ImageView now = in;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    // So that the last one writes `out`.
    std::uint8_t* to = (steps.size() - i) % 2 == 1 ? out : scratch.data();
    apply_augment(now, steps[i], options, to);
    now = {to, in.height, in.width, in.channels, static_cast<std::ptrdiff_t>(row_bytes(in))};
  }
}

}  // namespace ridgeline::image
