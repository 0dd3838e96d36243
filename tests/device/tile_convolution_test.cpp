// The tile kernels' convolutions compared with the reference, on scalar tiles and on the machine's.
#include <cmath>
#include <limits>

#include "tile_support.h"

namespace ridgeline {
namespace {

using Integers = std::vector<std::int64_t>;

TEST(TileConvolution, RandomShapesAgreeWithTheReferenceOnAllTiles) {
  const std::int64_t shapes = shapes_to_try(60);
  SampleRandom random(philox_key(12, "tile shapes"), 0, 0);
  TileError largest[3];
  for (std::int64_t shape = 0; shape < shapes; ++shape) {
    const ConvolutionCase c = random_convolution(random);
    const ComputeScope team(static_cast<int>(random.integer(1, 3)));
    for (std::size_t pass = 0; pass < 3; ++pass) {
      TileProblem problem = kTilePasses[pass](c);
      if (pass == 0) {
        const std::int64_t bias = random.integer(0, 2);
        if (bias == 0) problem.problem.inputs.pop_back();
        if (bias == 1) problem.problem.inputs.back() = random_bf16({c.filters}, 3);
        if (random.integer(0, 1) == 0) problem.problem.attributes.set("activation", std::string("relu"));
      } else if (pass == 2) {
        if (random.integer(0, 2) == 0) problem.result_types = {DType::bf16, DType::bf16};
        if (random.integer(0, 3) == 0) problem.problem.attributes.set("bias", false);
      }
      const std::vector<Tensor> expected = problem.reference();
      std::vector<Tensor> first;
      for (const Tiles tiles : machine_tiles()) {
        const auto kernel = problem.kernel(tiles);
        ASSERT_NE(kernel, nullptr) << c.to_string();
        const std::vector<Tensor> got = problem.run(*kernel);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          const TileError error = tile_error(got[i], expected[i]);
          ASSERT_LE(error.worst, 1) << kernel->name << " result " << i << " of " << c.to_string();
          largest[pass].rms = std::max(largest[pass].rms, error.rms);
          largest[pass].worst = std::max(largest[pass].worst, error.worst);
          if (!first.empty() && same_order(tiles)) {
            ASSERT_TRUE(same_bits(got[i], first[i])) << kernel->name << " result " << i << " of " << c.to_string();
          }
        }
        if (first.empty()) first = got;
      }
    }
  }
  if (shapes_are_asked_for()) {
    for (const TileError& error : largest) std::printf("rms %.1e, of what is allowed %.2f\n", error.rms, error.worst);
  }
}

ConvolutionCase random_first_layer(SampleRandom& random) {
  ConvolutionCase c;
  c.name = "first layer";
  c.kernel = {random.integer(1, 8), random.integer(1, 8)};
  do {
    c.stride = {random.integer(1, 4), random.integer(1, 4)};
  } while (c.stride[0] * c.stride[1] == 1);
  const auto size = [&](std::size_t axis) {
    for (int side = 0; side < 2; ++side) c.pad.push_back(random.integer(0, c.kernel[axis]));
    const std::int64_t pads = c.pad[2 * axis] + c.pad[2 * axis + 1];
    return std::max<std::int64_t>(1, c.kernel[axis] - pads) + random.integer(0, random.integer(0, 3) == 0 ? 60 : 20);
  };
  const std::int64_t height = size(0), width = size(1);
  c.image = {random.integer(1, 3), height, width, random.integer(1, random.integer(0, 2) == 0 ? 31 : 4)};
  c.filters = random.integer(1, 80);
  return c;
}

// Every value, and on all tiles the same bits, for any contents of the scratch memory and any team size.
TEST(TileConvolution, StridedFirstLayersByBlocksAgreeWithTheReference) {
  const std::int64_t shapes = shapes_to_try(60);
  SampleRandom random(philox_key(15, "tile first layers"), 0, 0);
  // More blocks of one image than one item; first layers of AlexNet and ResNet.
  std::vector<ConvolutionCase> cases = {
      {{1, 200, 700, 3}, 33, {5, 5}, {2, 2, 2, 2}, {2, 2}, {1, 1}, 1, "some items an image"},
      {{2, 63, 63, 3}, 64, {11, 11}, {2, 2, 2, 2}, {4, 4}, {1, 1}, 1, "alexnet"},
      {{2, 45, 47, 3}, 64, {7, 7}, {3, 3, 3, 3}, {2, 2}, {1, 1}, 1, "resnet"}};
  for (std::int64_t shape = 0; shape < shapes; ++shape) cases.push_back(random_first_layer(random));
  for (const ConvolutionCase& c : cases) {
    TileProblem problem = tile_blocks_forward(c);
    const std::int64_t bias = random.integer(0, 2);
    if (bias == 0) problem.problem.inputs.pop_back();
    if (bias == 1) problem.problem.inputs.back() = random_bf16({c.filters}, 3);
    if (random.integer(0, 1) == 0) problem.problem.attributes.set("activation", std::string("relu"));
    const Tensor expected = problem.reference()[0];
    std::optional<Tensor> first;
    for (const int threads : {1, 2, 3}) {
      const ComputeScope team(threads);
      for (const Tiles tiles : machine_tiles()) {
        const auto kernel = problem.kernel(tiles);
        ASSERT_NE(kernel, nullptr) << c.to_string();
        Poisoned poisoned(*kernel);
        const Tensor got = problem.run(poisoned)[0];
        ASSERT_LE(tile_error(got, expected).worst, 1) << kernel->name << " of " << c.to_string();
        if (!first) first = got;
        if (!same_order(tiles)) continue;
        ASSERT_TRUE(same_bits(got, *first)) << kernel->name << " of " << c.to_string() << ", " << threads << " threads";
      }
    }
  }
}

TEST(TileConvolution, BlocksAreForStridedFirstLayersAlone) {
  const auto refusal = [](const ConvolutionCase& c) { return tile_blocks_forward(c).refusal(Tiles::scalar); };
  ConvolutionCase c{{1, 16, 16, 3}, 16, {3, 3}, {1, 1, 1, 1}, {2, 2}};
  EXPECT_EQ(refusal(c), "");
  c.stride = {1, 1};
  EXPECT_EQ(refusal(c), "stride 1: a block would be a pixel");
  c.stride = {2, 2};
  c.dilation = {2, 2};
  EXPECT_EQ(refusal(c), "groups or dilation");
  c.dilation = {1, 1};
  c.image = {1, 16, 16, 32};
  EXPECT_EQ(refusal(c), "as many channels as a tile is deep");
}

// All special cases: patches of the first layer, images without staging, groups, strides that skip pixels, partly empty
// tiles, weight gradients that share the tiles of dy.
const ConvolutionCase kWays[] = {
    {{3, 19, 17, 40}, 72, {3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 1, "taps"},
    {{2, 37, 41, 3}, 24, {11, 11}, {2, 2, 2, 2}, {4, 4}, {1, 1}, 1, "patches"},
    {{2, 23, 21, 3}, 24, {5, 3}, {2, 2, 1, 1}, {2, 2}, {2, 2}, 1, "patches of rows apart"},
    {{2, 21, 23, 5}, 40, {7, 7}, {3, 3, 3, 3}, {2, 2}, {1, 1}, 1, "patches that reach over the end"},
    {{3, 5, 9, 160}, 384, {3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 1, "ranges of channels"},
    {{2, 9, 9, 64}, 33, {1, 1}, {0, 0, 0, 0}, {1, 1}, {1, 1}, 1, "no staging"},
    {{2, 9, 9, 64}, 48, {1, 1}, {0, 0, 0, 0}, {3, 3}, {1, 1}, 1, "skipped pixels"},
    {{2, 11, 9, 64}, 48, {5, 5}, {2, 2, 2, 2}, {1, 1}, {1, 1}, 2, "groups"},
    {{17, 1, 1, 40}, 64, {3, 3}, {1, 1, 1, 1}, {2, 2}, {1, 1}, 1, "one pixel, strided"},
};

TEST(TileConvolution, EveryWayAgreesWithTheReference) {
  for (const ConvolutionCase& c : kWays) {
    for (const MakeTileProblem pass : kTilePasses) {
      const TileProblem problem = pass(c);
      const std::vector<Tensor> expected = problem.reference();
      for (const Tiles tiles : machine_tiles()) {
        const auto kernel = problem.kernel(tiles);
        ASSERT_NE(kernel, nullptr);
        const std::vector<Tensor> got = problem.run(*kernel);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          EXPECT_LE(tile_error(got[i], expected[i]).worst, 1) << kernel->name << " result " << i << " of " << c.name;
        }
      }
    }
  }
}

TEST(TileConvolution, TheBitsDoNotDependOnTheTeam) {
  for (const ConvolutionCase& c : kWays) {
    for (const MakeTileProblem pass : kTilePasses)
      ASSERT_NO_FATAL_FAILURE(expect_the_same_bits_of_all_teams(pass(c), c.name));
  }
}

TEST(TileConvolution, APoisonedScratchMemoryChangesNothing) {
  for (const ConvolutionCase& c : kWays) {
    for (const MakeTileProblem pass : kTilePasses) {
      const TileProblem problem = pass(c);
      const auto kernel = problem.kernel(machine_tiles().back());
      ASSERT_NE(kernel, nullptr);
      const std::vector<Tensor> expected = problem.run(*kernel);
      Poisoned poisoned(*kernel);
      const std::vector<Tensor> got = problem.run(poisoned);
      for (std::size_t i = 0; i < got.size(); ++i) {
        EXPECT_TRUE(same_bits(got[i], expected[i])) << kernel->name << " of " << c.name;
      }
    }
  }
}

// Forward and backward data; sums for weights also include pixels that no tap reads, times zeros.
TEST(TileConvolution, ANanReachesTheResultsThatReadItAndNoOther) {
  for (const ConvolutionCase& c : kWays) {
    for (const std::string way : {"none", "relu", "to the data"}) {
      TileProblem problem = way == "to the data" ? tile_backward_data(c) : tile_forward(c);
      if (way != "to the data") problem.problem.attributes.set("activation", way);
      Tensor& read = problem.problem.inputs[0];
      read.set(read.elements() / 3, std::numeric_limits<double>::quiet_NaN());
      const auto kernel = problem.kernel(machine_tiles().back());
      ASSERT_NE(kernel, nullptr);
      const Tensor got = problem.run(*kernel)[0], expected = problem.reference()[0];
      for (std::int64_t i = 0; i < got.elements(); ++i) {
        ASSERT_EQ(std::isnan(got.at(i)), std::isnan(expected.at(i))) << c.name << " " << i << " " << way;
      }
    }
  }
}

TEST(TileConvolution, AnAddendIsPartOfTheSumBeforeItIsRounded) {
  for (const ConvolutionCase& c : kWays) {
    for (const std::string activation : {"none", "relu"}) {
      TileProblem problem = tile_forward(c);
      problem.problem.inputs.push_back(random_bf16(c.result(), 7));
      problem.problem.attributes.set("activation", activation);
      const Tensor expected = problem.reference()[0];
      std::vector<Tensor> first;
      for (const Tiles tiles : machine_tiles()) {
        const auto kernel = problem.kernel(tiles);
        ASSERT_NE(kernel, nullptr);
        const std::vector<Tensor> got = problem.run(*kernel);
        EXPECT_LE(tile_error(got[0], expected).worst, 1) << kernel->name << " of " << c.name << ", " << activation;
        if (first.empty()) first = got;
        EXPECT_TRUE(!same_order(tiles) || same_bits(got[0], first[0])) << kernel->name << " of " << c.name;
      }
    }
  }
}

// Values of both signs, subnormal ones, zeros, infinities and NaN.
Tensor random_gate(const Shape& shape) {
  Tensor gate = random_bf16(shape, 8);
  const double special[] = {0.0, -0.0, 0x1p-130, std::numeric_limits<double>::quiet_NaN(),
                            std::numeric_limits<double>::infinity()};
  for (std::int64_t i = 0; i < gate.elements(); i += 3) gate.set(i, special[i / 3 % 5]);
  return gate;
}

// With the bits of a separate relu_grad on the gradient, which the loop kernels compute.
TEST(TileConvolution, AGateLeavesTheGradientOrZero) {
  for (const ConvolutionCase& c : kWays) {
    const TileProblem plain = tile_backward_data(c);
    TileProblem gated = plain;
    gated.problem.inputs.push_back(random_gate(c.image));
    for (const Tiles tiles : machine_tiles()) {
      const auto kernel = plain.kernel(tiles), with_gate = gated.kernel(tiles);
      ASSERT_TRUE(kernel != nullptr && with_gate != nullptr);
      const Tensor& gate = gated.problem.inputs.back();
      const Problem apart{"relu_grad", {gate, plain.run(*kernel)[0]}, {}};
      const Node node = apart.node();
      KernelChoice loop = cpu_kernels("relu_grad").front().make(apart.request(node));
      ASSERT_TRUE(std::holds_alternative<std::unique_ptr<Kernel>>(loop));
      const FlushDenormals flush;  // as a stream does
      const Tensor expected = run_kernel(*std::get<std::unique_ptr<Kernel>>(loop), apart)[0];
      EXPECT_TRUE(same_bits(gated.run(*with_gate)[0], expected)) << with_gate->name << " of " << c.name;
    }
  }
}

TEST(TileConvolution, WhatItCannotTakeIsRefusedWithTheReason) {
  ConvolutionCase c{{1, 8, 8, 32}, 32, {3, 3}, {1, 1, 1, 1}};
  TileProblem problem = tile_forward(c);
  EXPECT_EQ(problem.refusal(Tiles::scalar), "");
  problem.problem.inputs[0] = widened(problem.problem.inputs[0]);
  EXPECT_EQ(problem.refusal(Tiles::scalar), "f32 operand: tile kernels multiply bf16");
  c.groups = 16;
  EXPECT_EQ(tile_forward(c).refusal(Tiles::scalar),
            "groups of 2 channels and 2 filters: tile kernels take groups from 8 on");
  TileProblem weights = tile_backward_weights(c);
  weights.result_types = {DType::f64, DType::f32};
  EXPECT_EQ(weights.refusal(Tiles::scalar), "f64 result or bias: tile kernels take bf16 and f32");
  c.groups = 1;
  const device::Isa before = device::active_isa();
  const device::Isa lowest = device::machine_isas().front();
  const std::string in_force = "the instruction set in force is " + std::string(device::name_of(lowest));
  device::force_isa_for_test(lowest);
  EXPECT_EQ(tile_forward(c).refusal(Tiles::amx), in_force + ": this kernel needs tile registers");
  EXPECT_EQ(tile_forward(c).refusal(Tiles::dots), in_force + ": this kernel needs dot products of bf16");
  EXPECT_EQ(tile_forward(c).refusal(Tiles::scalar), "");
  device::force_isa_for_test(before);
}

}  // namespace
}  // namespace ridgeline
