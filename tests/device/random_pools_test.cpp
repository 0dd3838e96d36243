// Pools of random shapes with every kernel, in f32 and bf16.
#include "every_entry.h"

namespace ridgeline {
namespace {

struct RandomPool {
  Shape image;
  std::vector<std::int64_t> kernel, stride, pad;
  bool narrow = false;

  Attributes attributes() const { return {{"kernel", kernel}, {"stride", stride}, {"pad", pad}}; }
  std::string to_string() const {
    return image.to_string() + (narrow ? " bf16" : " f32") + ", kernel " + Shape(kernel).to_string() + ", stride " +
           Shape(stride).to_string() + ", pad " + Shape(pad).to_string();
  }
  Tensor typed(const Tensor& t) const { return narrow ? as_type(t, DType::bf16) : t; }
};

// Windows that overlap, skip pixels, reach beyond the image or contain all of it.
RandomPool draw_random_pool(SampleRandom& random) {
  const auto draw = [&](std::int64_t low, std::int64_t high) { return random.integer(low, high); };
  RandomPool pool;
  const std::int64_t batch = draw(1, 3), channels = draw(1, draw(0, 2) == 0 ? 140 : 40);
  std::vector<std::int64_t> sides;
  const bool square = draw(0, 1) == 0, padded = draw(0, 1) == 0;
  const std::int64_t side = draw(2, 3);
  for (int axis = 0; axis < 2; ++axis) {
    const std::int64_t most = draw(0, 9) == 0 ? 15 : 5;
    pool.kernel.push_back(square ? side : draw(1, most));
    pool.stride.push_back(draw(1, draw(0, 1) == 0 ? 2 : 5));
    std::int64_t pads = 0;
    for (int end = 0; end < 2; ++end) {
      pool.pad.push_back(padded ? draw(0, pool.kernel.back() - 1) : 0);
      pads += pool.pad.back();
    }
    const std::int64_t least = std::max<std::int64_t>(1, pool.kernel.back() - pads);
    sides.push_back(draw(0, 7) == 0 ? least : least + draw(0, draw(0, 3) == 0 ? 28 : 9));
  }
  pool.image = {batch, sides[0], sides[1], channels};
  pool.narrow = draw(0, 1) == 0;
  return pool;
}

// Random values, with ties, or like results of relu.
Tensor random_pixels(const RandomPool& pool, SampleRandom& random) {
  Tensor x = random_tensor(pool.image, static_cast<std::uint64_t>(random.integer(0, 1'000'000)));
  const std::int64_t kind = random.integer(0, 2);
  if (kind > 0) {
    for (std::int64_t i = 0; i < x.elements(); ++i)
      x.set(i, kind == 1 ? std::floor(3 * x.at(i)) : std::max(0.0, x.at(i)));
  }
  return pool.typed(x);
}

// The number of windows that may add to one pixel: the library rounds each such bf16 sum to bf16.
double most_windows(const RandomPool& pool) {
  double windows = 1;
  for (std::size_t axis = 0; axis < 2; ++axis)
    windows *= static_cast<double>((pool.kernel[axis] + pool.stride[axis] - 1) / pool.stride[axis]);
  return windows;
}

TEST(RandomPools, EveryKernelAgreesWithTheReference) {
  const std::int64_t shapes = shapes_to_try(20);
  SampleRandom random(philox_key(41, "random pools"), 0, 0);
  std::map<std::string, int> taken;
  for (std::int64_t shape = 0; shape < shapes; ++shape) {
    const RandomPool pool = draw_random_pool(random);
    const std::string name = pool.to_string();
    const Problem maximum{"max_pool", {random_pixels(pool, random)}, pool.attributes()};
    ASSERT_NO_FATAL_FAILURE(expect_every_entry_agrees(maximum, {}, {}, {}, random, name, taken));

    const Tensor index = maximum.reference()[1];
    const Tensor dy = pool.typed(random_tensor(index.shape(), 2));
    const double windows = most_windows(pool);
    const Allowance sum{1e-6, 1}, rounded_sums{0x1p-8 * windows, 1};
    Problem backward{"max_pool_bwd", {dy, index}, pool.attributes()};
    backward.attributes.set("input", pool.image.dims());
    ASSERT_NO_FATAL_FAILURE(expect_every_entry_agrees(backward, sum, rounded_sums, {}, random, name, taken));

    Problem average{"avg_pool", maximum.inputs, pool.attributes()};
    average.attributes.set("count_include_pad", random.integer(0, 1) == 0);
    ASSERT_NO_FATAL_FAILURE(expect_every_entry_agrees(average, sum, {0x1p-8, 2}, {}, random, name, taken));

    Problem spread{"avg_pool_bwd", {dy}, average.attributes};
    spread.attributes.set("input", pool.image.dims());
    ASSERT_NO_FATAL_FAILURE(expect_every_entry_agrees(spread, sum, rounded_sums, {}, random, name, taken));
  }
  EXPECT_TRUE(taken.contains("max_pool/own, f32") && taken.contains("max_pool/own, bf16"));
  expect_taken(taken, {"max_pool_bwd", "avg_pool", "avg_pool_bwd"});
}

}  // namespace
}  // namespace ridgeline
