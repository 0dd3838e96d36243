// Random convolutions with the pixel kernels, compared with the reference: windows over f32 and bf16 images, epilogues,
// every vector target, teams of several sizes, any contents of the scratch memory.
#include "convolution_support.h"
#include "made_kernel.h"
#include "ridgeline/device/cpu/speeds.h"
#include "tile_support.h"
#include "winograd_support.h"

namespace ridgeline {
namespace {

KernelEntry entry_of(std::size_t pass) {
  constexpr std::string_view kOps[] = {"conv2d", "conv2d_bwd_data", "conv2d_bwd_weights"};
  return cpu_entry(kOps[pass], "pixels");
}

// Multiples of 16 channels: around the width of a panel, the depth of a sum in registers, a group of filters.
std::int64_t random_channels(SampleRandom& random) {
  const std::int64_t most = random.integer(0, 5) == 0 ? 40 : random.integer(0, 2) == 0 ? 14 : 5;
  return 16 * random.integer(1, most);
}

ConvolutionCase random_pixels(SampleRandom& random) {
  ConvolutionCase c;
  c.name = "random";
  c.kernel = {1, 1};
  c.pad = {0, 0, 0, 0};
  // One pixel, less than a block, several parts of a gradient.
  const std::int64_t most = random.integer(0, 4) == 0 ? 40 : random.integer(0, 2) == 0 ? 16 : 7;
  const std::int64_t height = random.integer(1, most), width = random.integer(1, most);
  c.image = {random.integer(1, 3), height, width, random_channels(random)};
  c.filters = random_channels(random);
  if (random.integer(0, 1) == 0) c.stride = {random.integer(1, 3), random.integer(1, 3)};
  return c;
}

// A window of any size up to `most`, padding and stride over an image that may be smaller than it; dilation only
// without stride, or if `dilated`.
ConvolutionCase random_window(SampleRandom& random, std::int64_t most, bool dilated) {
  ConvolutionCase c;
  c.name = "random";
  c.kernel = {random.integer(1, most), random.integer(1, most)};
  c.stride = {random.integer(1, 3), random.integer(1, 3)};
  const bool plain = c.stride == std::vector<std::int64_t>{1, 1};
  if (plain || dilated) c.dilation = {random.integer(1, 2), random.integer(1, 2)};
  c.image = {random.integer(1, 3), random.integer(1, 24), random.integer(1, 24), random.integer(1, 40)};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t span = c.dilation[axis] * (c.kernel[axis] - 1) + 1;
    const std::int64_t needed = std::max<std::int64_t>(0, span - c.image[axis + 1]);
    for (int side = 0; side < 2; ++side) c.pad.push_back(random.integer(needed, std::max(needed, span - 1)));
  }
  c.filters = random.integer(1, 80);
  return c;
}

// The problem of a pass over f32 or bf16 images, in the notation of the tile kernels' tests.
TileProblem problem_of(std::size_t pass, const ConvolutionCase& c, bool narrow, bool bias = false, bool relu = false) {
  TileProblem p = kTilePasses[pass](c);
  if (pass == 0 && !bias) p.problem.inputs.pop_back();
  if (pass == 0 && relu) p.problem.attributes.set("activation", std::string("relu"));
  if (pass == 2 && !bias) {
    p.problem.attributes.set("bias", false);
    p.result_types.pop_back();
  }
  if (narrow) return p;
  std::uint64_t seed = 100;
  for (Tensor& t : p.problem.inputs) t = random_tensor(t.shape(), seed++);
  p.result_types.assign(pass == 2 && bias ? 2 : 1, DType::f32);
  return p;
}

template <class Ask>
auto ask(const Ask& asked, const TileProblem& p) {
  const Node node = p.problem.node();
  KernelRequest request{op_def(p.problem.op), node, {}, {}};
  for (const ValueType& type : p.problem.input_types()) request.inputs.push_back({type, {}, false});
  for (const ValueType& type : p.output_types()) request.outputs.push_back({type, {}, false});
  return asked(request);
}
KernelChoice choice_of(std::size_t pass, const TileProblem& p) { return ask(entry_of(pass).factory, p); }

TEST(Pixels, RandomShapesAgreeWithTheReference) {
  const std::int64_t shapes = shapes_to_try(40);
  SampleRandom random(philox_key(31, "pixels"), 0, 0);
  double largest[2][3] = {};
  for (std::int64_t shape = 0; shape < shapes; ++shape) {
    const bool narrow = random.integer(0, 1) == 0;
    const bool window = random.integer(0, 1) == 0;
    const bool bias = random.integer(0, 1) == 0, relu = random.integer(0, 1) == 0;
    ConvolutionCase c = window ? random_window(random, 3, false) : random_pixels(random);
    if (window && !narrow) {
      c.image = {c.image[0], c.image[1], c.image[2], 16 * random.integer(1, 12)};
      c.filters = 16 * random.integer(1, 12);
    }
    for (std::size_t pass = 0; pass < 3; ++pass) {
      const TileProblem problem = problem_of(pass, c, narrow, bias, relu);
      const Tensor expected = problem.reference()[0];
      std::optional<Tensor> first;
      for (const device::Isa isa : vector_isas()) {
        const ForcedIsa forced(isa);
        const ComputeScope team(static_cast<int>(random.integer(1, 4)));
        KernelChoice choice = choice_of(pass, problem);
        const auto* refusal = std::get_if<Refusal>(&choice);
        ASSERT_EQ(refusal, nullptr) << refusal->reason << ": " << c.to_string();
        Kernel& kernel = *std::get<std::unique_ptr<Kernel>>(choice);
        Poisoned poisoned(kernel);
        const Tensor got = problem.run(poisoned)[0];
        const TileError error = tile_error(got, expected);
        ASSERT_LE(error.worst, 1) << kernel.name << " of " << c.to_string();
        largest[narrow ? 1 : 0][pass] = std::max(largest[narrow ? 1 : 0][pass], error.rms);
        if (!first) first = got;
        ASSERT_TRUE(same_bits(got, *first)) << kernel.name << ": other bits, " << c.to_string();
      }
    }
  }
  for (const double rms : largest[0]) EXPECT_LT(rms, 1e-6);
  if (!shapes_are_asked_for()) return;
  for (const auto& of_type : largest)
    std::printf("%s: rms %.1e forward, %.1e to the image, %.1e to the weights\n",
                &of_type == &largest[0] ? "f32" : "bf16", of_type[0], of_type[1], of_type[2]);
}

// Dense layers on both sides of the fewest rows, beside the kernels for fewer rows, whose order of sums forward and to
// the data is the same.
TEST(Pixels, DenseLayersOfManyRowsAgreeWithTheReference) {
  const std::int64_t shapes = shapes_to_try(6);
  SampleRandom random(philox_key(33, "dense pixels"), 0, 0);
  for (std::int64_t shape = 0; shape < shapes; ++shape) {
    const std::int64_t rows = device::speeds::kLeastPixels + random.integer(0, 2) * random.integer(1, 300);
    const std::int64_t inputs = 16 * random.integer(1, 9), outputs = 16 * random.integer(1, 9);
    const bool relu = random.integer(0, 1) == 0, bias = random.integer(0, 1) == 0;
    const Tensor x = random_tensor({rows, inputs}, 1), w = random_tensor({outputs, inputs}, 2),
                 dy = random_tensor({rows, outputs}, 4);
    Problem forward{"dense", {x, w}, {{"activation", std::string(relu ? "relu" : "none")}}};
    if (bias) forward.inputs.push_back(random_tensor({outputs}, 3));
    const std::string name = Shape({rows, inputs, outputs}).to_string();
    const Problem problems[] = {
        forward, {"dense_bwd_data", {dy, w}, {}}, {"dense_bwd_weights", {x, dy}, {{"bias", bias}}}};
    for (const Problem& problem : problems) {
      const std::vector<Tensor> expected = problem.reference();
      ASSERT_NO_FATAL_FAILURE(
          expect_everywhere(problem, cpu_factory(problem.op, "pixels"), name, expected, expect_near_sums));
      if (problem.op == "dense_bwd_weights") continue;
      EXPECT_TRUE(same_bits(results_of(problem, cpu_factory(problem.op, "pixels"))[0],
                            results_of(problem, cpu_factory(problem.op, "rows"))[0]))
          << problem.op << " " << name;
    }
  }
  const std::int64_t few = device::speeds::kLeastPixels - 1;
  const Problem problem{"dense_bwd_data", {random_tensor({few, 16}, 1), random_tensor({16, 32}, 2)}, {}};
  const Node node = problem.node();
  const KernelChoice choice = cpu_factory(problem.op, "pixels")(problem.request(node));
  ASSERT_TRUE(std::holds_alternative<Refusal>(choice));
  EXPECT_EQ(std::get<Refusal>(choice).reason, "1535 rows: of dense layers this kernel takes 1536 and more");
}

TEST(Pixels, GradientsOfAnyWindowAgreeWithTheReference) {
  const std::int64_t shapes = shapes_to_try(40);
  SampleRandom random(philox_key(32, "windows"), 0, 0);
  for (std::int64_t shape = 0; shape < shapes; ++shape) {
    const ConvolutionCase c = random_window(random, 7, true);
    TileProblem problem = tile_backward_weights(c);
    std::uint64_t seed = 200;
    for (Tensor& t : problem.problem.inputs) t = random_tensor(t.shape(), seed++);
    problem.result_types = {DType::f32, DType::f32};
    const std::vector<Tensor> expected = problem.reference();
    std::vector<Tensor> first;
    for (const device::Isa isa : vector_isas()) {
      const ForcedIsa forced(isa);
      const ComputeScope team(static_cast<int>(random.integer(1, 4)));
      KernelChoice choice = choice_of(2, problem);
      const auto* refusal = std::get_if<Refusal>(&choice);
      ASSERT_EQ(refusal, nullptr) << refusal->reason << ": " << c.to_string();
      Poisoned poisoned(*std::get<std::unique_ptr<Kernel>>(choice));
      const std::vector<Tensor> got = problem.run(poisoned);
      ASSERT_EQ(got.size(), 2u);
      for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_LE(tile_error(got[i], expected[i]).worst, 1) << "result " << i << " of " << c.to_string();
        if (first.empty()) continue;
        ASSERT_TRUE(same_bits(got[i], first[i])) << "other bits, " << c.to_string();
      }
      if (first.empty()) first = got;
    }
  }
}

