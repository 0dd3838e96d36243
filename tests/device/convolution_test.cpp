#include "convolution_support.h"

namespace ridgeline {
namespace {

// Odd channels, groups, 1x1, strides, dilation, one image, uneven padding, padding wider than the image's border rows.
const std::vector<Convolution> kConvolutions = {
    {{2, 9, 9, 16}, 32, {3, 3}, {1, 1}, {1, 1, 1, 1}},
    {{1, 13, 11, 3}, 64, {5, 5}, {2, 2}, {2, 2, 2, 2}},
    {{2, 15, 15, 3}, 16, {11, 11}, {4, 4}, {2, 2, 2, 2}},
    {{3, 7, 6, 7}, 5, {3, 2}, {1, 2}, {1, 0, 0, 1}},
    {{2, 8, 8, 32}, 48, {1, 1}, {2, 2}},
    {{2, 8, 8, 3}, 16, {1, 1}, {2, 2}},
    {{1, 6, 6, 64}, 17, {1, 1}},
    {{2, 11, 9, 80}, 144, {1, 1}},
    {{1, 3, 1, 16}, 16, {1, 1}},
    {{1, 23, 9, 544}, 32, {1, 1}},
    {{2, 10, 10, 16}, 16, {3, 3}, {1, 1}, {2, 2, 2, 2}, {2, 2}},
    {{2, 9, 9, 32}, 64, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 2},
    {{2, 7, 7, 12}, 6, {3, 3}, {2, 2}, {0, 1, 0, 1}, {1, 1}, 3},
    {{2, 7, 7, 16}, 16, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 16},
};

// Each family of kernels accepted some of them.
void expect_accepted(const std::string& op, const std::set<std::string>& accepted, bool without_bias = true) {
  EXPECT_TRUE(accepted.contains(op + "/direct"));
  EXPECT_TRUE(accepted.contains(op + "/winograd"));
  EXPECT_EQ(accepted.contains(op + "/pixels"), without_bias);
  EXPECT_EQ(accepted.contains(op + "/onednn"), has_library());
}

TEST(Convolution, EveryKernelAgreesWithTheReferenceForward) {
  std::set<std::string> accepted;
  for (const Convolution& c : kConvolutions) {
    expect_kernels_agree(c.forward(false, "none"), 1e-5, accepted);
    expect_kernels_agree(c.forward(true, "relu"), 1e-5, accepted);
  }
  expect_accepted("conv2d", accepted);
}

TEST(Convolution, EveryKernelAddsAnotherValueBeforeTheActivation) {
  std::set<std::string> accepted;
  for (const Convolution& c : kConvolutions) {
    expect_kernels_agree(c.with_addend("none"), 1e-5, accepted);
    expect_kernels_agree(c.with_addend("relu"), 1e-5, accepted);
  }
  expect_accepted("conv2d", accepted, false);
}

TEST(Convolution, EveryKernelAgreesWithTheReferenceBackward) {
  std::set<std::string> accepted;
  for (const Convolution& c : kConvolutions) {
    expect_kernels_agree(c.backward_data(), 1e-5, accepted);
    if (c.kernel == Integers{1, 1} && c.stride[0] > 1 && c.image[3] < 16) continue;  // the next test
    expect_kernels_agree(c.backward_weights(false), 1e-5, accepted);
    expect_kernels_agree(c.backward_weights(true), 1e-5, accepted);
  }
  expect_accepted("conv2d_bwd_data", accepted);
  expect_accepted("conv2d_bwd_weights", accepted);
}

// uxlfoundation/oneDNN#6035: writes out of bounds. If only that implementation is available, the library is refused.
TEST(Convolution, AStridedOneByOneWeightGradientOverFewChannelsNeverUsesTheFaultyKernel) {
  const Convolution c{{2, 8, 8, 3}, 16, {1, 1}, {2, 2}};
  for (bool bias : {false, true}) {
    const Problem problem = c.backward_weights(bias);
    const Node node = problem.node();
    const KernelRequest request = problem.request(node);
    for (const KernelEntry& entry : cpu_kernels(problem.op)) {
      KernelChoice choice = entry.make(request);
      if (const auto* refusal = std::get_if<Refusal>(&choice)) {
        EXPECT_FALSE(refusal->reason.empty());
        continue;
      }
      Kernel& kernel = *std::get<std::unique_ptr<Kernel>>(choice);
      EXPECT_EQ(kernel.name.find("1x1"), std::string::npos) << kernel.name;
      EXPECT_LE(difference(run_kernel(kernel, problem)[0], problem.reference()[0]), 1e-5) << kernel.name;
    }
  }
}

TEST(Dense, EveryKernelAgreesWithTheReference) {
  std::set<std::string> accepted;
  for (const auto& [n, c, k] : {std::array<std::int64_t, 3>{4, 32, 10}, {1, 7, 5}, {33, 129, 64}, {16, 64, 1000}}) {
    for (const std::string activation : {"none", "relu"}) {
      Problem forward{"dense", {random_tensor({n, c}, 1), random_tensor({k, c}, 2)}, {{"activation", activation}}};
      expect_kernels_agree(forward, 1e-5, accepted);
      forward.inputs.push_back(random_tensor({k}, 3));
      expect_kernels_agree(forward, 1e-5, accepted);
      forward.inputs.push_back(random_tensor({n, k}, 5));  // an addend
      expect_kernels_agree(forward, 1e-5, accepted);
    }
    expect_kernels_agree({"dense_bwd_data", {random_tensor({n, k}, 4), random_tensor({k, c}, 2)}, {}}, 1e-5, accepted);
    for (const bool bias : {false, true}) {
      expect_kernels_agree(
          {"dense_bwd_weights", {random_tensor({n, c}, 1), random_tensor({n, k}, 4)}, {{"bias", bias}}}, 1e-5,
          accepted);
    }
  }
  EXPECT_EQ(accepted.size(), has_library() ? 9u : 6u) << "over few rows, over any, and the library where there is one";
}

}  // namespace
}  // namespace ridgeline
