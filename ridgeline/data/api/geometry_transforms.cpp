#include "ridgeline/data/api/geometry_transforms.h"

namespace ridgeline::data {
namespace {

Reals reals(const std::array<double, 2>& values) { return {values.begin(), values.end()}; }
Reals reals(const std::optional<std::array<double, 2>>& values) { return values ? reals(*values) : Reals{}; }

Args rotation_args(const RotationOptions& options) {
  return {{"interpolation", options.interpolation},
          {"expand", options.expand},
          {"center", reals(options.center)},
          {"fill", options.fill.values}};
}

}  // namespace

Transform RandomVerticalFlip(double p) { return {"random_vertical_flip", {{"p", p}}, ""}; }

Transform Rotate(double angle, const RotationOptions& options) {
  Args args = rotation_args(options);
  args["angle"] = angle;
  return {"rotate", std::move(args), ""};
}

Transform RandomRotation(Range degrees, const RotationOptions& options) {
  Args args = rotation_args(options);
  args["degrees"] = degrees.values;
  return {"random_rotation", std::move(args), ""};
}

Transform Affine(AffineOptions options) {
  return {"affine",
          {{"angle", options.angle},
           {"translate", reals(options.translate)},
           {"scale", options.scale},
           {"shear", reals(options.shear)},
           {"interpolation", options.interpolation},
           {"center", reals(options.center)},
           {"fill", options.fill.values}},
          ""};
}

Transform RandomAffine(Range degrees, RandomAffineOptions options) {
  return {"random_affine",
          {{"degrees", degrees.values},
           {"translate", reals(options.translate)},
           {"scale", reals(options.scale)},
           {"shear", std::move(options.shear)},
           {"interpolation", options.interpolation},
           {"center", reals(options.center)},
           {"fill", options.fill.values}},
          ""};
}

Transform RandomPerspective(RandomPerspectiveOptions options) {
  return {"random_perspective",
          {{"distortion_scale", options.distortion_scale},
           {"p", options.p},
           {"interpolation", options.interpolation},
           {"fill", options.fill.values}},
          ""};
}

Transform Pad(std::vector<std::int64_t> padding, PadOptions options) {
  return {"pad",
          {{"padding", std::move(padding)}, {"padding_mode", options.padding_mode}, {"fill", options.fill.values}},
          ""};
}

Transform ClipBoxes(ClipBoxesOptions options) {
  return {"clip_boxes", {{"min_area", options.min_area}, {"min_share", options.min_share}}, ""};
}

}  // namespace ridgeline::data
