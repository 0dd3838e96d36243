// tests/data/transform_rows.h
//
// One row for every transform in the table, with what the tests of all transforms need.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ridgeline/data/ir/graph.h"
#include "ridgeline/data/transform/transforms.h"

namespace ridgeline::data::testing {

struct TransformRow {
  std::string op;
  Args args;  // every argument differs from its default
  // The transform as the front end makes it, for images; absent: it takes no images, or not only images, or its results
  // differ in size.
  std::optional<Transform> run = {};
};

inline std::vector<TransformRow> transform_rows() {
  const std::string bicubic = "bicubic";
  const Args crop{{"size", Integers{7, 9}},
                  {"scale", Reals{0.1, 0.3}},
                  {"ratio", Reals{0.5, 1.0 / 3 + 1}},
                  {"interpolation", std::string("bicubic")},
                  {"min_object_covered", 0.25}};
  Args decoded_crop = crop;
  decoded_crop["exif_orientation"] = std::string("apply");
  return {
      {"decode", {{"exif_orientation", std::string("apply")}}},
      {"random_resized_crop", crop, RandomResizedCrop(24)},
      {"decode_random_resized_crop", decoded_crop},
      {"resize",
       {{"size", Integers{256}},
        {"interpolation", std::string("opencv_linear")},
        {"size_rule", std::string("mindata")}},
       Resize({20, 22})},
      {"center_crop", {{"size", Integers{224}}}, CenterCrop({18, 24})},
      {"decode_resize_center_crop",
       {{"size", Integers{224}},
        {"resize", Integers{256, 300}},
        {"interpolation", std::string("box")},
        {"size_rule", std::string("mindata")},
        {"exif_orientation", std::string("apply")}}},
      {"random_crop",
       {{"size", Integers{32}}, {"padding", std::int64_t{4}}, {"pad_if_needed", true}, {"fill", Integers{1, 2, 3}}},
       RandomCrop(22, {.padding = 2})},
      {"crop",
       {{"top", std::int64_t{-1}}, {"left", std::int64_t{2}}, {"size", Integers{3, 4}}, {"fill", Integers{9}}},
       Crop(-1, 2, {17, 19})},
      {"random_vertical_flip", {{"p", 0.2}}, RandomVerticalFlip()},
      {"rotate",
       {{"angle", 12.5}, {"interpolation", bicubic}, {"expand", true}, {"center", Reals{1, 2}}, {"fill", Integers{7}}},
       Rotate(10)},
      {"random_rotation",
       {{"degrees", Reals{-10, 20}},
        {"interpolation", bicubic},
        {"expand", true},
        {"center", Reals{1, 2}},
        {"fill", Integers{7}}},
       RandomRotation(20)},
      {"affine",
       {{"angle", 1.0},
        {"translate", Reals{2, 3}},
        {"scale", 0.5},
        {"shear", Reals{4, 5}},
        {"interpolation", bicubic},
        {"center", Reals{1, 2}},
        {"fill", Integers{7}}},
       Affine({.angle = 10})},
      {"random_affine",
       {{"degrees", Reals{10}},
        {"translate", Reals{0.1, 0.2}},
        {"scale", Reals{0.5, 2}},
        {"shear", Reals{-1, 1, -2, 2}},
        {"interpolation", bicubic},
        {"center", Reals{1, 2}},
        {"fill", Integers{7}}},
       RandomAffine(10, {.translate = {{0.1, 0.1}}, .scale = {{0.8, 1.2}}, .shear = {5}})},
      {"random_perspective",
       {{"distortion_scale", 0.25}, {"p", 0.75}, {"interpolation", bicubic}, {"fill", Integers{7}}},
       RandomPerspective()},
      {"pad",
       {{"padding", Integers{1, 2, 3, 4}}, {"padding_mode", std::string("reflect")}, {"fill", Integers{7}}},
       Pad({1, 2})},
      {"clip_boxes", {{"min_area", 4.0}, {"min_share", 0.5}}},
      {"random_zoom_out", {{"side_range", Reals{1.5, 2}}, {"p", 0.3}, {"fill", Integers{7}}}},
      {"random_iou_crop",
       {{"min_scale", 0.25},
        {"max_scale", 0.75},
        {"min_aspect_ratio", 0.75},
        {"max_aspect_ratio", 1.5},
        {"options", Reals{0.5, 2}},
        {"trials", std::int64_t{9}}}},
      {"random_shortest_size",
       {{"min_size", Integers{20, 30}}, {"max_size", std::int64_t{40}}, {"interpolation", bicubic}}},
      {"random_resize", {{"min_size", std::int64_t{20}}, {"max_size", std::int64_t{40}}, {"interpolation", bicubic}}},
      {"scale_jitter", {{"target_size", Integers{20, 30}}, {"scale_range", Reals{0.5, 1}}, {"interpolation", bicubic}}},
      {"record_geometry", {}},
      {"note_geometry", {{"text", std::string("here")}}},
      {"color_jitter",
       {{"brightness", Reals{0.4}}, {"contrast", Reals{0.5, 2}}, {"saturation", Reals{0.1}}, {"hue", Reals{-0.1, 0.2}}},
       ColorJitter({.brightness = 0.3, .contrast = 0.3, .saturation = 0.3, .hue = 0.1})},
      {"adjust_brightness", {{"factor", 1.5}}, AdjustBrightness(1.2)},
      {"adjust_contrast", {{"factor", 1.5}}, AdjustContrast(1.2)},
      {"adjust_saturation", {{"factor", 1.5}}, AdjustSaturation(2)},
      {"adjust_sharpness", {{"factor", 1.5}}, AdjustSharpness(2)},
      {"adjust_hue", {{"factor", -0.25}}, AdjustHue(0.1)},
      {"invert", {}, Invert()},
      {"posterize", {{"bits", std::int64_t{3}}}, Posterize(3)},
      {"solarize", {{"threshold", 100.5}}, Solarize(100)},
      {"autocontrast", {}, AutoContrast()},
      {"equalize", {}, Equalize()},
      {"grayscale", {{"channels", std::int64_t{3}}}, Grayscale(3)},
      {"random_grayscale", {{"p", 0.3}}, RandomGrayscale(0.3)},
      {"random_invert", {{"p", 0.3}}, RandomInvert(0.3)},
      {"random_posterize", {{"bits", std::int64_t{3}}, {"p", 0.3}}, RandomPosterize(4)},
      {"random_solarize", {{"threshold", 100.5}, {"p", 0.3}}, RandomSolarize(120)},
      {"random_autocontrast", {{"p", 0.3}}, RandomAutoContrast()},
      {"random_equalize", {{"p", 0.3}}, RandomEqualize()},
      {"random_sharpness", {{"factor", Reals{0.1, 1.9}}, {"p", 0.3}}, RandomSharpness({0.5, 2})},
      {"gaussian_blur", {{"kernel_size", Integers{3, 5}}, {"sigma", Reals{0.5}}}, GaussianBlur(3)},
      {"random_erasing",
       {{"p", 0.3}, {"scale", Reals{0.1, 0.2}}, {"ratio", Reals{1, 2}}, {"value", Reals{1, 2, 3}}, {"noise", true}},
       RandomErasing()},
      {"cutout",
       {{"length", std::int64_t{3}},
        {"num_patches", std::int64_t{2}},
        {"law", std::string("mindata")},
        {"fill", Integers{7}}},
       CutOut(4)},
      {"auto_augment",
       {{"policy", std::string("svhn")}, {"interpolation", bicubic}, {"fill", Integers{7}}},
       AutoAugment()},
      {"rand_augment",
       {{"num_ops", std::int64_t{3}},
        {"magnitude", std::int64_t{4}},
        {"num_magnitude_bins", std::int64_t{11}},
        {"interpolation", bicubic},
        {"fill", Integers{7}}},
       RandAugment()},
      {"trivial_augment_wide",
       {{"num_magnitude_bins", std::int64_t{11}}, {"interpolation", bicubic}, {"fill", Integers{7}}},
       TrivialAugmentWide()},
      {"compose", {}, Compose({Pad({1}), Invert()})},
      {"random_apply", {{"p", 0.3}}, RandomApply({RandomInvert(), RandomRotation(5)})},
      {"random_choice", {{"weights", Reals{1, 2}}}, RandomChoice({RandomInvert(), CutOut(3)})},
      {"random_order", {}, RandomOrder({RandomInvert(), GaussianBlur(3)})},
      {"mixup", {{"alpha", 0.2}}},
      {"cutmix", {{"alpha", 0.3}}},
      {"random_horizontal_flip", {{"p", 0.1}}, RandomHorizontalFlip()},
      {"draw_flip", {{"p", 0.3}}},
      {"type_cast", {{"dtype", std::string("i64")}}, TypeCast(DType::f16)},
      {"rescale", {{"scale", 0.5}, {"shift", -1.0}}, Rescale(0.5)},
      {"hwc_to_chw", {}, HWC2CHW()},
      {"one_hot", {{"classes", std::int64_t{2}}, {"smoothing", 0.1}, {"weights", Reals{0.5, 2}}}},
      {"function", {{"name", std::string("mine")}, {"dtype", std::string("f32")}, {"shape", Integers{3, -1}}}},
      {"normalize", {{"mean", Reals{0.1, 0.2, 0.3}}, {"std", Reals{0.4, 0.5, 0.6}}}, Normalize::imagenet()},
      {"write", {{"p", 0.7}, {"mean", Reals{0.5}}, {"std", Reals{0.25}}, {"layout", std::string("chw")}}},
      {"resize_write", {}}};
}

// The row of that name, or null.
inline const TransformRow* transform_row(const std::string& op) {
  static const std::vector<TransformRow> rows = transform_rows();
  for (const TransformRow& row : rows) {
    if (row.op == op) return &row;
  }
  return nullptr;
}

}  // namespace ridgeline::data::testing
