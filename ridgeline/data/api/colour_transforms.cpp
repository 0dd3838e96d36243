#include "ridgeline/data/api/colour_transforms.h"

namespace ridgeline::data {

Transform ColorJitter(ColorJitterOptions options) {
  return {"color_jitter",
          {{"brightness", std::move(options.brightness.values)},
           {"contrast", std::move(options.contrast.values)},
           {"saturation", std::move(options.saturation.values)},
           {"hue", std::move(options.hue.values)}},
          ""};
}
Transform RandomColorAdjust(ColorJitterOptions options) { return ColorJitter(std::move(options)); }

Transform AdjustBrightness(double factor) { return {"adjust_brightness", {{"factor", factor}}, ""}; }
Transform AdjustContrast(double factor) { return {"adjust_contrast", {{"factor", factor}}, ""}; }
Transform AdjustSaturation(double factor) { return {"adjust_saturation", {{"factor", factor}}, ""}; }
Transform AdjustSharpness(double factor) { return {"adjust_sharpness", {{"factor", factor}}, ""}; }
Transform AdjustHue(double factor) { return {"adjust_hue", {{"factor", factor}}, ""}; }

Transform RandomBrightness(Range brightness) { return ColorJitter({.brightness = std::move(brightness)}); }
Transform RandomContrast(Range contrast) { return ColorJitter({.contrast = std::move(contrast)}); }
Transform RandomSaturation(Range saturation) { return ColorJitter({.saturation = std::move(saturation)}); }
Transform RandomHue(Range hue) { return ColorJitter({.hue = std::move(hue)}); }
Transform RandomSharpness(Range factor, double p) {
  return {"random_sharpness", {{"factor", std::move(factor.values)}, {"p", p}}, ""};
}

Transform Grayscale(std::int64_t channels) { return {"grayscale", {{"channels", channels}}, ""}; }
Transform RandomGrayscale(double p) { return {"random_grayscale", {{"p", p}}, ""}; }
Transform Invert() { return {"invert", {}, ""}; }
Transform RandomInvert(double p) { return {"random_invert", {{"p", p}}, ""}; }
Transform Posterize(std::int64_t bits) { return {"posterize", {{"bits", bits}}, ""}; }
Transform RandomPosterize(std::int64_t bits, double p) { return {"random_posterize", {{"bits", bits}, {"p", p}}, ""}; }
Transform Solarize(double threshold) { return {"solarize", {{"threshold", threshold}}, ""}; }
Transform RandomSolarize(double threshold, double p) {
  return {"random_solarize", {{"threshold", threshold}, {"p", p}}, ""};
}
Transform AutoContrast() { return {"autocontrast", {}, ""}; }
Transform RandomAutoContrast(double p) { return {"random_autocontrast", {{"p", p}}, ""}; }
Transform Equalize() { return {"equalize", {}, ""}; }
Transform RandomEqualize(double p) { return {"random_equalize", {{"p", p}}, ""}; }

Transform GaussianBlur(Size kernel_size, GaussianBlurOptions options) {
  return {"gaussian_blur", {{"kernel_size", kernel_size.values}, {"sigma", std::move(options.sigma.values)}}, ""};
}

Transform RandomErasing(RandomErasingOptions options) {
  return {"random_erasing",
          {{"p", options.p},
           {"scale", Reals(options.scale.begin(), options.scale.end())},
           {"ratio", Reals(options.ratio.begin(), options.ratio.end())},
           {"value", std::move(options.value)},
           {"noise", options.noise}},
          ""};
}

Transform CutOut(std::int64_t length, CutOutOptions options) {
  return {
      "cutout",
      {{"length", length}, {"num_patches", options.num_patches}, {"law", options.law}, {"fill", options.fill.values}},
      ""};
}

}  // namespace ridgeline::data