TEST(Pixels, WhatTheyDoNotTakeIsRefusedByItsReason) {
  const auto reason = [](const ConvolutionCase& c, std::size_t pass = 0, bool narrow = false) {
    KernelChoice choice = choice_of(pass, problem_of(pass, c, narrow));
    const auto* refusal = std::get_if<Refusal>(&choice);
    return refusal == nullptr ? std::string() : refusal->reason;
  };
  const ConvolutionCase plain{{1, 4, 4, 16}, 32, {1, 1}, {0, 0, 0, 0}};
  EXPECT_EQ(reason(plain), "");
  for (const auto& change : std::initializer_list<void (*)(ConvolutionCase&)>{
           [](ConvolutionCase& c) { c.pad = {0, 1, 0, 0}; }, [](ConvolutionCase& c) { c.kernel = {1, 2}; }}) {
    ConvolutionCase c = plain;
    change(c);
    for (const std::size_t pass : {0, 1, 2}) {
      EXPECT_EQ(reason(c, pass), "") << c.to_string();
      EXPECT_EQ(reason(c, pass, true), "") << c.to_string();
    }
  }
  ConvolutionCase grouped = plain;
  grouped.groups = 2;
  for (const std::size_t pass : {0, 1, 2}) EXPECT_EQ(reason(grouped, pass), "several groups");
  ConvolutionCase both = plain;
  both.image = {1, 9, 9, 16}, both.kernel = {2, 2}, both.stride = {2, 2}, both.dilation = {2, 2};
  EXPECT_EQ(reason(both, 1), "strides and dilation: this kernel takes one of them");
  ConvolutionCase odd = plain;
  odd.filters = 24;
  EXPECT_NE(reason(odd).find("16 channels and 24 filters"), std::string::npos);
  EXPECT_EQ(reason(odd, 0, true), "");
  TileProblem added = problem_of(0, plain, true, true);
  added.problem.inputs.push_back(random_bf16(plain.result(), 5));
  KernelChoice choice = choice_of(0, added);
  ASSERT_TRUE(std::holds_alternative<Refusal>(choice));
  EXPECT_EQ(std::get<Refusal>(choice).reason, "an addend");
}

