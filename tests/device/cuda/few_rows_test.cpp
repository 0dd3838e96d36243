// Dense layers of few rows by tensor cores: host versions beside the reference, and what the table gives them.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ridgeline/compile/compile.h"
#include "ridgeline/device/cuda/kernels/launches.h"
#include "ridgeline/nn/training_step.h"
#include "tests/device/cuda/device_support.h"
#include "tests/device/cuda/op_support.h"

namespace ridgeline::cuda::testing {
namespace {

// A sum in another order may round to the neighbour: two halves of the spacing. Sums of some thousand products of at
// most 1 that are not rounded are compared with the root of their number.
std::string outside(const Tensor& got, const Tensor& expected, std::int64_t products) {
  if (got.dtype() != DType::f32) return outside_band(got, expected, 2.1);
  return outside_band(got, expected, 256, std::sqrt(static_cast<double>(products)));
}

void expect_forward(Values& values, const FewRowsShape& s, const Tensor& x, const Tensor& w) {
  const bool with_bias = values.coin(), wide = values.coin(), with_addend = with_bias && values.coin();
  const Tensor bias = values.uniform(wide ? DType::f32 : s.type, {s.outputs});
  const Tensor addend = values.uniform(s.result, {s.rows, s.outputs});
  std::vector<Tensor> inputs = {x, w};
  Epilogue e{};
  if (with_bias) inputs.push_back(bias), e.bias = bias.raw(), e.bias_type = bias.dtype();
  if (with_addend) inputs.push_back(addend), e.addend = addend.raw();
  e.relu = values.coin();
  Tensor y = noise(s.result, {s.rows, s.outputs});
  auto memory = scratch(few_rows_scratch(s));
  few_rows(run_on_host, s, x.raw(), w.raw(), e, y.raw(), memory.data());
  const Attributes attributes{{"activation", std::string(e.relu ? "relu" : "none")},
                              {"f32_results", s.result != s.type}};
  EXPECT_EQ(outside(y, reference_of("dense", inputs, attributes)[0], s.inputs), "");
}

void expect_gradient(const FewRowsShape& s, const Tensor& dy, const Tensor& w) {
  Tensor dx = noise(s.result, {s.rows, s.inputs});
  auto memory = scratch(few_rows_gradient_scratch(s));
  few_rows_gradient(run_on_host, s, dy.raw(), w.raw(), dx.raw(), memory.data());
  const Attributes attributes{{"f32_results", s.result != s.type}};
  EXPECT_EQ(outside(dx, reference_of("dense_bwd_data", {dy, w}, attributes)[0], s.outputs), "");
}

void expect_both(Values& values, const FewRowsShape& s) {
  ASSERT_TRUE(is_few_rows(s));
  SCOPED_TRACE(std::to_string(s.rows) + " rows, " + std::to_string(s.inputs) + " to " + std::to_string(s.outputs) +
               (s.result == DType::f32 ? " in f32" : ""));
  const Tensor w = values.uniform(s.type, {s.outputs, s.inputs});
  expect_forward(values, s, values.uniform(s.type, {s.rows, s.inputs}), w);
  expect_gradient(s, values.uniform(s.type, {s.rows, s.outputs}), w);
}

FewRowsShape random_shape(Values& values, int round) {
  FewRowsShape s{};
  s.type = round % 2 == 0 ? DType::bf16 : DType::f16;
  s.result = values.coin() ? s.type : DType::f32;
  s.rows = values.pick({1, 3, 7, 8, 9, 15, 16, 17, 24, 25, 31, 32});
  s.inputs = values.pick({8, 16, 56, 64, 72, 504, 512, 520, 1000, 1544});
  s.outputs = values.pick({1, 2, 7, 10, 31, 32, 33, 63, 100, 128, 130, 250});
  return s;
}

TEST(CudaFewRows, GiveTheReferencesResults) {
  for (int round = 0; round < 60; ++round) {
    Values values(static_cast<unsigned>(round));
    SCOPED_TRACE(round);
    expect_both(values, random_shape(values, round));
  }
}

// Few blocks share long sums.
TEST(CudaFewRows, GiveTheReferencesResultsWithSumsInParts) {
  for (const DType result : {DType::bf16, DType::f32}) {
    Values values(3);
    const FewRowsShape longer{DType::bf16, result, 5, 9000, 10}, higher{DType::bf16, result, 19, 72, 5003};
    ASSERT_GT(few_rows_scratch(longer), std::size_t{2 * 5 * 10} * sizeof(float));
    ASSERT_GT(few_rows_gradient_scratch(higher), std::size_t{2 * 19 * 72} * sizeof(float));
    expect_both(values, longer);
    expect_both(values, higher);
  }
}

TEST(CudaFewRows, ShareSumsOnlyWhereBlocksAreFew) {
  const auto in_parts = [](std::int64_t inputs, std::int64_t outputs) {
    const FewRowsShape s{DType::bf16, DType::bf16, 32, inputs, outputs};
    return std::pair(few_rows_scratch(s) > 0, few_rows_gradient_scratch(s) > 0);
  };
  EXPECT_EQ(in_parts(9216, 4096), std::pair(false, false));
  EXPECT_EQ(in_parts(4096, 4096), std::pair(false, true));
  EXPECT_EQ(in_parts(4096, 1000), std::pair(true, false));
  // On both sides of half of the multiprocessors, and of two parts of 2^16 weights a block.
  EXPECT_EQ(in_parts(4096, 66 * 32), std::pair(true, true));
  EXPECT_EQ(in_parts(4096, 66 * 32 + 1).first, false);
  EXPECT_EQ(in_parts(4088, 66 * 32).first, false);
  EXPECT_EQ(in_parts(66 * 64, 2048).second, true);
  EXPECT_EQ(in_parts(66 * 64 + 8, 2048).second, false);
  EXPECT_EQ(in_parts(66 * 64, 2044).second, false);
}

// NaN and infinities reach the rows and columns that they belong to and no other.
TEST(CudaFewRows, KeepNanAndInfinitiesWhereTheyAre) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  for (const std::int64_t rows : {5, 13, 30}) {
    for (const std::int64_t inputs : {88, 4104}) {
      for (const std::int64_t outputs : {43, 2054}) {
        if (inputs * outputs > 1'000'000) continue;
        Values values(static_cast<unsigned>(rows + inputs));
        const FewRowsShape s{DType::bf16, DType::bf16, rows, inputs, outputs};
        SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(inputs) + " to " + std::to_string(outputs));
        Tensor x = values.uniform(s.type, {rows, inputs}), dy = values.uniform(s.type, {rows, outputs});
        Tensor w = values.uniform(s.type, {outputs, inputs});
        expect_forward(values, s, x, w);
        for (Tensor* t : {&x, &dy}) {
          t->set(t->elements() - 1, nan);  // of the last row
          t->set(1, -infinity);            // of the first
        }
        expect_forward(values, s, x, w);
        expect_gradient(s, dy, w);
        w.set(w.elements() - 1, infinity);
        w.set(inputs * (outputs / 2) + 3, nan);
        expect_forward(values, s, x, w);
        expect_gradient(s, dy, w);
      }
    }
  }
}

