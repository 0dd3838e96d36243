// A convolution in short notation, from its shapes to the problems of its three passes, and the band of its results.
#pragma once

#include "kernel_testing.h"

namespace ridgeline {

using Integers = std::vector<std::int64_t>;

struct Convolution {
  Shape image;
  std::int64_t filters;
  Integers kernel;
  Integers stride = {1, 1};
  Integers pad = {0, 0, 0, 0};
  Integers dilation = {1, 1};
  std::int64_t groups = 1;

  std::string name() const {
    return image.to_string() + " -> " + std::to_string(filters) + ", kernel " + Shape(kernel).to_string() +
           ", stride " + Shape(stride).to_string() + ", pad " + Shape(pad).to_string() + ", dilation " +
           Shape(dilation).to_string() + ", groups " + std::to_string(groups);
  }
  Shape weights() const { return {filters, kernel[0], kernel[1], image[3] / groups}; }
  Attributes attributes() const {
    return {{"stride", stride}, {"pad", pad}, {"dilation", dilation}, {"groups", groups}};
  }
  Problem forward(bool bias, const std::string& activation) const {
    Problem p{"conv2d", {random_tensor(image, 1), random_tensor(weights(), 2)}, attributes()};
    if (bias) p.inputs.push_back(random_tensor({filters}, 3));
    p.attributes.set("activation", activation);
    return p;
  }
  Problem with_addend(const std::string& activation) const {
    Problem p = forward(true, activation);
    p.inputs.push_back(random_tensor(result(), 5));
    return p;
  }
  Shape result() const { return forward(false, "none").output_types()[0].shape; }
  Problem backward_data() const {
    Problem p{"conv2d_bwd_data", {random_tensor(result(), 4), random_tensor(weights(), 2)}, attributes()};
    p.attributes.set("input", image.dims());
    return p;
  }
  Problem backward_weights(bool bias) const {
    Problem p{"conv2d_bwd_weights", {random_tensor(image, 1), random_tensor(result(), 4)}, attributes()};
    p.attributes.set("kernel", kernel);
    p.attributes.set("bias", bias);
    return p;
  }
};

inline void expect_near_sums(const Tensor& got, const Tensor& expected, const std::string& what) {
  ASSERT_LE(difference(got, expected), 1e-5) << what;
}

}  // namespace ridgeline