TEST(Pixels, AreFastestAt1x1AndStridesOfManyPixelsAndChannels) {
  const auto share = [](const ConvolutionCase& c, std::size_t pass) {
    return ask(entry_of(pass).share, problem_of(pass, c, false));
  };
  const ConvolutionCase single{{2, 28, 28, 64}, 64, {1, 1}, {0, 0, 0, 0}};
  ConvolutionCase strided = single;
  strided.image = {2, 56, 56, 64}, strided.kernel = {3, 3}, strided.stride = {2, 2}, strided.pad = {1, 1, 1, 1};
  ConvolutionCase few_pixels = single, few_filters = single, few_columns = single, plain = single;
  few_pixels.image = {1, 28, 28, 64};
  few_filters.filters = 48;
  few_columns.image = {2, 28, 28, 48};
  plain.kernel = {3, 3}, plain.pad = {1, 1, 1, 1};
  for (std::size_t pass = 0; pass < 3; ++pass) {
    SCOPED_TRACE(pass);
    EXPECT_EQ(share(single, pass), 1);
    EXPECT_EQ(share(strided, pass), 1);
    EXPECT_LT(share(few_pixels, pass), 1);
    EXPECT_LT(share(few_filters, pass), 1);
    EXPECT_LT(share(few_columns, pass), 1);
    EXPECT_LT(share(plain, pass), 1);
  }
}

}  // namespace
}  // namespace ridgeline
