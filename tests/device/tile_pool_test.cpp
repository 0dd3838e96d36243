// Convolutions on tiles that also pool: values and indices have the bits of separate convolution and pool, for any
// contents of the scratch memory and any team size.
#include <limits>

#include "tile_support.h"

namespace ridgeline {
namespace {

using Integers = std::vector<std::int64_t>;

struct PooledCase {
  ConvolutionCase convolution;
  Integers kernel, stride, pad;
  bool blocks = false;  // the kernel of strided first layers

  std::string to_string() const {
    std::string text = convolution.to_string() + ", pool";
    for (const Integers* values : {&kernel, &stride, &pad}) {
      for (const std::int64_t v : *values) text += " " + std::to_string(v);
      text += ";";
    }
    return text;
  }
};

TileProblem apart(const PooledCase& c) {
  return c.blocks ? tile_blocks_forward(c.convolution) : tile_forward(c.convolution);
}

// The same problem with the pool merged.
TileProblem merged(const PooledCase& c, const TileProblem& plain) {
  TileProblem p = plain;
  p.problem.op = "conv2d_max_pool";
  p.problem.attributes.set("pool_kernel", c.kernel);
  p.problem.attributes.set("pool_stride", c.stride);
  p.problem.attributes.set("pool_pad", c.pad);
  p.result_types = {DType::bf16, DType::u8};
  p.make = c.blocks ? device::tiles::make_pooled_blocks_forward : device::tiles::make_pooled_forward;
  return p;
}

std::vector<Tensor> pooled(const PooledCase& c, const Tensor& image) {
  const Problem pool{"max_pool", {image}, {{"kernel", c.kernel}, {"stride", c.stride}, {"pad", c.pad}}};
  const Node node = pool.node();
  KernelChoice choice = cpu_kernels("max_pool", Provider::own).front().make(pool.request(node));
  return run_kernel(*std::get<std::unique_ptr<Kernel>>(choice), pool);
}

// Whether the kernels accept it; if so, all of them have the bits of separate ops.
bool expect_the_bits_of_both_apart(const PooledCase& c, const TileProblem& plain) {
  const TileProblem both = merged(c, plain);
  bool taken = true;
  for (const Tiles tiles : machine_tiles()) {
    if (!both.refusal(tiles).empty()) {
      taken = false;
      continue;
    }
    const auto convolution = plain.kernel(tiles);
    if (convolution == nullptr) return false;
    const std::vector<Tensor> expected = pooled(c, plain.run(*convolution)[0]);
    // Plain loops are slow and divide the work like the others.
    const std::vector<int> teams = tiles == Tiles::scalar ? std::vector{1, 3} : std::vector{1, 2, 3, 4};
    for (const int threads : teams) {
      const ComputeScope team(threads);
      const auto kernel = both.kernel(tiles);
      if (kernel == nullptr) continue;
      Poisoned poisoned(*kernel);
      const std::vector<Tensor> got = both.run(poisoned);
      for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_TRUE(same_bits(got[i], expected[i]))
            << kernel->name << ", " << threads << " threads, result " << i << " of " << c.to_string();
      }
    }
  }
  return taken;
}

// Some with bias, with relu or without, and with NaN among the pixels.
TileProblem with_drawn_operands(TileProblem problem, SampleRandom& random, std::int64_t filters) {
  const std::int64_t bias = random.integer(0, 2);
  if (bias == 0) problem.problem.inputs.pop_back();
  if (bias == 1) problem.problem.inputs.back() = random_bf16({filters}, 3);
  if (random.integer(0, 1) == 0) problem.problem.attributes.set("activation", std::string("relu"));
  Tensor& x = problem.problem.inputs[0];
  if (random.integer(0, 1) == 0) {
    x.set(x.elements() / 3, std::numeric_limits<double>::quiet_NaN());
    x.set(x.elements() / 2, -std::numeric_limits<double>::infinity());
  }
  return problem;
}

// A pool over the results of the convolution; false if these are too small.
bool draw_pool(SampleRandom& random, PooledCase& c) {
  c.kernel = {random.integer(1, 3), random.integer(1, 3)};
  if (random.integer(0, 1) == 0) c.kernel = Integers(2, random.integer(2, 3));
  c.stride = {random.integer(1, 3), random.integer(1, 3)};
  c.pad.clear();
  const bool padded = random.integer(0, 1) == 0;
  for (std::size_t side = 0; side < 4; ++side) c.pad.push_back(padded ? random.integer(0, c.kernel[side / 2] - 1) : 0);
  const Shape result = c.convolution.result();
  return result[1] + c.pad[0] + c.pad[1] >= c.kernel[0] && result[2] + c.pad[2] + c.pad[3] >= c.kernel[1];
}

TEST(TilePool, RandomShapesHaveTheBitsOfConvolutionAndPoolApart) {
  SampleRandom random(philox_key(16, "tile pools"), 0, 0);
  const std::int64_t shapes = shapes_to_try(24);
  std::int64_t taken = 0, tried = 0;
  while (tried < shapes) {
    PooledCase c{random_convolution(random), {}, {}, {}};
    c.convolution.filters = c.convolution.groups * 32 * random.integer(1, 3);
    if (random.integer(0, 1) == 0)
      c.convolution.image =
          Shape{random.integer(1, 9), c.convolution.image[1], c.convolution.image[2], c.convolution.image[3]};
    if (!draw_pool(random, c)) continue;
    ++tried;
    taken += expect_the_bits_of_both_apart(c, with_drawn_operands(apart(c), random, c.convolution.filters)) ? 1 : 0;
  }
  EXPECT_GE(taken, 3 * tried / 4) << "most are refused";
}

// Rows of windows in several items per image, several images in one item, a team with more threads than items, and
// pixels in place.
TEST(TilePool, ItemsOfSomeRowsAndOfSomeImagesHaveTheBitsOfBothApart) {
  const PooledCase cases[] = {
      {{{2, 60, 61, 8}, 32, {3, 3}, {1, 1, 1, 1}}, {2, 2}, {2, 2}, {0, 0, 0, 0}},
      {{{1, 70, 50, 16}, 64, {3, 3}, {1, 1, 1, 1}}, {3, 2}, {2, 2}, {1, 1, 0, 0}},
      {{{1, 81, 40, 16}, 32, {3, 3}, {1, 1, 1, 1}}, {2, 2}, {3, 3}, {0, 0, 0, 0}},
      {{{33, 13, 13, 32}, 32, {3, 3}, {1, 1, 1, 1}}, {3, 3}, {2, 2}, {0, 0, 0, 0}},
      {{{17, 5, 6, 64}, 96, {1, 1}, {0, 0, 0, 0}}, {2, 3}, {1, 2}, {1, 0, 1, 1}},
      {{{1, 12, 12, 3}, 160, {3, 3}, {1, 1, 1, 1}}, {3, 3}, {1, 1}, {1, 1, 1, 1}},
  };
  SampleRandom random(philox_key(17, "tile pools"), 0, 0);
  for (const PooledCase& c : cases) {
    EXPECT_TRUE(expect_the_bits_of_both_apart(c, with_drawn_operands(apart(c), random, c.convolution.filters)))
        << c.to_string();
  }
}

TEST(TilePool, StridedFirstLayersByBlocksHaveTheBitsOfBothApart) {
  std::vector<PooledCase> cases = {
      {{{3, 63, 63, 3}, 64, {11, 11}, {2, 2, 2, 2}, {4, 4}, {1, 1}, 1, "alexnet"}, {3, 3}, {2, 2}, {0, 0, 0, 0}, true},
      {{{2, 45, 47, 3}, 64, {7, 7}, {3, 3, 3, 3}, {2, 2}, {1, 1}, 1, "resnet"}, {3, 3}, {2, 2}, {1, 1, 1, 1}, true},
      {{{1, 200, 700, 3}, 32, {5, 5}, {2, 2, 2, 2}, {2, 2}, {1, 1}, 1, "items"}, {2, 2}, {2, 2}, {0, 0, 0, 0}, true},
      {{{2, 30, 31, 5}, 96, {2, 3}, {0, 1, 1, 1}, {1, 2}, {1, 1}, 1, "odd"}, {2, 3}, {3, 1}, {1, 0, 2, 1}, true},
  };
  SampleRandom random(philox_key(18, "tile pools"), 0, 0);
  for (PooledCase& c : cases) {
    for (int drawn = 0; drawn < 4; ++drawn) {
      EXPECT_TRUE(expect_the_bits_of_both_apart(c, with_drawn_operands(apart(c), random, c.convolution.filters)))
          << c.to_string();
      while (!draw_pool(random, c)) {
      }
      if (c.convolution.name == "items") break;  // large
    }
  }
}

TEST(TilePool, WhatIsBetterApartIsRefusedWithTheReason) {
  PooledCase c{{{1, 8, 8, 32}, 48, {3, 3}, {1, 1, 1, 1}}, {2, 2}, {2, 2}, {0, 0, 0, 0}};
  EXPECT_EQ(merged(c, apart(c)).refusal(Tiles::scalar), "48 filters: the last ones fill no vector of a pool");
  c.convolution.filters = 32;
  EXPECT_EQ(merged(c, apart(c)).refusal(Tiles::scalar), "");
  c.convolution.image = Shape{1, 100, 100, 32};
  c.kernel = {3, 3};
  EXPECT_EQ(merged(c, apart(c)).refusal(Tiles::scalar),
            "windows that overlap, and too few rows of results near the core: many would be computed twice");
}

}  // namespace
}  // namespace ridgeline
