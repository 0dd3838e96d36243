// Properties of the Winograd kernels besides accuracy: refusals with a reason, bits that do not depend on the team
// size, and NaN.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ridgeline/device/cpu/cpu_device.h"
#include "ridgeline/device/cpu/winograd/cut.h"
#include "winograd_support.h"

namespace ridgeline {
namespace {

using Integers = std::vector<std::int64_t>;
using device::winograd::Wish;

std::string reason_of(const KernelChoice& choice) {
  const auto* refusal = std::get_if<Refusal>(&choice);
  return refusal == nullptr ? "" : refusal->reason;
}

std::string refusal_of(const Shape& image, const Shape& weights, const Attributes& attributes,
                       const Wish& wish = {0, false}) {
  const Problem problem{
      "conv2d", {Tensor::view(nullptr, DType::f32, image), Tensor::view(nullptr, DType::f32, weights)}, attributes};
  const Node node = problem.node();
  return reason_of(device::winograd::make_forward(problem.request(node), wish));
}

TEST(Winograd, ConvolutionsOfOtherKindsAreRefusedWithTheReason) {
  const Shape image{2, 16, 16, 32};
  EXPECT_EQ(refusal_of(image, {64, 3, 3, 32}, {}), "");
  EXPECT_EQ(refusal_of(image, {64, 3, 3, 16}, {{"groups", std::int64_t{2}}}), "2 groups: Winograd kernels take one");
  EXPECT_EQ(refusal_of(image, {64, 3, 3, 32}, {{"stride", Integers{2, 1}}}),
            "stride 2x1: this Winograd kernel takes 1x1");
  EXPECT_EQ(refusal_of(image, {64, 3, 3, 32}, {{"dilation", Integers{1, 2}}}),
            "dilation 1x2: Winograd kernels take 1x1");
  EXPECT_EQ(refusal_of(image, {64, 1, 1, 32}, {}),
            "a 1x1 kernel of stride 1: Winograd kernels take 3x3 and 5x5 strides");
  EXPECT_EQ(refusal_of(image, {64, 3, 5, 32}, {}),
            "a 3x5 kernel of stride 1: Winograd kernels take 3x3 and 5x5 strides");
  EXPECT_EQ(refusal_of(image, {64, 3, 3, 32}, {{"stride", Integers{2, 2}}}),
            "a 3x3 kernel of stride 2: Winograd kernels take 3x3 and 5x5 strides");
  const WinogradCase strided{{1, 16, 16, 3}, 16, 6, {0, 0, 0, 0}, "strided", 2};
  const Problem data = winograd_backward_data(strided);
  const Node node = data.node();
  EXPECT_EQ(reason_of(device::winograd::make_backward_data(data.request(node), {0, false})),
            "stride 2x2: this Winograd kernel takes 1x1");
  EXPECT_EQ(refusal_of(image, {64, 3, 3, 32}, {}, {7, false}), "no Winograd rule with tiles of 7");
  EXPECT_EQ(refusal_of(image, {64, 3, 3, 32}, {}, {6, false, 5}), "no Winograd rule with tiles of 6 and 5");
  EXPECT_EQ(refusal_of({2, 9, 10, 3}, {64, 10, 10, 3}, {{"stride", Integers{4, 4}}, {"pad", Integers{2, 2, 2, 2}}}),
            "an image of 9x10 is no larger than the 10x10 kernel: what its padding leaves would be lost among rounding "
            "errors");
  EXPECT_EQ(refusal_of({2, 2, 9, 32}, {64, 3, 3, 32}, {{"pad", Integers{1, 1, 1, 1}}}),
            "an image of 2x9 is smaller than the 3x3 kernel: what its padding leaves would be lost among rounding "
            "errors");
}

// Sums are those of f32 values: a result is one rounding away from them, and a gradient of weights equally exact.
TEST(Winograd, Bf16ImagesGiveWhatF32OnesOfTheSameValuesGiveRoundedOnce) {
  const WinogradCase cases[] = {{{2, 19, 17, 40}, 72, 3, {1, 1, 1, 1}, "3x3"},
                                {{1, 14, 11, 21}, 37, 5, {2, 2, 2, 2}, "5x5"},
                                {{2, 31, 31, 3}, 64, 11, {2, 2, 2, 2}, "strided", 4}};
  for (const WinogradCase& c : cases) {
    for (int pass = 0; pass < 3; ++pass) {
      if (pass == 1 && c.stride > 1) continue;  // refused
      for (const bool ending : {false, true}) {
        if (ending && pass != 0) continue;
        Problem narrow = kWinogradPasses[pass].problem(c);
        if (ending) {
          narrow.inputs.push_back(random_tensor(c.result(), 5));
          narrow.attributes.set("activation", std::string("relu"));
        }
        if (pass == 2) narrow.attributes.set("f32_results", true);
        for (std::size_t i = 0; i < narrow.inputs.size(); ++i) {
          if (i != 2) narrow.inputs[i] = as_type(narrow.inputs[i], DType::bf16);  // the bias stays
        }
        Problem wide = narrow;
        for (Tensor& t : wide.inputs) t = as_type(t, DType::f32);
        for (const device::Isa isa : vector_isas()) {
          const ForcedIsa forced(isa);
          const auto of_narrow = make_winograd(kWinogradPasses[pass], narrow, {0, false});
          const auto of_wide = make_winograd(kWinogradPasses[pass], wide, {0, false});
          ASSERT_TRUE(of_narrow && of_wide);
          const std::vector<Tensor> got = run_kernel(*of_narrow, narrow);
          const std::vector<Tensor> expected = run_kernel(*of_wide, wide);
          for (std::size_t i = 0; i < got.size(); ++i) {
            EXPECT_TRUE(same_bits(got[i], as_type(expected[i], got[i].dtype()))) << of_narrow->name << " of " << c.name;
          }
        }
      }
    }
  }
}

TEST(Winograd, Bf16OperandsOfOtherTypesAreRefusedWithTheReason) {
  const WinogradCase c{{2, 16, 16, 32}, 64, 3, {1, 1, 1, 1}, "types"};
  const auto refusal = [&](int pass, bool f32_results, bool bf16_bias) {
    Problem problem = kWinogradPasses[pass].problem(c);
    for (std::size_t i = 0; i < problem.inputs.size(); ++i) {
      if (i != 2 || bf16_bias) problem.inputs[i] = as_type(problem.inputs[i], DType::bf16);
    }
    problem.attributes.set("f32_results", f32_results);
    const Node node = problem.node();
    return reason_of(kWinogradPasses[pass].make(problem.request(node), {0, false}));
  };
  EXPECT_EQ(refusal(0, false, false), "");
  EXPECT_EQ(refusal(0, false, true), "bf16 bias: Winograd kernels add one of f32");
  EXPECT_EQ(refusal(0, true, false), "f32 results of bf16 operands: Winograd kernels give the type that they read");
  EXPECT_EQ(refusal(1, true, false), "f32 results of bf16 operands: Winograd kernels give the type that they read");
  EXPECT_EQ(refusal(2, false, false), "bf16 gradients of weights: Winograd kernels give f32");
  EXPECT_EQ(refusal(2, true, false), "");
}

// F(4x4,3x3): 36 multiplications for 16 results of 9 taps each; tiles that reach over the edge count fully.
TEST(Winograd, KernelsTellHowManyMultiplicationsTheySave) {
  const auto share = [](const Shape& image, const Wish& wish = {4, false}) {
    const Problem problem{"conv2d",
                          {Tensor::view(nullptr, DType::f32, image), Tensor::view(nullptr, DType::f32, {8, 3, 3, 16})},
                          {{"pad", Integers{1, 1, 1, 1}}}};
    const Node node = problem.node();
    KernelChoice choice = device::winograd::make_forward(problem.request(node), wish);
    return std::get<std::unique_ptr<Kernel>>(choice)->flops_share;
  };
  EXPECT_DOUBLE_EQ(share({2, 16, 12, 16}), 0.25);
  EXPECT_DOUBLE_EQ(share({1, 13, 4, 16}), 0.25 * 16 / 13);
  // A side of 13 in tiles of 5, 4 and 4, which read 7 + 6 + 6 pixels; one of 12 in three of 4, one of 10 in two of 5.
  EXPECT_DOUBLE_EQ(share({2, 13, 13, 16}, {5, false, 4}), 19.0 * 19 / (13 * 13 * 9));
  EXPECT_DOUBLE_EQ(share({2, 12, 13, 16}, {5, false, 4}), 18.0 * 19 / (12 * 13 * 9));
  EXPECT_DOUBLE_EQ(share({2, 10, 28, 16}, {6, false, 4}), 14.0 * 38 / (10 * 28 * 9));
}

TEST(Winograd, TilesOfTwoSizesCoverEachResultOnce) {
  const device::winograd::Sizes pairs[] = {{5, 4, 3}, {6, 4, 3}, {5, 5, 3}};
  for (const auto& sizes : pairs) {
    for (std::int64_t height = 1; height <= 30; ++height) {
      const std::int64_t width = 41 - height;
      const device::winograd::Correlation shape{{2, height, width, 1}, {2, height, width, 1}, 3, 1, 1};
      std::vector<int> seen(static_cast<std::size_t>(2 * height * width));
      int outside = 0;
      for (const device::winograd::Region& region : cut(shape, sizes)) {
        const device::winograd::Tiles tiles(shape, region);
        for (std::int64_t t = 0; t < tiles.total(); ++t) {
          int* pixels[device::winograd::kMostPixels];
          tiles.outputs(t, seen.data(), &outside, pixels);
          for (int i = 0; i < region.rule.m * region.rule.n; ++i) ++*pixels[i];
        }
      }
      EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), std::ssize(seen)) << height << "x" << width;
    }
  }
}

