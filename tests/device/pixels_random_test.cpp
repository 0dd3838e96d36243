// 1x1 convolutions by pixels, of random shapes, against the reference: f32 and bf16 images, every vector target, teams
// of several sizes, whatever the scratch memory held. RIDGELINE_PIXELS_SHAPES sets the number of shapes.
#include "amx_support.h"
#include "ridgeline/device/cpu/direct/kernels.h"
#include "winograd_support.h"

namespace ridgeline {
namespace {

using Make = KernelChoice (*)(const KernelRequest&);
constexpr Make kMakes[] = {device::make_pixels_conv2d, device::make_pixels_conv2d_bwd_data,
                           device::make_pixels_conv2d_bwd_weights};

// Of multiples of 16 channels: around the width of a panel, the depth of a sum in registers, a group of filters.
std::int64_t random_channels(SampleRandom& random) {
  const std::int64_t most = random.integer(0, 5) == 0 ? 40 : random.integer(0, 2) == 0 ? 14 : 5;
  return 16 * random.integer(1, most);
}

ConvolutionCase random_pixels(SampleRandom& random) {
  ConvolutionCase c;
  c.name = "random";
  c.kernel = {1, 1};
  c.pad = {0, 0, 0, 0};
  // One pixel, fewer than a block, several parts of a gradient.
  const std::int64_t most = random.integer(0, 4) == 0 ? 40 : random.integer(0, 2) == 0 ? 16 : 7;
  const std::int64_t height = random.integer(1, most), width = random.integer(1, most);
  c.image = {random.integer(1, 3), height, width, random_channels(random)};
  c.filters = random_channels(random);
  return c;
}

// The problem of a pass over f32 or bf16 images, as the tile kernels' tests write it down.
TileProblem problem_of(std::size_t pass, const ConvolutionCase& c, bool narrow) {
  TileProblem p = kTilePasses[pass](c);
  if (pass == 0) p.problem.inputs.pop_back();
  if (pass == 2) {
    p.problem.attributes.set("bias", false);
    p.result_types.pop_back();
  }
  if (narrow) return p;
  std::uint64_t seed = 100;
  for (Tensor& t : p.problem.inputs) t = random_tensor(t.shape(), seed++);
  p.result_types = {DType::f32};
  return p;
}

KernelChoice choice_of(std::size_t pass, const TileProblem& p) {
  const Node node = p.problem.node();
  KernelRequest request{op_def(p.problem.op), node, {}, {}};
  for (const ValueType& type : p.problem.input_types()) request.inputs.push_back({type, {}, false});
  for (const ValueType& type : p.output_types()) request.outputs.push_back({type, {}, false});
  return kMakes[pass](request);
}

TEST(Pixels, RandomShapesAgreeWithTheReference) {
  const char* wanted = std::getenv("RIDGELINE_PIXELS_SHAPES");
  const int shapes = wanted == nullptr ? 40 : std::atoi(wanted);
  ASSERT_GT(shapes, 0) << "RIDGELINE_PIXELS_SHAPES is a number of shapes";
  SampleRandom random(philox_key(31, "pixels"), 0, 0);
  double largest[2][3] = {};
  for (int shape = 0; shape < shapes; ++shape) {
    const ConvolutionCase c = random_pixels(random);
    const bool narrow = random.integer(0, 1) == 0;
    for (std::size_t pass = 0; pass < 3; ++pass) {
      const TileProblem problem = problem_of(pass, c, narrow);
      const Tensor expected = problem.reference()[0];
      Tensor first;
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
        if (first.elements() != got.elements()) first = got;
        ASSERT_TRUE(same_bits(got, first)) << kernel.name << ": other bits, " << c.to_string();
      }
    }
  }
  for (const double rms : largest[0]) EXPECT_LT(rms, 1e-6);
  if (wanted == nullptr) return;
  for (const auto& of_type : largest)
    std::printf("%s: rms %.1e forward, %.1e to the image, %.1e to the weights\n",
                &of_type == &largest[0] ? "f32" : "bf16", of_type[0], of_type[1], of_type[2]);
}

TEST(Pixels, WhatTheyDoNotTakeIsRefusedByItsReason) {
  const auto reason = [](ConvolutionCase c) {
    KernelChoice choice = choice_of(0, problem_of(0, c, false));
    const auto* refusal = std::get_if<Refusal>(&choice);
    return refusal == nullptr ? std::string() : refusal->reason;
  };
  const ConvolutionCase plain{{1, 4, 4, 16}, 32, {1, 1}, {0, 0, 0, 0}};
  EXPECT_EQ(reason(plain), "");
  const char* shape = "this kernel takes 1x1 convolutions of stride 1, one group and no padding";
  for (const auto& change : std::initializer_list<void (*)(ConvolutionCase&)>{
           [](ConvolutionCase& c) { c.stride = {1, 2}; }, [](ConvolutionCase& c) { c.pad = {0, 1, 0, 0}; },
           [](ConvolutionCase& c) { c.kernel = {1, 2}; }, [](ConvolutionCase& c) { c.groups = 2; }}) {
    ConvolutionCase c = plain;
    change(c);
    EXPECT_EQ(reason(c), shape) << c.to_string();
  }
  ConvolutionCase odd = plain;
  odd.filters = 24;
  EXPECT_NE(reason(odd).find("16 channels and 24 filters"), std::string::npos);
}

}  // namespace
}  // namespace ridgeline