TEST(CudaFewRows, AreUpTo32OfBf16OrF16ByAMultipleOf8Inputs) {
  const FewRowsShape s{DType::bf16, DType::bf16, 32, 64, 10};
  ASSERT_TRUE(is_few_rows(s));
  const auto taken = [&](auto change) {
    FewRowsShape other = s;
    change(other);
    return is_few_rows(other);
  };
  EXPECT_TRUE(taken([](FewRowsShape& o) { o.type = o.result = DType::f16; }));
  EXPECT_TRUE(taken([](FewRowsShape& o) { o.result = DType::f32; }));
  EXPECT_TRUE(taken([](FewRowsShape& o) { o.rows = 1; }));
  EXPECT_TRUE(taken([](FewRowsShape& o) { o.inputs = 8; }));
  EXPECT_TRUE(taken([](FewRowsShape& o) { o.outputs = 1; }));
  EXPECT_FALSE(taken([](FewRowsShape& o) { o.type = o.result = DType::f32; }));
  EXPECT_FALSE(taken([](FewRowsShape& o) { o.result = DType::f16; }));
  EXPECT_FALSE(taken([](FewRowsShape& o) { o.rows = 33; }));
  EXPECT_FALSE(taken([](FewRowsShape& o) { o.rows = 0; }));
  EXPECT_FALSE(taken([](FewRowsShape& o) { o.inputs = 60; }));
  EXPECT_FALSE(taken([](FewRowsShape& o) { o.inputs = 0; }));
  EXPECT_FALSE(taken([](FewRowsShape& o) { o.outputs = 0; }));
}

