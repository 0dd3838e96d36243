// Dense layers with few rows: near the reference, and the same bits for any team size and vector length.
#include "ridgeline/device/cpu/dense/few_rows.h"

#include <algorithm>
#include <cmath>

#include "made_kernel.h"
#include "ridgeline/device/cpu/isa.h"

namespace ridgeline {
namespace {

struct Case {
  std::int64_t rows, inputs, outputs;
  DType type;
  std::string name() const {
    return std::to_string(rows) + " x " + std::to_string(inputs) + " x " + std::to_string(outputs) + " " +
           std::string(name_of(type));
  }
  Tensor x() const { return as_type(random_tensor({rows, inputs}, 1), type); }
  Tensor dy() const { return as_type(random_tensor({rows, outputs}, 5), type); }
  Tensor w(DType of) const { return as_type(random_tensor({outputs, inputs}, 2), of); }
};

Problem forward(const Case& c, int operands, bool relu) {
  Problem p{"dense", {c.x(), c.w(c.type)}, {}};
  if (operands > 2) p.inputs.push_back(random_tensor({c.outputs}, 3));
  if (operands > 3) p.inputs.push_back(as_type(random_tensor({c.rows, c.outputs}, 4), c.type));
  if (relu) p.attributes.set("activation", std::string("relu"));
  return p;
}

Problem to_data(const Case& c) { return {"dense_bwd_data", {c.dy(), c.w(c.type)}, {}}; }

Problem to_weights(const Case& c, bool bias) {
  return {"dense_bwd_weights", {c.x(), c.dy()}, {{"bias", bias}, {"f32_results", true}}};
}

Problem update(const Case& c, bool bias, bool squares = false) {
  const std::string expression =
      "x0 - x3 * (x1 * 0.9 + x2); x1 * 0.9 + x2 + x0 * 0.0001; x0 - x3 * (x1 * 0.9 + x2) : bf16";
  return {"dense_update",
          {c.w(DType::f32), random_tensor({c.outputs, c.inputs}, 6), c.x(), c.dy(), random_tensor({}, 7)},
          {{"expression", expression}, {"states", std::int64_t{2}}, {"bias", bias}, {"squares", squares}}};
}

// Within 1e-5 of the largest value and, for narrow results, one unit of the last place of each.
void expect_near(const Tensor& got, const Tensor& expected, const std::string& what) {
  double largest = 0;
  for (std::int64_t i = 0; i < expected.elements(); ++i) largest = std::max(largest, std::abs(expected.at(i)));
  const double unit = expected.dtype() == DType::bf16 ? 0x1p-7 : expected.dtype() == DType::f16 ? 0x1p-10 : 0;
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    ASSERT_NEAR(got.at(i), expected.at(i), largest * 1e-5 + std::abs(expected.at(i)) * unit) << what << " at " << i;
  }
}

void expect_reference(const Problem& problem, MakeKernel make, const Case& c) {
  expect_everywhere(problem, make, c.name(), problem.reference(), expect_near);
}

// For every instruction set of this machine.
std::int64_t most_rows_everywhere(DType type) {
  std::int64_t most = device::most_few_rows(type);
  for (const device::Isa isa : device::machine_isas()) {
    const ForcedIsa forced(isa);
    most = std::min(most, device::most_few_rows(type));
  }
  return most;
}

TEST(FewRows, DenseLayersAgreeWithTheReferenceAndHaveTheSameBitsEverywhere) {
  SampleRandom random(philox_key(21, "few rows"), 0, 0);
  const std::int64_t shapes = shapes_to_try(24);
  for (std::int64_t shape = 0; shape < shapes; ++shape) {
    // Larger than one run of inputs, one chunk of a sum, one part of the inputs or outputs.
    const DType type = shape % 6 < 3 ? DType::f32 : shape % 6 < 5 ? DType::bf16 : DType::f16;
    const Case c{random.integer(1, most_rows_everywhere(type)), random.integer(1, shape % 4 == 0 ? 2300 : 150),
                 random.integer(1, shape % 4 == 1 ? 700 : 60), type};
    for (int operands = 2; operands <= 4; ++operands) {
      const bool relu = random.integer(0, 1) == 0;
      ASSERT_NO_FATAL_FAILURE(expect_reference(forward(c, operands, relu), cpu_factory("dense", "few_rows"), c));
    }
    const bool bias = shape % 2 == 0;
    ASSERT_NO_FATAL_FAILURE(expect_reference(to_data(c), cpu_factory("dense_bwd_data", "few_rows"), c));
    ASSERT_NO_FATAL_FAILURE(expect_reference(to_weights(c, bias), cpu_factory("dense_bwd_weights", "few_rows"), c));
    ASSERT_NO_FATAL_FAILURE(
        expect_reference(update(c, bias, shape % 5 < 2), cpu_factory("dense_update", "few_rows"), c));
  }
}

// Rows that are not a multiple of a cache line, and a gradient that is written past the caches.
TEST(FewRows, GradientsLargerThanTheCachesAgreeWithTheReference) {
  for (const std::int64_t inputs : {1024, 1021}) {
    const Case c{3, inputs, 1100, DType::f32};
    ASSERT_NO_FATAL_FAILURE(expect_reference(to_weights(c, true), cpu_factory("dense_bwd_weights", "few_rows"), c));
  }
}

TEST(FewRows, TheUpdateHasTheBitsOfTheGradientAndTheUpdateApart) {
  const Case c{5, 300, 70, DType::f32};
  const Problem together = update(c, true);
  const Tensor dw = results_of(to_weights(c, true), cpu_factory("dense_bwd_weights", "few_rows")).at(0);
  Problem loop{"loop",
               {together.inputs[0], together.inputs[1], dw, together.inputs[4]},
               {{"expression", together.attributes.string("expression")}}};
  const Node node = loop.node();
  KernelChoice choice = cpu_kernels("loop", Provider::own).front().make(loop.request(node));
  const std::vector<Tensor> apart = run_kernel(*std::get<std::unique_ptr<Kernel>>(choice), loop);
  const std::vector<Tensor> got = results_of(together, cpu_factory("dense_update", "few_rows"));
  EXPECT_TRUE(same_bits(got[0], apart[0]));
  EXPECT_TRUE(same_bits(got[1], apart[1]));
  EXPECT_TRUE(same_bits(got[3], apart[2])) << "the rounded copy";
}

TEST(FewRows, MoreRowsAreRefused) {
  const std::int64_t most = device::most_few_rows(DType::f32);
  const Case c{most + 1, 8, 8, DType::f32};
  const std::pair<Problem, MakeKernel> all[] = {{forward(c, 2, false), cpu_factory("dense", "few_rows")},
                                                {to_data(c), cpu_factory("dense_bwd_data", "few_rows")},
                                                {to_weights(c, false), cpu_factory("dense_bwd_weights", "few_rows")},
                                                {update(c, true), cpu_factory("dense_update", "few_rows")}};
  for (const auto& [problem, make] : all) {
    const Node node = problem.node();
    const KernelChoice choice = make(problem.request(node));
    ASSERT_TRUE(std::holds_alternative<Refusal>(choice)) << problem.op;
    EXPECT_EQ(std::get<Refusal>(choice).reason,
              std::to_string(most + 1) + " rows of f32: this kernel takes up to " + std::to_string(most));
  }
}

}  // namespace
}  // namespace ridgeline
