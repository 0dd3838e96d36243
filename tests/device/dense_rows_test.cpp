// Dense layers with many rows: near the reference, and the same bits for any team size and vector length.
#include <cmath>
#include <tuple>

#include "made_kernel.h"
#include "ridgeline/device/cpu/dense/dense.h"
#include "ridgeline/device/cpu/isa.h"

namespace ridgeline {
namespace {

struct RowsCase {
  std::int64_t rows, inputs, outputs;
  std::string name() const {
    return std::to_string(rows) + " x " + std::to_string(inputs) + " x " + std::to_string(outputs);
  }
  Tensor x() const { return random_tensor({rows, inputs}, 1); }
  Tensor dy() const { return random_tensor({rows, outputs}, 5); }
  Tensor w() const { return random_tensor({outputs, inputs}, 2); }
};

Problem forward_of(const RowsCase& c, int operands, bool relu) {
  Problem p{"dense", {c.x(), c.w()}, {}};
  if (operands > 2) p.inputs.push_back(random_tensor({c.outputs}, 3));
  if (operands > 3) p.inputs.push_back(random_tensor({c.rows, c.outputs}, 4));
  if (relu) p.attributes.set("activation", std::string("relu"));
  return p;
}

Problem data_of(const RowsCase& c) { return {"dense_bwd_data", {c.dy(), c.w()}, {}}; }

Problem weights_of(const RowsCase& c, bool bias) { return {"dense_bwd_weights", {c.x(), c.dy()}, {{"bias", bias}}}; }

Problem update_of(const RowsCase& c, bool bias, bool squares) {
  const std::string expression = "x0 - x3 * (x1 * 0.9 + x2); x1 * 0.9 + x2 + x0 * 0.0001";
  return {"dense_update",
          {c.w(), random_tensor({c.outputs, c.inputs}, 6), c.x(), c.dy(), random_tensor({}, 7)},
          {{"expression", expression}, {"states", std::int64_t{2}}, {"bias", bias}, {"squares", squares}}};
}

// The rms error is within 1e-6 of the result's rms, in fp64, and no value differs by more than 1e-5 of the largest.
void expect_close(const Tensor& got, const Tensor& expected, const std::string& what) {
  double largest = 0, squares = 0, errors = 0;
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    largest = std::max(largest, std::abs(expected.at(i)));
    squares += expected.at(i) * expected.at(i);
    errors += (got.at(i) - expected.at(i)) * (got.at(i) - expected.at(i));
  }
  for (std::int64_t i = 0; i < expected.elements(); ++i)
    ASSERT_NEAR(got.at(i), expected.at(i), largest * 1e-5) << what << " at " << i;
  ASSERT_LE(std::sqrt(errors), 1e-6 * std::sqrt(squares) + 1e-30) << what;
}

void expect_reference_everywhere(const Problem& problem, MakeKernel make, const RowsCase& c) {
  Problem wide = problem;
  if (problem.op != "dense_update") {  // whose states are f32
    for (Tensor& t : wide.inputs) t = as_type(t, DType::f64);
  }
  expect_everywhere(problem, make, c.name(), wide.reference(), expect_close);
}

void expect_all_passes(const RowsCase& c, std::int64_t kind) {
  ASSERT_NO_FATAL_FAILURE(expect_reference_everywhere(forward_of(c, static_cast<int>(2 + kind % 3), kind % 2 == 0),
                                                      cpu_factory("dense", "rows"), c));
  ASSERT_NO_FATAL_FAILURE(expect_reference_everywhere(data_of(c), cpu_factory("dense_bwd_data", "rows"), c));
  ASSERT_NO_FATAL_FAILURE(
      expect_reference_everywhere(weights_of(c, kind % 2 == 1), cpu_factory("dense_bwd_weights", "rows"), c));
  ASSERT_NO_FATAL_FAILURE(
      expect_reference_everywhere(update_of(c, kind % 2 == 0, kind % 3 < 2), cpu_factory("dense_update", "rows"), c));
}

TEST(DenseRows, RandomShapesAgreeWithFp64AndHaveTheSameBitsEverywhere) {
  const std::int64_t shapes = shapes_to_try(18);
  SampleRandom random(philox_key(29, "dense rows"), 0, 0);
  for (std::int64_t shape = 0; shape < shapes; ++shape) {
    const RowsCase c{random.integer(1, shape % 3 == 0 ? 150 : 40), random.integer(1, shape % 3 == 1 ? 600 : 90),
                     random.integer(1, shape % 3 == 2 ? 400 : 70)};
    ASSERT_NO_FATAL_FAILURE(expect_all_passes(c, shape));
  }
}

// Larger than one group of rows, one range and one item of inputs, one chunk of a sum, one strip, one item of outputs.
TEST(DenseRows, ShapesBeyondEveryBlockAgreeWithFp64) {
  ASSERT_NO_FATAL_FAILURE(expect_all_passes({259, 70, 67}, 0));
  ASSERT_NO_FATAL_FAILURE(expect_all_passes({17, 4203, 30}, 1));
  ASSERT_NO_FATAL_FAILURE(expect_all_passes({20, 66, 4131}, 2));
  ASSERT_NO_FATAL_FAILURE(expect_all_passes({130, 1090, 131}, 3));
}

TEST(DenseRows, TheUpdateHasTheBitsOfTheGradientAndTheUpdateApart) {
  const RowsCase c{130, 300, 70};
  const Problem together = update_of(c, true, false);
  const Tensor dw = results_of(weights_of(c, true), cpu_factory("dense_bwd_weights", "rows")).at(0);
  Problem loop{"loop",
               {together.inputs[0], together.inputs[1], dw, together.inputs[4]},
               {{"expression", together.attributes.string("expression")}}};
  const Node node = loop.node();
  KernelChoice choice = cpu_kernels("loop", Provider::own).front().make(loop.request(node));
  const std::vector<Tensor> apart = run_kernel(*std::get<std::unique_ptr<Kernel>>(choice), loop);
  const std::vector<Tensor> got = results_of(together, cpu_factory("dense_update", "rows"));
  EXPECT_TRUE(same_bits(got[0], apart[0]));
  EXPECT_TRUE(same_bits(got[1], apart[1]));
}

// On bf16 values, with results of the given types.
std::vector<Tensor> narrow_results(const Problem& problem, MakeKernel make, const std::vector<DType>& types) {
  const Node node = problem.node();
  std::vector<ValueType> results = problem.output_types();
  KernelRequest request{op_def(problem.op), node, {}, {}};
  for (const ValueType& type : problem.input_types()) request.inputs.push_back({type, {}, false});
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i].dtype = types[std::min(i, types.size() - 1)];
    request.outputs.push_back({results[i], {}, false});
  }
  KernelChoice choice = make(request);
  if (const auto* refusal = std::get_if<Refusal>(&choice)) {
    ADD_FAILURE() << problem.op << ": " << refusal->reason;
    return {};
  }
  return run_kernel(*std::get<std::unique_ptr<Kernel>>(choice), problem, results);
}