TEST(Winograd, DoublePrecisionIsRefusedWithTheReason) {
  const Problem problem{
      "conv2d", {Tensor::zeros(DType::f64, {1, 8, 8, 16}), Tensor::zeros(DType::f64, {16, 3, 3, 16})}, {}};
  const Node node = problem.node();
  int entries = 0;
  for (const KernelEntry& entry : CpuDevice().kernels("conv2d")) {
    if (!entry.name.starts_with("winograd")) continue;
    ++entries;
    EXPECT_EQ(reason_of(entry.make(problem.request(node))), "f64 operand: this kernel takes f32, bf16");
  }
  EXPECT_EQ(entries, 1);
}

TEST(Winograd, TheBitsDoNotDependOnTheTeamWhereThatIsPromised) {
  // The second one's gradient of weights is summed in parts.
  const WinogradCase together{{3, 19, 17, 40}, 72, 3, {1, 1, 1, 1}, "team"};
  const WinogradCase parts{{4, 60, 61, 16}, 24, 3, {1, 1, 1, 1}, "team"};
  for (int i = 0; i < 9; ++i) {
    const WinogradPass& pass = kWinogradPasses[i % 3];
    Problem problem = pass.problem(i / 3 == 1 ? parts : together);
    problem.bits = Reproducibility::deterministic;
    const Wish wish = i / 3 == 2 ? Wish{6, false, 4} : Wish{0, false};
    std::vector<Tensor> first;
    for (const int threads : {1, 2, 3, 8}) {
      const ComputeScope team(threads);
      const auto kernel = make_winograd(pass, problem, wish);
      ASSERT_NE(kernel, nullptr);
      std::vector<Tensor> got = run_kernel(*kernel, problem);
      for (std::size_t i = 0; i < first.size(); ++i) {
        EXPECT_TRUE(same_bits(got[i], first[i])) << kernel->name << " result " << i << " with " << threads;
      }
      if (first.empty()) first = std::move(got);
    }
  }
}

