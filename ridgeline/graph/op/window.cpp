#include "ridgeline/graph/op/window.h"

#include <limits>

#include "ridgeline/graph/op/rules.h"

namespace ridgeline {
namespace {

using rules::fail;

// Positions, which are products and sums of these, then fit into 64 bits.
constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

std::string by(std::int64_t h, std::int64_t w) { return std::to_string(h) + "x" + std::to_string(w); }

void expect_values(std::string_view op, std::string_view name, const rules::Integers& values, std::size_t count,
                   std::int64_t least) {
  const auto refuse = [&](const std::string& meant) {
    fail(op, "attribute '" + std::string(name) + "' = " + to_string(Attribute(values)) + ": " + meant);
  };
  bool good = values.size() == count;
  for (std::int64_t v : values) good = good && v >= least;
  if (!good) refuse(std::to_string(count) + " values of at least " + std::to_string(least) + " are meant");
  for (std::int64_t v : values) {
    if (v > kMost) refuse("at most " + std::to_string(kMost) + " can be");
  }
}

}  // namespace

Window window_of(std::string_view op, const Attributes& attributes, std::int64_t kernel_height,
                 std::int64_t kernel_width) {
  const rules::Integers& stride = attributes.integers("stride");
  const rules::Integers& pad = attributes.integers("pad");
  expect_values(op, "stride", stride, 2, 1);
  expect_values(op, "pad", pad, 4, 0);
  Window window;
  window.kernel = {kernel_height, kernel_width};
  if (kernel_height < 1 || kernel_width < 1) fail(op, "kernel " + by(kernel_height, kernel_width) + " is empty");
  if (kernel_height > kMost || kernel_width > kMost)
    fail(op, "kernel " + by(kernel_height, kernel_width) + " is too large");
  window.stride = {stride[0], stride[1]};
  window.pad_before = {pad[0], pad[2]};
  window.pad_after = {pad[1], pad[3]};
  if (attributes.has("dilation")) {
    const rules::Integers& dilation = attributes.integers("dilation");
    expect_values(op, "dilation", dilation, 2, 1);
    window.dilation = {dilation[0], dilation[1]};
  }
  return window;
}

std::array<std::int64_t, 2> output_sizes(std::string_view op, const Window& window, const Shape& image) {
  const std::array<std::int64_t, 2> sizes = {window.output_size(0, image[1]), window.output_size(1, image[2])};
  if (sizes[0] < 1 || sizes[1] < 1) {
    fail(op, "kernel " + by(window.kernel[0], window.kernel[1]) + " with dilation " +
                 by(window.dilation[0], window.dilation[1]) + " does not fit into the padded image " +
                 by(image[1] + window.pad_before[0] + window.pad_after[0],
                    image[2] + window.pad_before[1] + window.pad_after[1]) +
                 " (image is " + image.to_string() + ")");
  }
  return sizes;
}

}  // namespace ridgeline