// The same arithmetic: the same bits as with f32 operands of the same values, rounded if a result is bf16.
TEST(DenseRows, Bf16ValuesGiveTheRoundedResultsOfTheSameValuesInF32) {
  const RowsCase cases[] = {{37, 150, 45}, {130, 1090, 131}, {259, 70, 67}};
  for (const RowsCase& c : cases) {
    const std::tuple<Problem, MakeKernel, DType, std::vector<std::size_t>> all[] = {
        {forward_of(c, 4, true), cpu_factory("dense", "rows"), DType::bf16, {0, 1, 3}},
        {data_of(c), cpu_factory("dense_bwd_data", "rows"), DType::bf16, {0, 1}},
        {weights_of(c, true), cpu_factory("dense_bwd_weights", "rows"), DType::f32, {0, 1}},
        {update_of(c, true, true), cpu_factory("dense_update", "rows"), DType::f32, {2, 3}},
    };
    for (const auto& [wide, make, type, values] : all) {
      Problem narrow = wide, rounded = wide;
      for (const std::size_t i : values) {
        narrow.inputs[i] = as_type(wide.inputs[i], DType::bf16);
        rounded.inputs[i] = as_type(narrow.inputs[i], DType::f32);
      }
      const std::vector<Tensor> expected = results_of(rounded, make);
      for (const device::Isa isa : device::machine_isas()) {
        const ForcedIsa forced(isa);
        const std::vector<Tensor> got = narrow_results(narrow, make, {type});
        ASSERT_EQ(got.size(), expected.size());
        for (std::size_t i = 0; i < got.size(); ++i)
          EXPECT_TRUE(same_bits(got[i], as_type(expected[i], type))) << wide.op << " " << c.name() << " result " << i;
      }
    }
  }
}

