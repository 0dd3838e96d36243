// Batch norm, local response normalisation, sums and reductions: host versions beside the reference.
#include <gtest/gtest.h>

#include "ridgeline/device/cuda/kernels/launches.h"
#include "tests/device/cuda/op_support.h"

namespace ridgeline::cuda::testing {
namespace {

constexpr int kNormRounds = 40;

TEST(CudaBatchNorm, TrainingGivesTheReferencesResultsAndStatistics) {
  for (int round = 0; round < kNormRounds; ++round) {
    Values values(static_cast<unsigned>(round));
    const DType type = kStorageTypes[round % 3];
    const Shape shape{values.pick({1, 2, 5}), values.pick({2, 7, 13}), values.pick({1, 3, 30}),
                      values.pick({1, 3, 8, 16, 24, 40, 264})};
    const std::int64_t channels = shape[3];
    const bool addend = values.coin(), relu = values.coin(), in_place = values.coin();
    const double offset = values.coin() ? 30 : 0;  // a mean that is large beside the deviation
    std::vector<Tensor> inputs = {values.uniform(type, shape, offset - 1, offset + 1)};
    for (int i = 0; i < 4; ++i) inputs.push_back(values.uniform(DType::f32, {channels}, 0.5, 1.5));
    if (addend) inputs.push_back(values.uniform(type, shape));
    const auto expected = reference_of("batch_norm_train", inputs,
                                       {{"activation", std::string(relu ? "relu" : "none")}, {"momentum", 0.2}});
    const BatchNorm norm{type, shape.elements() / channels, channels, 1e-5};
    auto memory = scratch(batch_norm_scratch(norm));
    Tensor y = in_place ? inputs[0].clone() : noise(type, shape);
    std::vector<Tensor> got;
    for (int i = 0; i < 4; ++i) got.push_back(noise(DType::f32, {channels}));
    BatchNormTrain a{};
    a.x = in_place ? y.raw() : inputs[0].raw();
    a.gamma = of<float>(inputs[1]);
    a.beta = of<float>(inputs[2]);
    a.running_mean = of<float>(inputs[3]);
    a.running_var = of<float>(inputs[4]);
    a.addend = addend ? inputs[5].raw() : nullptr;
    a.relu = relu;
    a.momentum = 0.2;
    a.y = y.raw();
    a.mean = of<float>(got[0]);
    a.inv_std = of<float>(got[1]);
    a.new_running_mean = of<float>(got[2]);
    a.new_running_var = of<float>(got[3]);
    a.scratch = memory.data();
    batch_norm_train(run_on_host, norm, a);
    SCOPED_TRACE(std::to_string(round) + " " + shape.to_string());
    EXPECT_EQ(outside_band(y, expected[0], type == DType::f32 ? 300 : 3, 4), "");
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_EQ(outside_band(got[i], expected[i + 1], i == 1 ? 100 : 8, i == 0 ? 1 : 1), "") << i;
  }
}

TEST(CudaBatchNorm, EvaluationGivesTheReferencesResults) {
  for (int round = 0; round < kNormRounds; ++round) {
    Values values(static_cast<unsigned>(round));
    const DType type = kStorageTypes[round % 3];
    const Shape shape{values.pick({1, 70, 513}), values.pick({1, 3, 8, 16, 24, 40, 264})};
    const bool addend = values.coin(), relu = values.coin(), inverse = values.coin();
    std::vector<Tensor> inputs = {values.special(type, shape)};
    for (int i = 0; i < 4; ++i) inputs.push_back(values.uniform(DType::f32, {shape[1]}, 0.5, 1.5));
    if (addend) inputs.push_back(values.uniform(type, shape));
    const auto expected = reference_of(
        "batch_norm_eval", inputs,
        {{"activation", std::string(relu ? "relu" : "none")}, {"var_is_inv_std", inverse}, {"epsilon", 1e-3}});
    const BatchNorm norm{type, shape[0], shape[1], 1e-3};
    auto memory = scratch(batch_norm_scratch(norm));
    Tensor y = noise(type, shape);
    BatchNormEval a{};
    a.x = inputs[0].raw();
    a.gamma = of<float>(inputs[1]);
    a.beta = of<float>(inputs[2]);
    a.mean = of<float>(inputs[3]);
    a.var = of<float>(inputs[4]);
    a.var_is_inv_std = inverse;
    a.addend = addend ? inputs[5].raw() : nullptr;
    a.relu = relu;
    a.y = y.raw();
    a.scratch = memory.data();
    batch_norm_eval(run_on_host, norm, a);
    EXPECT_EQ(outside_band(y, expected[0], type == DType::f32 ? 8 : 1.01, 4), "") << round;
  }
}

TEST(CudaBatchNorm, TheGradientGivesTheReferencesResultsThroughEachGate) {
  for (int round = 0; round < 2 * kNormRounds; ++round) {
    Values values(static_cast<unsigned>(round));
    const DType type = kStorageTypes[round % 3];
    const Shape shape{values.pick({2, 70, 513}), values.pick({1, 3, 8, 16, 24, 40, 264})};
    const auto gate = static_cast<NormGate>(round / 3 % 3);
    const bool addend = values.coin(), passed = values.coin();
    std::vector<Tensor> inputs = {values.uniform(type, shape), values.uniform(type, shape)};
    for (int i = 0; i < 3; ++i) inputs.push_back(values.uniform(DType::f32, {shape[1]}, 0.5, 1.5));
    if (gate == NormGate::of_x) inputs.push_back(values.uniform(DType::f32, {shape[1]}, 0.31, 0.9));
    if (gate == NormGate::of_y) inputs.push_back(values.special(type, shape));
    if (addend) inputs.push_back(values.uniform(type, shape));
    const char* const gates[] = {"none", "of_x", "of_y"};
    const auto expected =
        reference_of("batch_norm_bwd", inputs,
                     {{"gate", std::string(gates[static_cast<int>(gate)])}, {"addend", addend}, {"passed", passed}});
    const BatchNorm norm{type, shape[0], shape[1], 1e-5};
    auto memory = scratch(batch_norm_scratch(norm));
    Tensor dx = noise(type, shape), g = noise(type, shape);
    Tensor dgamma = noise(DType::f32, {shape[1]}), dbeta = noise(DType::f32, {shape[1]});
    BatchNormGradient a{};
    a.x = inputs[0].raw();
    a.dy = inputs[1].raw();
    a.gamma = of<float>(inputs[2]);
    a.mean = of<float>(inputs[3]);
    a.inv_std = of<float>(inputs[4]);
    a.gate = gate;
    if (gate == NormGate::of_x) a.beta = of<float>(inputs[5]);
    if (gate == NormGate::of_y) a.y = inputs[5].raw();
    if (addend) a.addend = inputs.back().raw();
    if (passed) a.g = g.raw();
    a.dx = dx.raw();
    a.dgamma = of<float>(dgamma);
    a.dbeta = of<float>(dbeta);
    a.scratch = memory.data();
    batch_norm_gradient(run_on_host, norm, a);
    SCOPED_TRACE(std::to_string(round) + " " + shape.to_string());
    const double band = type == DType::f32 ? 64 : 4;
    EXPECT_EQ(outside_band(dx, expected[0], band, 4), "");
    const double sums = type == DType::f32 || !passed ? 64 : 0x1p16;  // g is rounded where it is a result
    EXPECT_EQ(outside_band(dgamma, expected[1], sums, 8), "");
    EXPECT_EQ(outside_band(dbeta, expected[2], sums, 8), "");
    if (passed) {
      EXPECT_EQ(outside_band(g, expected[3], 1.01, 1e-30), "");
    }
  }
}

// Forward beside the plain result clamped, and both gates beside the gradient of what relu6_grad leaves of dy.
TEST(CudaBatchNorm, ACeilingIsThatOfAReluOfItsOwnAndClosesBothGates) {
  for (int round = 0; round < kNormRounds; ++round) {
    Values values(static_cast<unsigned>(round));
    const DType type = kStorageTypes[round % 3];
    const Shape shape{values.pick({2, 70, 513}), values.pick({3, 8, 24, 264})};
    // Channels around the ceiling, where many values round up to it.
    const Tensor x = values.uniform(type, shape, -2, 2), dy = values.uniform(type, shape);
    std::vector<Tensor> of_channels;
    for (const double low : {0.5, 5.0, 0.5, 0.5})
      of_channels.push_back(values.uniform(DType::f32, {shape[1]}, low, low + 1));
    Tensor running = noise(DType::f32, {shape[1]}), mean = running.clone(), inv_std = running.clone();
    const BatchNorm norm{type, shape[0], shape[1], 1e-5};
    auto memory = scratch(batch_norm_scratch(norm));
    Tensor y = noise(type, shape), plain = noise(type, shape);
    BatchNormTrain a{};
    a.x = x.raw();
    a.gamma = of<float>(of_channels[0]);
    a.beta = of<float>(of_channels[1]);
    a.running_mean = of<float>(of_channels[2]);
    a.running_var = of<float>(of_channels[3]);
    a.new_running_mean = a.new_running_var = of<float>(running);
    a.mean = of<float>(mean);
    a.inv_std = of<float>(inv_std);
    a.scratch = memory.data();
    a.y = plain.raw();
    batch_norm_train(run_on_host, norm, a);
    a.y = y.raw();
    a.relu = true;
    a.ceiling = 6;
    batch_norm_train(run_on_host, norm, a);
    EXPECT_EQ(unequal_bits(y, reference_of("relu6", {plain})[0]), "") << round;

    const Tensor gated = reference_of("relu6_grad", {y, dy})[0];
    std::vector<Tensor> results[3];
    for (const NormGate gate : {NormGate::none, NormGate::of_x, NormGate::of_y}) {
      auto& r = results[static_cast<int>(gate)];
      r = {noise(type, shape), noise(DType::f32, {shape[1]}), noise(DType::f32, {shape[1]})};
      BatchNormGradient g{};
      g.x = x.raw();
      g.dy = gate == NormGate::none ? gated.raw() : dy.raw();
      g.gamma = a.gamma;
      g.mean = a.mean;
      g.inv_std = a.inv_std;
      g.gate = gate;
      g.ceiling = 6;
      g.beta = a.beta;
      g.y = gate == NormGate::of_y ? y.raw() : nullptr;
      g.dx = r[0].raw();
      g.dgamma = of<float>(r[1]);
      g.dbeta = of<float>(r[2]);
      g.scratch = memory.data();
      batch_norm_gradient(run_on_host, norm, g);
    }
    for (int gate : {1, 2}) {
      for (std::size_t i = 0; i < 3; ++i)
        EXPECT_EQ(unequal_bits(results[gate][i], results[0][i]), "") << round << " gate " << gate << " result " << i;
    }
  }
}

TEST(CudaLocalResponseNorm, BothWaysGiveTheReferencesResults) {
  for (int round = 0; round < kNormRounds; ++round) {
    Values values(static_cast<unsigned>(round));
    const DType type = kStorageTypes[round % 3];
    const Shape shape{values.pick({1, 3, 50}), values.pick({1, 3, 5, 96, 300})};
    const std::int64_t size = values.pick({1, 3, 5, 9, 33});
    const double beta = values.coin() ? 0.75 : 0.6;
    const std::vector<Tensor> inputs = {values.uniform(type, shape), values.uniform(type, shape)};
    const Attributes attributes{{"size", size}, {"alpha", 0.5}, {"beta", beta}, {"bias", 1.5}};
    const Normalisation norm{type, shape.elements(), shape[1], size / 2, 1.5, 0.5 / static_cast<double>(size), beta};
    Tensor y = noise(type, shape), dx = noise(type, shape);
    local_response_norm(run_on_host, norm, inputs[0].raw(), y.raw());
    local_response_norm_gradient(run_on_host, norm, inputs[0].raw(), inputs[1].raw(), dx.raw());
    const double band = type == DType::f32 ? 16 : 1.01;
    EXPECT_EQ(outside_band(y, reference_of("lrn", {inputs[0]}, attributes)[0], band), "") << round;
    EXPECT_EQ(outside_band(dx, reference_of("lrn_bwd", inputs, attributes)[0], band), "") << round;
  }
}

TEST(CudaReductions, SumsMeansAndMaximaGiveTheReferencesResults) {
  for (int round = 0; round < 3 * kNormRounds; ++round) {
    Values values(static_cast<unsigned>(round));
    const DType type = kStorageTypes[round % 3];
    const Shape shape{values.pick({1, 3, 33}), values.pick({1, 49, 700, 20000}), values.pick({1, 2, 31, 33})};
    const int kind = round / 3 % 3;
    const Tensor x = kind == 2 ? values.special(type, shape) : values.uniform(type, shape);
    const char* const ops[] = {"reduce_sum", "reduce_mean", "reduce_max"};
    const auto expected = reference_of(ops[kind], {x}, {{"axes", Integers{1}}})[0];
    const Reduction r{type,     shape[0],  shape[1],
                      shape[2], kind == 2, kind == 1 ? 1.0 / static_cast<double>(shape[1]) : 1};
    auto memory = scratch(reduce_scratch(r));
    Tensor y = noise(type, expected.shape());
    reduce(run_on_host, r, x.raw(), y.raw(), memory.data());
    EXPECT_EQ(outside_band(y, expected, kind == 2 ? 0 : 1.01, 1e-3), "") << round << shape.to_string();
  }
}

TEST(CudaReductions, ColumnSumsGiveTheReferencesSums) {
  for (int round = 0; round < kNormRounds; ++round) {
    Values values(static_cast<unsigned>(round));
    const DType type = kStorageTypes[round % 3];
    const Shape shape{values.pick({1, 31, 1000, 5000}), values.pick({1, 3, 8, 24, 264})};
    const Tensor x = values.uniform(type, shape);
    const auto expected = reference_of("reduce_sum", {x}, {{"axes", Integers{0}}})[0];
    auto memory = scratch(column_sums_scratch(type, shape[0], shape[1]));
    Tensor y = noise(type, {shape[1]});
    column_sums(run_on_host, type, x.raw(), shape[0], shape[1], 1, type, y.raw(), memory.data());
    EXPECT_EQ(outside_band(y, expected, type == DType::f32 ? 64 : 1.1, 1), "") << round << shape.to_string();
  }
}

}  // namespace
}  // namespace ridgeline::cuda::testing
