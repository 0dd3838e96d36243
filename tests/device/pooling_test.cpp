// Pools: every kernel against the reference, with ties, NaN and infinity, and invalid indices.
#include <array>
#include <limits>

#include "kernel_testing.h"

namespace ridgeline {
namespace {

using Integers = std::vector<std::int64_t>;

struct Pooling {
  Shape image;
  Integers kernel, stride, pad;

  Attributes attributes() const { return {{"kernel", kernel}, {"stride", stride}, {"pad", pad}}; }
  Problem max() const { return {"max_pool", {random_tensor(image, 1)}, attributes()}; }
};

const std::vector<Pooling> kPoolings = {
    {{2, 9, 9, 16}, {3, 3}, {2, 2}, {0, 0, 0, 0}},   {{1, 8, 7, 5}, {2, 2}, {2, 2}, {0, 0, 0, 0}},
    {{2, 11, 12, 33}, {3, 3}, {2, 2}, {1, 1, 1, 1}}, {{3, 6, 6, 64}, {3, 2}, {1, 2}, {1, 0, 0, 1}},
    {{1, 13, 13, 40}, {3, 3}, {3, 3}, {0, 2, 0, 2}}, {{2, 5, 5, 1}, {5, 5}, {1, 1}, {2, 2, 2, 2}},
};

TEST(Pooling, EveryMaximumKernelAgreesWithTheReferenceIndexIncluded) {
  std::set<std::string> accepted;
  for (const Pooling& pool : kPoolings) expect_kernels_agree(pool.max(), 0, accepted);
  EXPECT_EQ(accepted.size(), 1u) << "own: the library's loses NaN";
}

TEST(Pooling, TiesGoToTheFirstPositionInEveryKernel) {
  std::set<std::string> accepted;
  for (const Pooling& pool : kPoolings) {
    Problem problem = pool.max();
    for (std::int64_t i = 0; i < problem.inputs[0].elements(); ++i)
      problem.inputs[0].set(i, std::floor(2 * problem.inputs[0].at(i)));
    expect_kernels_agree(problem, 0, accepted);
    problem.inputs[0] = Tensor::zeros(DType::f32, pool.image);
    expect_kernels_agree(problem, 0, accepted);
  }
  EXPECT_EQ(accepted.size(), 1u);
}

TEST(Pooling, ANotANumberAndInfinitiesGoThroughTheOwnMaximumKernel) {
  const auto through = [](const Pooling& pool, DType dtype) {
    Problem problem = pool.max();
    problem.inputs[0] = as_type(problem.inputs[0], dtype);
    const std::int64_t elements = problem.inputs[0].elements();
    for (std::int64_t i = 0; i < elements; i += 7) problem.inputs[0].set(i, std::numeric_limits<double>::quiet_NaN());
    for (std::int64_t i = 3; i < elements; i += 2) problem.inputs[0].set(i, -std::numeric_limits<double>::infinity());
    const Node node = problem.node();
    KernelChoice choice = cpu_kernels("max_pool", Provider::own).front().make(problem.request(node));
    const auto got = run_kernel(*std::get<std::unique_ptr<Kernel>>(choice), problem);
    const auto expected = problem.reference();
    EXPECT_EQ(difference(got[0], expected[0]), 0);
    EXPECT_TRUE(same_bits(got[1], expected[1]));
  };
  for (const Pooling& pool : kPoolings) {
    for (const DType dtype : {DType::f32, DType::bf16}) through(pool, dtype);
  }
}

// Results of relu, which bf16 kernels compare by their bits, with ties; and sometimes other values: NaN of either sign,
// -0, a negative number.
TEST(Pooling, ValuesWithoutASignAndTheFewBesideThemGoThroughTheOwnMaximumKernel) {
  constexpr std::array<std::uint16_t, 4> kOthers = {0x7fc1, 0xffc0, 0x8000, 0xbf80};
  std::vector<Pooling> poolings = kPoolings;
  poolings.push_back({{2, 12, 12, 96}, {2, 2}, {2, 2}, {0, 0, 0, 0}});
  poolings.push_back({{1, 9, 40, 65}, {3, 3}, {1, 1}, {0, 0, 0, 0}});
  for (const Pooling& pool : poolings) {
    for (const std::int64_t every : {1'000'000, 301, 37}) {
      Problem problem = pool.max();
      Tensor x = as_type(problem.inputs[0], DType::bf16);
      for (std::int64_t i = 0; i < x.elements(); ++i) {
        x.set(i, std::max(0.0, std::floor(4 * x.at(i)) / 4));
        if (i % every == every - 1) x.data<bfloat16>()[i].bits = kOthers[static_cast<std::size_t>(i / every % 4)];
      }
      problem.inputs[0] = x;
      const Node node = problem.node();
      KernelChoice choice = cpu_kernels("max_pool", Provider::own).front().make(problem.request(node));
      const auto got = run_kernel(*std::get<std::unique_ptr<Kernel>>(choice), problem);
      const auto expected = problem.reference();
      EXPECT_EQ(difference(got[0], expected[0]), 0) << every;
      EXPECT_TRUE(same_bits(got[1], expected[1])) << every;
    }
  }
}

// Zeros of both signs are equal, so the first of them wins; subnormal numbers count as numbers.
TEST(Pooling, ZerosOfEitherSignAndSubnormalNumbersAreOrderedAsTheyAre) {
  constexpr std::array<double, 5> kSmall = {0.0, -0.0, 0x1p-130, -0x1p-130, 0x1p-129};
  for (const Pooling& pool : kPoolings) {
    Problem problem = pool.max();
    problem.inputs[0] = as_type(problem.inputs[0], DType::bf16);
    for (std::int64_t i = 0; i < problem.inputs[0].elements(); ++i)
      problem.inputs[0].set(i, kSmall[static_cast<std::size_t>(i * i % 11 % 5)]);
    const Node node = problem.node();
    KernelChoice choice = cpu_kernels("max_pool", Provider::own).front().make(problem.request(node));
    const auto got = run_kernel(*std::get<std::unique_ptr<Kernel>>(choice), problem);
    const auto expected = problem.reference();
    EXPECT_TRUE(same_bits(got[0], expected[0]));
    EXPECT_TRUE(same_bits(got[1], expected[1]));
  }
}

TEST(Pooling, EveryBackwardKernelAgreesWithTheReference) {
  std::set<std::string> accepted;
  for (const Pooling& pool : kPoolings) {
    const Tensor index = pool.max().reference()[1];
    Problem problem{"max_pool_bwd", {random_tensor(index.shape(), 2), index}, pool.attributes()};
    problem.attributes.set("input", pool.image.dims());
    expect_kernels_agree(problem, 1e-6, accepted);
  }
  EXPECT_EQ(accepted.size(), has_library() ? 2u : 1u);
}

// Outside the window, and in the padding of the first and last windows, as in the reference.
TEST(Pooling, AnIndexThatNamesNoPixelIsAnErrorOfEveryBackwardKernel) {
  const Pooling pool{{2, 6, 6, 70}, {3, 3}, {2, 2}, {1, 1, 1, 1}};
  const Tensor right = pool.max().reference()[1];
  for (const DType dtype : {DType::f32, DType::bf16}) {
    Problem problem{"max_pool_bwd", {as_type(random_tensor(right.shape(), 2), dtype), right}, pool.attributes()};
    problem.attributes.set("input", pool.image.dims());
    const Node node = problem.node();
    const std::int64_t inner = (1 * 3 + 1) * 70 + 66, first = 5, last = right.elements() - 1;
    for (const auto& [element, index] :
         {std::pair<std::int64_t, int>{inner, 9}, {inner, 255}, {first, 0}, {first, 3}, {last, 12}}) {
      Tensor wrong = right.clone();
      wrong.set(element, index);
      problem.inputs[1] = wrong;
      const std::string expected = "[max_pool_bwd] index " + std::to_string(index) + " of element " +
                                   std::to_string(element) + " names no pixel of the image in its window";
      for (const KernelEntry& entry : cpu_kernels("max_pool_bwd")) {
        KernelChoice choice = entry.make(problem.request(node));
        if (std::holds_alternative<Refusal>(choice)) continue;
        try {
          run_kernel(*std::get<std::unique_ptr<Kernel>>(choice), problem);
          ADD_FAILURE() << entry.name << " takes index " << index << " of element " << element;
        } catch (const Error& error) {
          EXPECT_EQ(std::string(error.what()).find(expected), 0u) << entry.name << ": " << error.what();
        }
      }
    }
  }
}

// The library's kernel adds gradients in bf16: up to three roundings, while ours has one.
TEST(Pooling, GradientsInBf16AreAddedInF32AndRoundedOnce) {
  for (const Pooling& pool : kPoolings) {
    const Tensor index = pool.max().reference()[1];
    Problem problem{"max_pool_bwd", {as_type(random_tensor(index.shape(), 2), DType::bf16), index}, pool.attributes()};
    problem.attributes.set("input", pool.image.dims());
    const Node node = problem.node();
    const KernelEntry first = cpu_kernels("max_pool_bwd").front();
    EXPECT_EQ(first.name, "own");
    KernelChoice choice = first.make(problem.request(node));
    const auto got = run_kernel(*std::get<std::unique_ptr<Kernel>>(choice), problem);
    EXPECT_LE(difference(got[0], problem.reference()[0]), 0x1p-8);
  }
}

TEST(Pooling, EveryAverageKernelAgreesWithTheReference) {
  std::set<std::string> accepted;
  for (const Pooling& pool : kPoolings) {
    for (const bool count_pad : {true, false}) {
      Problem problem{"avg_pool", {random_tensor(pool.image, 1)}, pool.attributes()};
      problem.attributes.set("count_include_pad", count_pad);
      expect_kernels_agree(problem, 1e-6, accepted);
      Problem backward{"avg_pool_bwd", {random_tensor(problem.output_types()[0].shape, 2)}, problem.attributes};
      backward.attributes.set("input", pool.image.dims());
      expect_kernels_agree(backward, 1e-6, accepted);
    }
  }
  EXPECT_EQ(accepted.size(), has_library() ? 4u : 2u);
}

// Results that are written past the caches, with rows that are whole cache lines and others.
TEST(Pooling, LargeGradientsAgreeWithTheReference) {
  for (const std::int64_t channels : {128, 100}) {
    const Pooling pool{{4, 66, 87, channels}, {3, 3}, {2, 2}, {0, 0, 0, 0}};
    const Tensor index = pool.max().reference()[1];
    for (const DType dtype : {DType::f32, DType::bf16}) {
      Problem problem{"max_pool_bwd", {as_type(random_tensor(index.shape(), 2), dtype), index}, pool.attributes()};
      problem.attributes.set("input", pool.image.dims());
      const Node node = problem.node();
      ASSERT_GE(problem.request(node).outputs[0].type.bytes(), std::size_t{4} << 20);
      KernelChoice choice = cpu_kernels("max_pool_bwd").front().make(problem.request(node));
      const auto got = run_kernel(*std::get<std::unique_ptr<Kernel>>(choice), problem);
      EXPECT_LE(difference(got[0], problem.reference()[0]), dtype == DType::f32 ? 1e-6 : 0x1p-8);
    }
  }
}

}  // namespace
}  // namespace ridgeline