TEST(DenseRows, ValuesOfSeveralTypesAreRefused) {
  const RowsCase c{20, 30, 40};
  Problem p = data_of(c);
  p.inputs[0] = as_type(p.inputs[0], DType::bf16);
  const Node node = p.node();
  KernelRequest request{op_def(p.op), node, {}, {}};
  for (const ValueType& type : p.input_types()) request.inputs.push_back({type, {}, false});
  request.outputs.push_back({{DType::f32, {c.rows, c.inputs}}, {}, false});
  const KernelChoice choice = cpu_factory("dense_bwd_data", "rows")(request);
  ASSERT_TRUE(std::holds_alternative<Refusal>(choice));
  EXPECT_EQ(std::get<Refusal>(choice).reason, "f32 beside bf16: this kernel takes values of one type");
}

// NaN reaches the results that read it, and no others.
TEST(DenseRows, NaNAndInfinityReachTheResultsThatReadThem) {
  const RowsCase c{37, 150, 45};
  constexpr float kBad[] = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()};
  for (const float bad : kBad) {
    const std::pair<Problem, MakeKernel> all[] = {
        {forward_of(c, 3, true), cpu_factory("dense", "rows")},
        {data_of(c), cpu_factory("dense_bwd_data", "rows")},
        {weights_of(c, true), cpu_factory("dense_bwd_weights", "rows")},
    };
    for (auto [problem, make] : all) {
      problem.inputs[0].data<float>()[problem.inputs[0].elements() - 1] = bad;
      const std::vector<Tensor> expected = problem.reference();
      const std::vector<Tensor> got = results_of(problem, make);
      for (std::size_t r = 0; r < got.size(); ++r) {
        for (std::int64_t i = 0; i < got[r].elements(); ++i) {
          ASSERT_EQ(std::isnan(got[r].at(i)), std::isnan(expected[r].at(i))) << problem.op << " at " << i;
          ASSERT_EQ(std::isinf(got[r].at(i)), std::isinf(expected[r].at(i))) << problem.op << " at " << i;
        }
      }
    }
  }
}

// Preferred to the library: for some numbers of rows, and weights larger than the caches. The owner of the layout sees
// only operands.
TEST(DenseRows, StandBehindTheLibraryWhereItIsAsFast) {
  const auto first = [](const RowsCase& c) -> std::string {
    Node node;
    node.op = "dense";
    node.name = "dense_under_test";
    node.attributes = complete_attributes(op_def("dense"), {});
    KernelRequest request{op_def("dense"), node, {}, {}};
    request.inputs = {{{DType::f32, {c.rows, c.inputs}}, {}, true}, {{DType::f32, {c.outputs, c.inputs}}, {}, true}};
    request.outputs = {{{DType::f32, {c.rows, c.outputs}}, {}, false}};
    double rows = 0, library = 0;
    for (const KernelEntry& entry : cpu_kernels("dense")) {
      const double speed = entry.speed * (entry.share != nullptr ? entry.share(request) : 1);
      if (entry.name == "rows") rows = speed;
      if (entry.provider == Provider::library) library = std::max(library, speed);
    }
    return rows > library ? "rows" : "library";
  };
  if (!has_library()) GTEST_SKIP() << "this build has no kernel library";
  EXPECT_EQ(first({128, 4096, 1000}), "rows");
  EXPECT_EQ(first({128, 2048, 1000}), "library");
  EXPECT_EQ(first({257, 4096, 1000}), "library");
}

}  // namespace
}  // namespace ridgeline
