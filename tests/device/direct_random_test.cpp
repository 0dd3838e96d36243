// The direct kernels on random convolutions: near the reference, and the same bits for any team size and vector length.
#include "convolution_support.h"
#include "made_kernel.h"

namespace ridgeline {
namespace {

// Odd sizes, few channels, groups, strides and dilation combined; false if the window does not fit the image.
bool draw_direct(SampleRandom& random, Convolution& c) {
  const auto draw = [&](std::int64_t low, std::int64_t high) { return random.integer(low, high); };
  c.groups = draw(1, 3);
  c.image = {draw(1, 3), draw(1, 13), draw(1, 14), c.groups * draw(1, 9)};
  if (draw(0, 3) == 0) c.image = {c.image[0], c.image[1], c.image[2], c.groups * draw(10, 140)};
  c.filters = c.groups * draw(1, 40);
  c.kernel = {draw(1, 4), draw(1, 5)};
  c.stride = {draw(1, 3), draw(1, 3)};
  c.dilation = {draw(1, 2), draw(1, 2)};
  for (std::int64_t& side : c.pad) side = draw(0, 3);
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t size = c.image[static_cast<int>(axis) + 1] + c.pad[2 * axis] + c.pad[2 * axis + 1];
    if (size <= c.dilation[axis] * (c.kernel[axis] - 1)) return false;
  }
  return true;
}

TEST(DirectKernels, RandomShapesAgreeWithTheReferenceAndHaveTheSameBitsEverywhere) {
  const std::int64_t shapes = shapes_to_try(60);
  SampleRandom random(philox_key(5, "direct shapes"), 0, 0);
  for (std::int64_t shape = 0; shape < shapes;) {
    Convolution c;
    if (!draw_direct(random, c)) continue;
    ++shape;
    const std::string name = c.name();
    const std::pair<Problem, MakeKernel> all[] = {
        {c.forward(random.integer(0, 1) == 0, random.integer(0, 1) == 0 ? "relu" : "none"),
         cpu_factory("conv2d", "direct")},
        {c.backward_data(), cpu_factory("conv2d_bwd_data", "direct")},
        {c.backward_weights(random.integer(0, 1) == 0), cpu_factory("conv2d_bwd_weights", "direct")}};
    for (const auto& [problem, make] : all)
      ASSERT_NO_FATAL_FAILURE(expect_everywhere(problem, make, name, problem.reference(), expect_near_sums));
  }
}

}  // namespace
}  // namespace ridgeline
