// A convolution's gradients computed from the gradient of the pooled image have the bits of separate ops, on all tiles
// and with teams of several sizes.
#include "ridgeline/device/cpu/kernel_table.h"
#include "ridgeline/device/cpu/scratch.h"
#include "tile_support.h"

namespace ridgeline {
namespace {

using Integers = std::vector<std::int64_t>;

// A pool over the results of a convolution.
struct PoolCase {
  Integers kernel, stride, pad;
  Attributes attributes() const { return {{"kernel", kernel}, {"stride", stride}, {"pad", pad}}; }
  std::string to_string() const {
    return "pool " + Shape(kernel).to_string() + " stride " + Shape(stride).to_string() + " pad " +
           Shape(pad).to_string();
  }
};

// Windows that overlap, skip pixels and reach beyond the image.
PoolCase random_pool(SampleRandom& random, const Shape& image) {
  PoolCase pool;
  if (random.integer(0, 2) == 0 && image[1] > 2 && image[2] > 2) return {{3, 3}, {2, 2}, {0, 0, 0, 0}};
  for (const int axis : {1, 2}) {
    const std::int64_t kernel = random.integer(1, std::min<std::int64_t>(5, image[axis]));
    pool.kernel.push_back(kernel);
    pool.stride.push_back(random.integer(1, 3));
    for (int side = 0; side < 2; ++side) pool.pad.push_back(random.integer(0, 2) == 0 ? kernel / 2 : 0);
  }
  return pool;
}

struct Pooled {
  TileProblem apart, together;
};

// `apart` reads the gradient of the pool, which its own kernel computes.
Pooled pooled_problem(TileProblem plain, std::size_t dy_at, const PoolCase& pool, const std::string& op,
                      KernelChoice (*make)(const KernelRequest&, Tiles)) {
  Tensor& image = plain.problem.inputs[dy_at];
  const Tensor index = Problem{"max_pool", {widened(random_bf16(image.shape(), 9))}, pool.attributes()}.reference()[1];
  Problem backward{"max_pool_bwd", {random_bf16(index.shape(), 10), index}, pool.attributes()};
  backward.attributes.set("input", image.shape().dims());
  TileProblem together = plain;
  together.make = make;
  together.problem.op = op;
  together.problem.inputs[dy_at] = backward.inputs[0];
  together.problem.inputs.insert(together.problem.inputs.begin() + static_cast<std::ptrdiff_t>(dy_at) + 1, index);
  for (const char* name : {"kernel", "stride", "pad"})
    together.problem.attributes.set(std::string("pool_") + name, *pool.attributes().find(name));
  const Node node = backward.node();
  KernelChoice own = cpu_kernels("max_pool_bwd").front().make(backward.request(node));
  image = run_kernel(*std::get<std::unique_ptr<Kernel>>(own), backward)[0];
  return {std::move(plain), std::move(together)};
}

Pooled pooled_weights(const ConvolutionCase& c, const PoolCase& pool) {
  return pooled_problem(tile_backward_weights(c), 1, pool, "conv2d_max_pool_bwd_weights",
                        device::tiles::make_pooled_backward_weights);
}

Pooled pooled_data(const ConvolutionCase& c, const PoolCase& pool, bool gate) {
  TileProblem plain = tile_backward_data(c);
  if (gate) plain.problem.inputs.push_back(random_bf16(c.image, 8));
  return pooled_problem(std::move(plain), 0, pool, "conv2d_max_pool_bwd_data",
                        device::tiles::make_pooled_backward_data);
}

void expect_the_bits_of_the_ops_apart(const Pooled& problem, const std::string& what) {
  for (const Tiles tiles : machine_tiles()) {
    const auto apart = problem.apart.kernel(tiles), together = problem.together.kernel(tiles);
    ASSERT_TRUE(apart != nullptr && together != nullptr) << what;
    const std::vector<Tensor> expected = problem.apart.run(*apart);
    Poisoned poisoned(*together);
    const std::vector<Tensor> got = problem.together.run(poisoned);
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_TRUE(same_bits(got[i], expected[i])) << together->name << " result " << i << " of " << what;
  }
}

TEST(TilePooledGradient, RandomShapesHaveTheBitsOfTheOpsApart) {
  SampleRandom random(philox_key(21, "pooled gradients"), 0, 0);
  const FlushDenormals flush;  // as a stream does
  const std::int64_t shapes = shapes_to_try(60);
  for (std::int64_t shape = 0; shape < shapes; ++shape) {
    const ConvolutionCase c = random_convolution(random);
    const PoolCase pool = random_pool(random, c.result());
    const ComputeScope team(static_cast<int>(random.integer(1, 4)));
    const std::string what = c.to_string() + ", " + pool.to_string();
    const bool single = c.kernel == Integers{1, 1} && c.stride == Integers{1, 1} && c.pad == Integers(4, 0);
    const bool in_steps = c.image[0] == 1 && c.image[2] == device::tiles::kTileDepth;
    if (single && !in_steps && c.image[0] * c.image[1] * c.image[2] % device::tiles::kTileDepth == 0) {
      EXPECT_EQ(pooled_weights(c, pool).together.refusal(Tiles::scalar),
                "single pixels: rows of a pooled image would be summed in another order");
    } else {
      ASSERT_NO_FATAL_FAILURE(expect_the_bits_of_the_ops_apart(pooled_weights(c, pool), what));
    }
    if (c.stride != Integers{1, 1}) {
      EXPECT_EQ(pooled_data(c, pool, false).together.refusal(Tiles::scalar),
                "a stride: each part of the image would make all rows");
      continue;
    }
    const Pooled data = pooled_data(c, pool, random.integer(0, 1) == 0);
    ASSERT_NO_FATAL_FAILURE(expect_the_bits_of_the_ops_apart(data, what));
  }
}

// Rows in several units, dy shared by ranges of columns, divided filters, several images in a unit, patches, groups.
const ConvolutionCase kPooledWays[] = {
    {{1, 99, 91, 3}, 64, {11, 11}, {2, 2, 2, 2}, {4, 4}, {1, 1}, 1, "patches"},
    {{2, 27, 27, 40}, 72, {3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 1, "units of some rows"},
    {{9, 7, 7, 40}, 72, {3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 1, "units of some images"},
    {{2, 5, 5, 320}, 512, {3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 1, "shared gradient"},
    {{3, 9, 9, 64}, 96, {3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 2, "groups"},
};
const PoolCase kPooledBy[] = {
    {{3, 3}, {2, 2}, {0, 0, 0, 0}}, {{2, 2}, {2, 2}, {0, 0, 0, 0}}, {{3, 3}, {2, 2}, {1, 1, 1, 1}}};

TEST(TilePooledGradient, EveryWayThroughTheKernelsHasThemAndTheTeamChangesNothing) {
  const FlushDenormals flush;
  for (const ConvolutionCase& c : kPooledWays) {
    for (const PoolCase& pool : kPooledBy) {
      const std::string what = c.to_string() + ", " + pool.to_string();
      const Pooled problem = pooled_weights(c, pool);
      ASSERT_NO_FATAL_FAILURE(expect_the_bits_of_the_ops_apart(problem, what));
      ASSERT_NO_FATAL_FAILURE(expect_the_same_bits_of_all_teams(problem.together, what));
      if (c.stride != Integers{1, 1}) continue;
      const Pooled data = pooled_data(c, pool, true);
      ASSERT_NO_FATAL_FAILURE(expect_the_bits_of_the_ops_apart(data, what));
      ASSERT_NO_FATAL_FAILURE(expect_the_same_bits_of_all_teams(data.together, what));
    }
  }
}

TEST(TilePooledGradient, AnIndexThatNamesNoPixelIsAnError) {
  for (const std::size_t at : {2, 1}) {
    TileProblem problem =
        (at == 2 ? pooled_weights(kPooledWays[2], kPooledBy[0]) : pooled_data(kPooledWays[2], kPooledBy[0], false))
            .together;
    Tensor& index = problem.problem.inputs[at];
    index.data<std::uint8_t>()[index.elements() / 2] = 9;
    const auto kernel = problem.kernel(machine_tiles().back());
    ASSERT_NE(kernel, nullptr);
    EXPECT_THROW(problem.run(*kernel), Error);
  }
}

}  // namespace
}  // namespace ridgeline
