#include "ridgeline/data/api/transforms.h"

namespace ridgeline::data {

Transform RandomResizedCrop(Size size, RandomResizedCropOptions options) {
  return {"random_resized_crop",
          {{"size", size.values},
           {"scale", Reals(options.scale.begin(), options.scale.end())},
           {"ratio", Reals(options.ratio.begin(), options.ratio.end())},
           {"interpolation", options.interpolation},
           {"min_object_covered", options.min_object_covered}},
          ""};
}

Transform Resize(Size size, ResizeOptions options) {
  return {"resize",
          {{"size", size.values}, {"interpolation", options.interpolation}, {"size_rule", options.size_rule}},
          ""};
}

Transform CenterCrop(Size size) { return {"center_crop", {{"size", size.values}}, ""}; }

Transform RandomCropWithPadding(Size size, std::int64_t padding) {
  return {"random_crop", {{"size", size.values}, {"padding", padding}}, ""};
}

Transform RandomCrop(Size size, RandomCropOptions options) {
  return {"random_crop",
          {{"size", size.values},
           {"padding", options.padding},
           {"pad_if_needed", options.pad_if_needed},
           {"fill", options.fill.values}},
          ""};
}

Transform Crop(std::int64_t top, std::int64_t left, Size size, CropOptions options) {
  return {"crop", {{"top", top}, {"left", left}, {"size", size.values}, {"fill", options.fill.values}}, ""};
}

Transform RandomHorizontalFlip(double p) { return {"random_horizontal_flip", {{"p", p}}, ""}; }

Transform TypeCast(DType dtype) { return {"type_cast", {{"dtype", std::string(name_of(dtype))}}, ""}; }
Transform Rescale(double scale, double shift) { return {"rescale", {{"scale", scale}, {"shift", shift}}, ""}; }
Transform HWC2CHW() { return {"hwc_to_chw", {}, ""}; }
Transform OneHot(std::int64_t classes, double smoothing) {
  return {"one_hot", {{"classes", classes}, {"smoothing", smoothing}}, ""};
}

Transform Function(const std::string& name, FunctionOptions options) {
  Args args{{"name", name}};
  if (options.dtype) args["dtype"] = std::string(name_of(*options.dtype));
  if (options.shape) args["shape"] = options.shape->empty() ? Integers{0} : *options.shape;
  return {"function", std::move(args), ""};
}

Transform NormalizeWith(std::vector<double> mean, std::vector<double> std) {
  return {"normalize", {{"mean", std::move(mean)}, {"std", std::move(std)}}, ""};
}

}  // namespace ridgeline::data
