// f32 convolutions by three products of bf16 halves, compared with the reference, on scalar tiles and on the machine's.
#include <cmath>
#include <limits>

#include "made_kernel.h"
#include "ridgeline/device/cpu/cpu_device.h"
#include "ridgeline/device/cpu/kernel_table.h"
#include "tests/support/error_of.h"
#include "tile_support.h"

namespace ridgeline {
namespace {

// The problem of a bf16 kernel with f32 values that bf16 cannot represent.
TileProblem on_halves(TileProblem p, KernelChoice (*make)(const KernelRequest&, Tiles)) {
  std::uint64_t seed = 100;
  for (Tensor& t : p.problem.inputs) t = random_tensor(t.shape(), seed++);
  p.result_types = std::vector<DType>(p.output_types().size(), DType::f32);
  p.make = make;
  return p;
}

TileProblem pass_on_halves(std::size_t pass, const ConvolutionCase& c) {
  using device::tiles::make_halves_backward_data, device::tiles::make_halves_backward_weights,
      device::tiles::make_halves_forward;
  constexpr KernelChoice (*kMake[])(const KernelRequest&, Tiles) = {make_halves_forward, make_halves_backward_data,
                                                                    make_halves_backward_weights};
  return on_halves(kTilePasses[pass](c), kMake[pass]);
}

const ConvolutionCase kCases[] = {
    {{3, 13, 13, 40}, 72, {3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 1, "taps"},
    {{2, 9, 9, 64}, 33, {1, 1}, {0, 0, 0, 0}, {1, 1}, {1, 1}, 1, "no staging"},
    {{2, 9, 11, 64}, 48, {3, 3}, {1, 1, 1, 1}, {2, 2}, {1, 1}, 1, "strided"},
    {{3, 5, 9, 160}, 384, {3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 1, "ranges of channels"},
};

TEST(TileHalves, RandomShapesAgreeWithTheReferenceOnAllTiles) {
  const std::int64_t shapes = shapes_to_try(12);
  SampleRandom random(philox_key(22, "tile halves"), 0, 0);
  std::vector<ConvolutionCase> cases(std::begin(kCases), std::end(kCases));
  for (std::int64_t shape = 0; shape < shapes; ++shape) {
    ConvolutionCase c = random_convolution(random);
    if (c.groups > 1) continue;
    c.filters = std::max<std::int64_t>(c.filters, 32);
    c.image = {c.image[0], c.image[1], c.image[2], std::max<std::int64_t>(c.image[3], 32)};
    cases.push_back(c);
  }
  double largest[3] = {};
  for (const ConvolutionCase& c : cases) {
    const ComputeScope team(static_cast<int>(random.integer(1, 3)));
    for (std::size_t pass = 0; pass < 3; ++pass) {
      TileProblem problem = pass_on_halves(pass, c);
      if (pass == 0 && random.integer(0, 1) == 0) problem.problem.attributes.set("activation", std::string("relu"));
      const std::vector<Tensor> expected = problem.reference();
      std::vector<Tensor> first;
      for (const Tiles tiles : machine_tiles()) {
        const auto kernel = problem.kernel(tiles);
        ASSERT_NE(kernel, nullptr) << c.to_string();
        Poisoned poisoned(*kernel);
        const std::vector<Tensor> got = problem.run(poisoned);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          // A gradient of few pixels may nearly cancel, so the largest error is relative to the largest result.
          ASSERT_LE(tile_error(got[i], expected[i]).worst, 1)
              << kernel->name << " result " << i << " of " << c.to_string();
          largest[pass] = std::max(largest[pass], tile_error(got[i], expected[i]).rms);
          if (!first.empty() && same_order(tiles)) {
            ASSERT_TRUE(same_bits(got[i], first[i])) << kernel->name << " result " << i << " of " << c.to_string();
          }
        }
        if (first.empty()) first = got;
      }
    }
  }
  for (const double rms : largest) EXPECT_LT(rms, 1e-5);
  if (shapes_are_asked_for()) std::printf("rms %.1e, %.1e, %.1e\n", largest[0], largest[1], largest[2]);
}

TEST(TileHalves, ThreeProductsOfBf16AreWhatTheyCountAs) {
  for (std::size_t pass = 0; pass < 3; ++pass) {
    const auto halves = pass_on_halves(pass, kCases[0]).kernel(Tiles::scalar);
    EXPECT_EQ(halves->products, DType::bf16) << halves->name;
    EXPECT_EQ(halves->flops_share, 3) << halves->name;
    const auto narrow = kTilePasses[pass](kCases[0]).kernel(Tiles::scalar);
    EXPECT_EQ(narrow->products, DType::bf16) << narrow->name;
    EXPECT_EQ(narrow->flops_share, 1) << narrow->name;
  }
}

std::vector<TileProblem> dense_on_halves(std::int64_t rows, std::int64_t inputs, std::int64_t outputs) {
  const Tensor x = random_tensor({rows, inputs}, 1), w = random_tensor({outputs, inputs}, 2),
               dy = random_tensor({rows, outputs}, 3);
  return {{{"dense", {x, w, random_tensor({outputs}, 4)}, {{"activation", std::string("relu")}}},
           {DType::f32},
           device::tiles::make_halves_dense_forward},
          {{"dense_bwd_data", {dy, w}, {}}, {DType::f32}, device::tiles::make_halves_dense_backward_data},
          {{"dense_bwd_weights", {x, dy}, {{"bias", true}}},
           {DType::f32, DType::f32},
           device::tiles::make_halves_dense_backward_weights}};
}

TEST(TileHalves, DenseLayersAgreeWithTheReferenceOnAllTilesAndTeams) {
  // Larger than one chunk of inputs (1,024), of outputs, one load of rows (256).
  struct Case {
    std::int64_t rows, inputs, outputs;
  };
  std::vector<Case> cases = {{5, 2500, 40}, {40, 1100, 540}, {260, 70, 540}, {1, 1050, 513}};
  SampleRandom random(philox_key(23, "dense halves"), 0, 0);
  for (int i = 0; i < 8; ++i)
    cases.push_back({random.integer(1, 70), random.integer(32, 300), random.integer(32, 300)});
  for (const Case& c : cases) {
    for (const TileProblem& problem : dense_on_halves(c.rows, c.inputs, c.outputs)) {
      const std::vector<Tensor> expected = problem.reference();
      std::vector<Tensor> first;
      for (const Tiles tiles : machine_tiles()) {
        for (const int threads : {1, 3}) {
          const ComputeScope team(threads);
          const auto kernel = problem.kernel(tiles);
          ASSERT_NE(kernel, nullptr);
          Poisoned poisoned(*kernel);
          const std::vector<Tensor> got = problem.run(poisoned);
          for (std::size_t i = 0; i < expected.size(); ++i) {
            const TileError error = tile_error(got[i], expected[i]);
            ASSERT_LE(error.worst, 1) << kernel->name << " result " << i << ": " << c.inputs << " to " << c.outputs;
            ASSERT_LT(error.rms, 1e-5) << kernel->name << " result " << i << ": " << c.inputs << " to " << c.outputs;
            if (!first.empty() && same_order(tiles)) {
              ASSERT_TRUE(same_bits(got[i], first[i])) << kernel->name << " " << c.inputs;
            }
          }
          if (first.empty()) first = got;
        }
      }
    }
  }
}

TEST(TileHalves, TheBitsDoNotDependOnTheTeam) {
  for (const ConvolutionCase& c : kCases) {
    for (std::size_t pass = 0; pass < 3; ++pass)
      ASSERT_NO_FATAL_FAILURE(expect_the_same_bits_of_all_teams(pass_on_halves(pass, c), c.name));
  }
}

// For an infinity, the halves of the other factor may give infinities of both signs.
TEST(TileHalves, WhatIsNotFiniteReachesTheResultsThatReadItAndNoOther) {
  const ConvolutionCase c{{1, 5, 5, 32}, 32, {1, 1}, {0, 0, 0, 0}};
  TileProblem problem = pass_on_halves(0, c);
  problem.problem.inputs[0].set(7, std::numeric_limits<double>::infinity());
  problem.problem.inputs[0].set(100, std::numeric_limits<double>::quiet_NaN());
  const auto kernel = problem.kernel(machine_tiles().back());
  ASSERT_NE(kernel, nullptr);
  const Tensor got = problem.run(*kernel)[0], expected = problem.reference()[0];
  for (std::int64_t i = 0; i < got.elements(); ++i) {
    ASSERT_EQ(std::isfinite(got.at(i)), std::isfinite(expected.at(i))) << i;
  }
}

TEST(TileHalves, WhatTheyCannotTakeIsRefusedWithTheReason) {
  ConvolutionCase c{{1, 8, 8, 32}, 32, {3, 3}, {1, 1, 1, 1}};
  EXPECT_EQ(pass_on_halves(0, c).refusal(Tiles::scalar), "");
  TileProblem narrow = tile_forward(c);
  narrow.make = device::tiles::make_halves_forward;
  EXPECT_EQ(narrow.refusal(Tiles::scalar), "bf16 operand: three bf16 products stand for f32 ones");
  c.groups = 4;
  EXPECT_EQ(pass_on_halves(2, c).refusal(Tiles::scalar), "groups");
  c.groups = 1;
  c.image = {1, 8, 8, 3};
  EXPECT_EQ(pass_on_halves(0, c).refusal(Tiles::scalar),
            "3 channels: three bf16 products are for 32 and more, which fill a tile");
}

TEST(TileHalves, FewProductsAValueAreLeftToTheLibrary) {
  if (device::active_isa() != device::Isa::amx) GTEST_SKIP() << "this machine has scalar tiles only";
  const auto refusal = [](std::int64_t channels, std::int64_t filters) {
    const TileProblem problem = pass_on_halves(0, {{1, 8, 8, channels}, filters, {1, 1}, {0, 0, 0, 0}});
    const Node node = problem.problem.node();
    const KernelChoice choice = cpu_factory("conv2d", "amx_bf16x3")(problem.problem.request(node));
    return std::holds_alternative<Refusal>(choice) ? std::get<Refusal>(choice).reason : "";
  };
  EXPECT_EQ(refusal(128, 512), "");
  EXPECT_EQ(refusal(64, 256), "51 products a value: the library is faster below 96");
}

TEST(TileHalves, TheyComputeOnlyWhereTheyAreAskedFor) {
  const TileProblem problem = pass_on_halves(0, {{1, 8, 8, 32}, 32, {3, 3}, {1, 1, 1, 1}});
  const Node node = problem.problem.node();
  int entries = 0;
  for (const KernelEntry& entry : cpu_kernels("conv2d")) {
    if (entry.promise.fp32_compute.empty()) continue;
    ++entries;
    const KernelChoice choice = entry.make(problem.problem.request(node));
    ASSERT_TRUE(std::holds_alternative<Refusal>(choice));
    EXPECT_EQ(std::get<Refusal>(choice).reason, "it multiplies f32 values by bf16x3, and fp32_compute is f32");
  }
  EXPECT_EQ(entries, 1);
  const device::Isa before = device::active_isa();
  const auto refusal = [](const KernelPromise& promise) { return error_of([&] { const CpuDevice device(promise); }); };
  const device::Isa lowest = device::machine_isas().front();
  device::force_isa_for_test(lowest);
  EXPECT_EQ(refusal({.fp32_compute = kBf16x3}),
            "fp32_compute is bf16x3, which needs tile registers (amx): the instruction set in force is " +
                std::string(device::name_of(lowest)));
  EXPECT_EQ(refusal({}), "");
  device::force_isa_for_test(before);
  if (before != device::Isa::amx) return;
  EXPECT_EQ(refusal({.fp32_compute = kBf16x3}), "");
  EXPECT_EQ(refusal({.bits = Reproducibility::portable, .fp32_compute = kBf16x3}),
            "fp32_compute is bf16x3, and reproducibility is portable: other machines have no tiles");
  EXPECT_EQ(refusal({.high_precision = true, .fp32_compute = kBf16x3}),
            "fp32_compute is bf16x3, and high precision is asked for (op_select_implmode): its errors are larger");
}

}  // namespace
}  // namespace ridgeline