// The kernel of the table's first entry that takes a layer, both ways, and why few_rows does not, if so.
struct TableChoice {
  std::string forward, gradient, refusal;
};
TableChoice table_choice(DType type, std::int64_t rows, std::int64_t inputs, std::int64_t outputs,
                         const KernelPromise& promise = {}) {
  RecordingDevice card;
  TableChoice choice;
  const auto first = [&](const std::string& op, Shape operand) {
    const NodeProblem problem(
        op, {Tensor::zeros(type, std::move(operand)), Tensor::zeros(type, Shape{outputs, inputs})}, {});
    KernelRequest request = problem.request(card.device);
    request.promise = promise;
    std::string name;
    for (const KernelEntry& entry : card.device.kernels(op)) {
      const KernelChoice made = entry.make(request);
      if (const auto* refusal = std::get_if<Refusal>(&made))
        choice.refusal = refusal->reason;
      else if (name.empty())
        name = std::get<std::unique_ptr<Kernel>>(made)->name;
    }
    return name;
  };
  choice.forward = first("dense", {rows, inputs});
  choice.gradient = first("dense_bwd_data", {rows, outputs});
  return choice;
}

void expect_few_rows(const TableChoice& choice) {
  EXPECT_EQ(choice.forward, "cuda few_rows");
  EXPECT_EQ(choice.gradient, "cuda few_rows");
  EXPECT_EQ(choice.refusal, "");
}
void expect_refused(const TableChoice& choice, const std::string& reason) {
  EXPECT_EQ(choice.forward, "cuda direct product");
  EXPECT_EQ(choice.gradient, "cuda direct product");
  EXPECT_NE(choice.refusal.find(reason), std::string::npos) << choice.refusal;
}

TEST(CudaFewRows, StandForTheLibraryUpTo32RowsAndFromAMillionWeightsOn) {
  expect_few_rows(table_choice(DType::bf16, 1, 1024, 1024));
  expect_few_rows(table_choice(DType::f16, 32, 1024, 1024));
  expect_refused(table_choice(DType::bf16, 33, 1024, 1024), "up to 32 rows");
  expect_refused(table_choice(DType::bf16, 32, 1024, 1023), "fewer than 2^20 weights");
  expect_refused(table_choice(DType::bf16, 32, 1028, 1024), "a multiple of 8 inputs");
  expect_refused(table_choice(DType::f32, 32, 1024, 1024), "bf16 or f16");
}

TEST(CudaFewRows, PromiseTheBitsOfOneKindOfCardAndSumsAsTheyAre) {
  expect_few_rows(table_choice(DType::bf16, 8, 1024, 1024, {Reproducibility::deterministic, true}));
  expect_refused(table_choice(DType::bf16, 8, 1024, 1024, {Reproducibility::portable, true}), "portable");
}

// Ops of the launches of a training step that the kernels for few rows compute.
std::vector<std::string> few_row_launches(const char* model, std::int64_t batch) {
  add_recording_device();
  nn::StepOptions options;
  options.model = &nn::model_named(model);
  options.batch_size = batch;
  const nn::Step step = nn::build_training_step(options, {.schedule = optim::Constant{0.01}});
  Session session({.device = "cuda_recording"});
  const Planned planned = plan_program(
      step.graph, session, {.precision = PrecisionPolicy::of(precision_mode_named("allow_mix_precision_bf16"))});
  std::vector<std::string> ops;
  for (const ridgeline::Launch& launch : planned.plan.launches) {
    if (launch.kernel && launch.kernel->name == "cuda few_rows")
      ops.push_back(planned.plan.graph.nodes[static_cast<std::size_t>(launch.node)].op);
  }
  return ops;
}

TEST(CudaFewRows, TakeAllDenseLayersOfAlexNetAtSmallBatches) {
  const std::vector<std::string> all = {"dense",          "dense",          "dense",
                                        "dense_bwd_data", "dense_bwd_data", "dense_bwd_data"};
  for (const char* model : {"alexnet", "alexnet_torchvision"}) {
    SCOPED_TRACE(model);
    EXPECT_EQ(few_row_launches(model, 1), all);
    EXPECT_EQ(few_row_launches(model, 32), all);
    EXPECT_EQ(few_row_launches(model, 33), std::vector<std::string>());
  }
}

}  // namespace
}  // namespace ridgeline::cuda::testing
