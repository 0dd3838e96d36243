// The tile kernels' dense layers against the reference, on scalar tiles and on the machine's.
#include "amx_support.h"

namespace ridgeline {
namespace {

struct DenseCase {
  std::int64_t rows, inputs, outputs;
  Shape x() const { return {rows, inputs}; }
  Shape w() const { return {outputs, inputs}; }
  Shape y() const { return {rows, outputs}; }
};

TileProblem dense_forward(const DenseCase& c) {
  return {{"dense", {random_bf16(c.x(), 1, 0, 1), random_bf16(c.w(), 2), random_tensor({c.outputs}, 3)}, {}},
          {},
          device::amx::make_dense_forward};
}
TileProblem dense_backward_data(const DenseCase& c) {
  return {{"dense_bwd_data", {random_bf16(c.y(), 4), random_bf16(c.w(), 2)}, {}},
          {},
          device::amx::make_dense_backward_data};
}
TileProblem dense_backward_weights(const DenseCase& c) {
  return {{"dense_bwd_weights", {random_bf16(c.x(), 1, 0, 1), random_bf16(c.y(), 4)}, {{"bias", true}}},
          {DType::f32, DType::f32},
          device::amx::make_dense_backward_weights};
}
constexpr TileProblem (*kPasses[])(const DenseCase&) = {dense_forward, dense_backward_data, dense_backward_weights};

void expect_reference(const TileProblem& problem, const DenseCase& c) {
  const std::vector<Tensor> expected = problem.reference();
  std::vector<Tensor> first;
  for (const Tiles tiles : machine_tiles()) {
    const auto kernel = problem.kernel(tiles);
    ASSERT_NE(kernel, nullptr);
    const std::vector<Tensor> got = problem.run(*kernel);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const TileError error = tile_error(got[i], expected[i]);
      ASSERT_LE(error.worst, 1) << kernel->name << " result " << i << ": " << c.rows << " rows, " << c.inputs
                                << " inputs, " << c.outputs << " outputs";
      if (!first.empty()) {
        ASSERT_TRUE(same_bits(got[i], first[i])) << kernel->name << " result " << i << " of " << c.inputs;
      }
    }
    if (first.empty()) first = got;
  }
}

TEST(AmxDense, RandomShapesAgreeWithTheReferenceOnAllTiles) {
  const char* wanted = std::getenv("RIDGELINE_AMX_SHAPES");
  const int shapes = wanted == nullptr ? 60 : std::atoi(wanted);
  ASSERT_GT(shapes, 0) << "RIDGELINE_AMX_SHAPES is a number of shapes";
  SampleRandom random(philox_key(13, "tile dense shapes"), 0, 0);
  for (int shape = 0; shape < shapes; ++shape) {
    const auto size = [&](std::int64_t most) {
      if (random.integer(0, 3) == 0) return 32 * random.integer(1, most / 32);
      return random.integer(1, random.integer(0, 2) == 0 ? most : 50);
    };
    const DenseCase c{size(random.integer(0, 5) == 0 ? 520 : 70), size(300), size(300)};
    const ComputeScope team(static_cast<int>(random.integer(1, 3)));
    for (std::size_t pass = 0; pass < 3; ++pass) {
      TileProblem problem = kPasses[pass](c);
      if (pass == 0) {
        const std::int64_t bias = random.integer(0, 2);
        if (bias == 0) problem.problem.inputs.pop_back();
        if (bias == 1) problem.problem.inputs.back() = random_bf16({c.outputs}, 3);
        if (random.integer(0, 1) == 0) problem.problem.attributes.set("activation", std::string("relu"));
      } else if (pass == 2) {
        if (random.integer(0, 2) == 0) problem.result_types = {DType::bf16, DType::bf16};
        if (random.integer(0, 3) == 0) problem.problem.attributes.set("bias", false);
      }
      ASSERT_NO_FATAL_FAILURE(expect_reference(problem, c));
    }
  }
}

// Beyond one chunk of inputs (1,024), of outputs (512), one item's outputs and one load of rows (256).
const DenseCase kLong[] = {{5, 2500, 40}, {130, 1100, 700}, {300, 70, 1090}, {1, 1050, 513}};

TEST(AmxDense, LongShapesAgreeWithTheReference) {
  for (const DenseCase& c : kLong) {
    for (const auto pass : kPasses) ASSERT_NO_FATAL_FAILURE(expect_reference(pass(c), c));
  }
}

TEST(AmxDense, TheBitsDoNotDependOnTheTeam) {
  for (const DenseCase& c : kLong) {
    for (const auto pass : kPasses) {
      const TileProblem problem = pass(c);
      std::vector<Tensor> first;
      for (const int threads : {1, 2, 3, 8}) {
        const ComputeScope team(threads);
        const auto kernel = problem.kernel(machine_tiles().back());
        ASSERT_NE(kernel, nullptr);
        std::vector<Tensor> got = problem.run(*kernel);
        for (std::size_t i = 0; i < first.size(); ++i) {
          EXPECT_TRUE(same_bits(got[i], first[i])) << kernel->name << " with " << threads;
        }
        if (first.empty()) first = std::move(got);
      }
    }
  }
}

}  // namespace
}  // namespace ridgeline
