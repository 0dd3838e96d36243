// MindData's operations, one entry each.
#include <charconv>
#include <cmath>
#include <cstdlib>

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "ridgeline/data/minddata/forms.h"

namespace ridgeline::data {
namespace {

using Rule = MindDataRule;

MindDataField attempts() { return {"max_attempts", "", Rule::same, std::int64_t{10}, "a crop is tried 10 times here"}; }

struct Mode {
  std::int64_t mode;
  const char* exact;
  const char* pillow;
};
// InterpolationMode of MindSpore's include/dataset/constants.h.
constexpr std::array<Mode, 5> kModes{{{0, "opencv_linear", "bilinear"},
                                      {1, "opencv_nearest", "nearest"},
                                      {2, "opencv_cubic", "bicubic"},
                                      {3, "opencv_area", "box"},
                                      {4, "bicubic", "bicubic"}}};

struct Type {
  const char* minddata;
  const char* ours;
};
constexpr std::array<Type, 8> kTypes{{{"float64", "f64"},
                                      {"float32", "f32"},
                                      {"float16", "f16"},
                                      {"bfloat16", "bf16"},
                                      {"uint8", "u8"},
                                      {"int32", "i32"},
                                      {"int64", "i64"},
                                      {"bool", "bool"}}};

}  // namespace

const std::vector<MindDataForm>& minddata_operations() {
  static const std::vector<MindDataForm> forms{
      {"Decode",
       "decode",
       {{"rgb", "", Rule::same, true, "images are decoded to RGB here"},
        {"", "exif_orientation", Rule::same, std::string("ignore"), "MindData's Decode turns no picture"}}},
      // size_rule concerns one number only: the reader leaves it out for two.
      {"Resize",
       "resize",
       {{"size", "size"},
        {"interpolation", "interpolation", Rule::filter},
        {"", "size_rule", Rule::same, std::string("mindata"),
         "MindData rounds the longer side: set size_rule to mindata"}}},
      {"CenterCrop", "center_crop", {{"size", "size"}}},
      {"RandomCrop",
       "random_crop",
       {{"size", "size"},
        {"padding", "padding", Rule::four_sides},
        {"pad_if_needed", "pad_if_needed"},
        {"fill_value", "fill", Rule::colour},
        {"padding_mode", "", Rule::same, std::int64_t{0}, "padding is constant here"}}},
      // min_object_covered concerns boxes, which only TFRecords have: settle() sees to it.
      {"RandomResizedCrop",
       "random_resized_crop",
       {{"size", "size"},
        {"scale", "scale", Rule::real32},
        {"ratio", "ratio", Rule::real32},
        {"interpolation", "interpolation", Rule::filter},
        attempts()}},
      // Reads as decode and random_resized_crop, which are written one by one.
      {"RandomCropDecodeResize",
       "decode_random_resized_crop",
       {{"size", "size"},
        {"scale", "scale", Rule::real32},
        {"ratio", "ratio", Rule::real32},
        {"interpolation", "interpolation", Rule::filter},
        attempts()}},
      {"RandomHorizontalFlip", "random_horizontal_flip", {{"prob", "p", Rule::real32}}},
      {"Normalize",
       "normalize",
       {{"mean", "mean", Rule::times_255},
        {"std", "std", Rule::times_255},
        {"is_hwc", "", Rule::same, true, "Normalize takes [height,width,channels] here", true, false}}},
      {"HwcToChw", "hwc_to_chw", {}},
      {"Rescale", "rescale", {{"rescale", "scale", Rule::real32}, {"shift", "shift", Rule::real32}}},
      {"TypeCast", "type_cast", {{"data_type", "dtype", Rule::dtype}}},
      {"OneHot",
       "one_hot",
       {{"num_classes", "classes"},
        {"", "smoothing", Rule::same, 0.0, "MindData's OneHot does not smooth in the releases that write it down"},
        {"", "weights", Rule::same, Reals{}, "MindData's OneHot has no weights of classes"},
        {"smoothing_rate", "", Rule::same, 0.0, "use OneHot(classes, smoothing), whose rule differs", true, false}}},
  };
  return forms;
}

std::string minddata_filter(std::int64_t mode, MindDataPixels pixels) {
  for (const Mode& m : kModes) {
    if (m.mode == mode) return pixels == MindDataPixels::pillow ? m.pillow : m.exact;
  }
  return "";
}

std::int64_t minddata_mode(const std::string& filter, MindDataPixels pixels) {
  for (const Mode& m : kModes) {
    if (filter == m.exact) return m.mode;
  }
  for (const Mode& m : kModes) {
    if (filter == m.pillow && pixels == MindDataPixels::pillow) return m.mode;
  }
  return -1;
}

std::string minddata_dtype(const std::string& dtype) {
  const auto found = std::find_if(kTypes.begin(), kTypes.end(), [&](const Type& t) { return dtype == t.ours; });
  return found == kTypes.end() ? "" : found->minddata;
}
std::string dtype_of_minddata(const std::string& name) {
  const auto found = std::find_if(kTypes.begin(), kTypes.end(), [&](const Type& t) { return name == t.minddata; });
  return found == kTypes.end() ? "" : found->ours;
}

Integers short_colour(Integers colour) {
  if (colour.size() == 3 && colour[0] == colour[1] && colour[1] == colour[2]) colour.resize(1);
  return colour;
}

double shortest_of_float(double value) {
  const auto single = static_cast<float>(value);
  if (static_cast<double>(single) != value || !std::isfinite(value)) return value;
  const std::string text = fmt::format("{}", single);  // the shortest that gives this float
  double decimal = value;
  std::from_chars(text.data(), text.data() + text.size(), decimal);
  return decimal;
}

double share_of_255(double value) {
  // Known as a float only: a widened one has many digits, 85.0 was written by hand.
  const bool single =
      static_cast<double>(static_cast<float>(value)) == value && fmt::format("{}", std::abs(value)).size() > 11;
  for (int digits = 1; digits <= 17; ++digits) {
    const std::string text = fmt::format("{:.{}g}", value / 255, digits);
    double share = 0;
    std::from_chars(text.data(), text.data() + text.size(), share);
    if (share * 255 == value || (single && static_cast<float>(share * 255) == static_cast<float>(value))) return share;
  }
  return value / 255;
}

}  // namespace ridgeline::data