TEST(Winograd, ANanReachesTheTilesThatReadItAndNoOtherImage) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const WinogradCase c{{2, 20, 20, 16}, 16, 3, {1, 1, 1, 1}, "nan"};
  for (const std::string activation : {"none", "relu"}) {
    Problem problem = winograd_forward(c);
    problem.attributes.set("activation", activation);
    problem.inputs[0].data<float>()[(7 * 20 + 9) * 16 + 3] = nan;  // image 0, pixel (7, 9)
    const auto kernel = make_winograd(kWinogradPasses[0], problem, {4, false});
    ASSERT_NE(kernel, nullptr);
    const Tensor got = run_kernel(*kernel, problem)[0];
    const Tensor expected = problem.reference()[0];
    for (std::int64_t i = 0; i < got.elements(); ++i) {
      const std::int64_t column = i / 16 % 20, row = i / 16 / 20 % 20, image = i / 16 / 20 / 20;
      // Wherever the direct convolution has one; elsewhere only in the tiles of 4 x 4 whose 6 x 6 pixels contain it.
      if (std::isnan(expected.at(i))) {
        EXPECT_TRUE(std::isnan(got.at(i))) << kernel->name << " " << i;
      }
      const bool in_reach = image == 0 && row >= 4 && row < 12 && column >= 8 && column < 12;
      if (!in_reach) {
        EXPECT_FALSE(std::isnan(got.at(i))) << kernel->name << " " << row << " " << column;
      }
    }
  }
}

TEST(Winograd, APoisonedScratchMemoryChangesNothing) {
  // Numbers of channels that are not a multiple of a vector: scratch memory after them is never read into a result.
  const WinogradCase c{{1, 9, 9, 21}, 37, 3, {1, 1, 1, 1}, "scratch"};
  for (int i = 0; i < 6; ++i) {
    const WinogradPass& pass = kWinogradPasses[i % 3];
    const Problem problem = pass.problem(c);
    const auto kernel = make_winograd(pass, problem, i < 3 ? Wish{0, false} : Wish{5, false, 4});
    ASSERT_NE(kernel, nullptr);
    const std::vector<Tensor> expected = run_kernel(*kernel, problem);
    std::vector<Tensor> outputs;
    std::vector<void*> in, out;
    for (const Tensor& t : problem.inputs) in.push_back(const_cast<void*>(t.raw()));
    for (const ValueType& type : problem.output_types()) {
      outputs.push_back(Tensor::zeros(type.dtype, type.shape));
      out.push_back(outputs.back().raw());
    }
    const GuardedBuffer scratch(kernel->scratch_bytes);
    auto* floats = static_cast<float*>(const_cast<GuardedBuffer&>(scratch).data());
    std::fill_n(floats, kernel->scratch_bytes / sizeof(float), std::numeric_limits<float>::quiet_NaN());
    kernel->run({in.data(), out.data(), floats});
    for (std::size_t i = 0; i < outputs.size(); ++i) EXPECT_TRUE(same_bits(outputs[i], expected[i])) << kernel->name;
    EXPECT_TRUE(scratch.intact()) << kernel->name;
  }
}

}  // namespace
}  // namespace ridgeline
