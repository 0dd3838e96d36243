#include "ridgeline/image/geometry.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "ridgeline/core/error.h"
#include "ridgeline/core/math.h"

namespace ridgeline::image {
namespace {

// TensorFlow's test (sample_distorted_bounding_box_op.cc): some object of at least one pixel has min_covered of its
// area inside the crop. Without objects every crop will do.
bool covers_an_object(Size image, const Box& box, std::span<const ObjectBox> objects, double min_covered) {
  for (const ObjectBox& o : objects) {
    const double top = o.ymin * image.height, bottom = o.ymax * image.height;
    const double left = o.xmin * image.width, right = o.xmax * image.width;
    const double area = (bottom - top) * (right - left);
    if (bottom <= top || right <= left || area < 1.0) continue;
    const double height = std::min<double>(bottom, box.top + box.height) - std::max<double>(top, box.top);
    const double width = std::min<double>(right, box.left + box.width) - std::max<double>(left, box.left);
    if (height > 0 && width > 0 && height * width >= min_covered * area) return true;
  }
  return objects.empty();
}

Box centred_fallback(Size image, const CropRule& rule) {
  const double ratio = static_cast<double>(image.width) / image.height;
  int height = image.height, width = image.width;
  if (ratio < rule.ratio_low) {
    height = round_half_even(width / rule.ratio_low);
  } else if (ratio > rule.ratio_high) {
    width = round_half_even(height * rule.ratio_high);
  }
  height = std::clamp(height, 1, image.height);
  width = std::clamp(width, 1, image.width);
  return {(image.height - height) / 2, (image.width - width) / 2, height, width};
}

void check_size(const char* who, Size size) {
  if (size.height <= 0 || size.width <= 0) {
    throw Error(std::string("[") + who + "] sides must be positive, not " + std::to_string(size.height) + "x" +
                std::to_string(size.width));
  }
}

}  // namespace

int round_half_even(double x) {
  const double floor = std::floor(x);
  const double rest = x - floor;
  const auto low = static_cast<std::int64_t>(floor);
  if (rest != 0.5) return static_cast<int>(rest < 0.5 ? low : low + 1);
  return static_cast<int>(low % 2 == 0 ? low : low + 1);
}

void check_crop_rule(const CropRule& rule) {
  const bool good = rule.scale_low > 0 && rule.scale_low <= rule.scale_high && rule.scale_high <= 1.0 &&
                    rule.ratio_low > 0 && rule.ratio_low <= rule.ratio_high && std::isfinite(rule.ratio_high) &&
                    rule.attempts >= 1 && rule.min_object_covered >= 0 && rule.min_object_covered <= 1;
  if (good) return;
  throw Error(
      "[random_resized_crop] needs 0 < scale low <= high <= 1, 0 < ratio low <= high, attempts >= 1 and "
      "min_object_covered from 0 to 1; got scale (" +
      std::to_string(rule.scale_low) + ", " + std::to_string(rule.scale_high) + "), ratio (" +
      std::to_string(rule.ratio_low) + ", " + std::to_string(rule.ratio_high) + "), attempts " +
      std::to_string(rule.attempts) + ", min_object_covered " + std::to_string(rule.min_object_covered));
}

Box random_resized_crop(Size image, const CropRule& rule, SampleRandom& random, std::span<const ObjectBox> objects) {
  check_size("random_resized_crop", image);
  const double area = static_cast<double>(image.height) * image.width;
  const double log_low = portable_log(rule.ratio_low), log_high = portable_log(rule.ratio_high);
  for (int attempt = 0; attempt < rule.attempts; ++attempt) {
    const double target = area * random.uniform(rule.scale_low, rule.scale_high);
    const double ratio = portable_exp(random.uniform(log_low, log_high));
    const int width = round_half_even(std::sqrt(target * ratio));
    const int height = round_half_even(std::sqrt(target / ratio));
    if (width <= 0 || width > image.width || height <= 0 || height > image.height) continue;
    const int top = static_cast<int>(random.integer(0, image.height - height));
    const int left = static_cast<int>(random.integer(0, image.width - width));
    const Box box{top, left, height, width};
    if (covers_an_object(image, box, objects, rule.min_object_covered)) return box;
  }
  return objects.empty() ? centred_fallback(image, rule) : Box{0, 0, image.height, image.width};
}

Size resized_short_side(Size image, int size, SizeRule rule) {
  check_size("resize", image);
  check_size("resize", {size, size});
  const bool tall = image.width <= image.height;
  const int shorter = tall ? image.width : image.height;
  const int longer = tall ? image.height : image.width;
  // Python's int(size * long / short): an exact integer product, one rounded division, truncation.
  const auto scaled = static_cast<double>(static_cast<std::int64_t>(size) * longer) / shorter;
  if (scaled > 1e9)
    throw Error("[resize] an image of " + std::to_string(image.height) + "x" + std::to_string(image.width) +
                " is too narrow for a short side of " + std::to_string(size));
  int other = static_cast<int>(scaled);
  if (rule == SizeRule::mindata) {
    const float ratio = static_cast<float>(longer) / static_cast<float>(shorter);
    other = static_cast<int>(std::floor(ratio * static_cast<float>(size)));
  }
  return tall ? Size{other, size} : Size{size, other};
}

CenterCrop center_crop(Size image, Size crop) {
  check_size("center_crop", image);
  check_size("center_crop", crop);
  CenterCrop result;
  const int missing_rows = std::max(0, crop.height - image.height);
  const int missing_columns = std::max(0, crop.width - image.width);
  result.pad_top = missing_rows / 2;
  result.pad_bottom = (missing_rows + 1) / 2;
  result.pad_left = missing_columns / 2;
  result.pad_right = (missing_columns + 1) / 2;
  const int height = image.height + missing_rows, width = image.width + missing_columns;
  result.box = {round_half_even((height - crop.height) / 2.0), round_half_even((width - crop.width) / 2.0), crop.height,
                crop.width};
  return result;
}

}  // namespace ridgeline::image
