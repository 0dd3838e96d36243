// The depthwise kernels on random convolutions: near the reference, and the same bits for any team size and vector
// length; what they leave to other kernels.
#include "convolution_support.h"
#include "made_kernel.h"

namespace ridgeline {
namespace {

// Tails of vectors and of blocks of 64 channels; windows wider than the image, strides, dilation; false if the window
// does not fit.
bool draw_depthwise(SampleRandom& random, Convolution& c) {
  const auto draw = [&](std::int64_t low, std::int64_t high) { return random.integer(low, high); };
  const std::int64_t most_channels[] = {5, 40, 70, 200};
  c.image = {draw(1, 3), draw(1, 20), draw(1, 30), draw(1, most_channels[draw(0, 3)])};
  c.filters = c.groups = c.image[3];
  const std::int64_t most = draw(0, 4) == 0 ? 11 : 7;
  c.kernel = {draw(1, most), draw(1, most)};
  c.stride = {draw(1, 3), draw(1, 3)};
  c.dilation = {draw(1, 2), draw(1, 2)};
  for (std::int64_t& side : c.pad) side = draw(0, 6);
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t size = c.image[static_cast<int>(axis) + 1] + c.pad[2 * axis] + c.pad[2 * axis + 1];
    if (size <= c.dilation[axis] * (c.kernel[axis] - 1)) return false;
  }
  return true;
}

TEST(DepthwiseKernels, RandomShapesAgreeWithTheReferenceAndHaveTheSameBitsEverywhere) {
  const std::int64_t shapes = shapes_to_try(60);
  SampleRandom random(philox_key(7, "depthwise shapes"), 0, 0);
  for (std::int64_t shape = 0; shape < shapes;) {
    Convolution c;
    if (!draw_depthwise(random, c)) continue;
    ++shape;
    const std::string name = c.name();
    const std::string activation = random.integer(0, 1) == 0 ? "relu" : "none";
    const std::pair<Problem, MakeKernel> all[] = {
        {random.integer(0, 2) == 0 ? c.with_addend(activation) : c.forward(random.integer(0, 1) == 0, activation),
         cpu_factory("conv2d", "depthwise")},
        {c.backward_data(), cpu_factory("conv2d_bwd_data", "depthwise")},
        {c.backward_weights(random.integer(0, 1) == 0), cpu_factory("conv2d_bwd_weights", "depthwise")}};
    for (const auto& [problem, make] : all)
      ASSERT_NO_FATAL_FAILURE(expect_everywhere(problem, make, name, problem.reference(), expect_near_sums));
  }
}

// What the kernels that compute `c` say, pass by pass.
std::string refusals(const Convolution& c) {
  std::string said;
  const std::pair<Problem, MakeKernel> all[] = {
      {c.forward(true, "none"), cpu_factory("conv2d", "depthwise")},
      {c.backward_data(), cpu_factory("conv2d_bwd_data", "depthwise")},
      {c.backward_weights(false), cpu_factory("conv2d_bwd_weights", "depthwise")}};
  for (const auto& [problem, make] : all) {
    const Node node = problem.node();
    const KernelChoice choice = make(problem.request(node));
    const auto* const refusal = std::get_if<Refusal>(&choice);
    said += (refusal == nullptr ? "taken" : refusal->reason) + "\n";
  }
  return said;
}

TEST(DepthwiseKernels, OtherGroupsAndLargeFiltersAreLeftToOthers) {
  const auto thrice = [](const std::string& line) { return line + "\n" + line + "\n" + line + "\n"; };
  const std::string groups = thrice("groups of more than one channel or filter");
  EXPECT_EQ(refusals({.image = {1, 9, 9, 4}, .filters = 4, .kernel = {3, 3}}), groups);
  EXPECT_EQ(refusals({.image = {1, 9, 9, 4}, .filters = 8, .kernel = {3, 3}, .groups = 4}), groups);
  EXPECT_EQ(refusals({.image = {1, 9, 9, 4}, .filters = 4, .kernel = {3, 3}, .groups = 2}), groups);
  EXPECT_EQ(refusals({.image = {1, 20, 20, 4}, .filters = 4, .kernel = {8, 16}, .groups = 4}), thrice("taken"));
  EXPECT_EQ(refusals({.image = {1, 20, 20, 4}, .filters = 4, .kernel = {3, 43}, .pad = {1, 1, 30, 30}, .groups = 4}),
            thrice("filters of more than 128 taps"));
}

}  // namespace
}  // namespace ridgeline
