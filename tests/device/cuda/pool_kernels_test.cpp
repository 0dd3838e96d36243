// Pools, losses and metrics: host versions beside the reference.
#include <gtest/gtest.h>

#include "ridgeline/device/cuda/kernels/launches.h"
#include "tests/device/cuda/op_support.h"

namespace ridgeline::cuda::testing {
namespace {

constexpr int kPoolRounds = 90;

struct PoolCase {
  Pool pool;
  Attributes attributes;
  Shape image, pooled;
};

PoolCase random_pool(Values& values, DType type) {
  PoolCase c;
  Pool& p = c.pool;
  p.type = type;
  p.n = values.pick({1, 3});
  p.h = values.pick({3, 8, 13});
  p.w = values.pick({4, 7, 14});
  p.c = values.pick({1, 3, 8, 12, 16, 24});
  p.kh = values.pick({1, 2, 3});
  p.kw = values.pick({2, 3, 4});
  p.sh = values.pick({1, 2, 3, 4});
  p.sw = values.pick({1, 2});
  if (values.coin()) p.sh = p.sw = 2;  // gradients go by tiles of pixels
  if (values.coin()) p.kh = p.kw = values.pick({2, 3});
  p.top = values.pick({0, p.kh - 1});
  p.left = values.pick({0, 1});
  const std::int64_t bottom = values.pick({0, p.kh - 1}), right = values.pick({0, p.kw - 1});
  p.oh = (p.h + p.top + bottom - p.kh) / p.sh + 1;
  p.ow = (p.w + p.left + right - p.kw) / p.sw + 1;
  c.attributes = {{"kernel", Integers{p.kh, p.kw}},
                  {"stride", Integers{p.sh, p.sw}},
                  {"pad", Integers{p.top, bottom, p.left, right}}};
  c.image = {p.n, p.h, p.w, p.c};
  c.pooled = {p.n, p.oh, p.ow, p.c};
  return c;
}

TEST(CudaPools, MaximaAndTheirPlacesAreTheReferencesWithNaNAndInfinities) {
  for (int round = 0; round < kPoolRounds; ++round) {
    Values values(static_cast<unsigned>(round));
    const PoolCase c = random_pool(values, kStorageTypes[round % 3]);
    const Tensor x = values.special(c.pool.type, c.image);
    const auto expected = reference_of("max_pool", {x}, c.attributes);
    Tensor y = noise(c.pool.type, c.pooled), index = noise(DType::u8, c.pooled);
    max_pool(run_on_host, c.pool, x.raw(), y.raw(), index.raw());
    EXPECT_EQ(unequal_bits(y, expected[0]), "") << round << c.image.to_string();
    EXPECT_EQ(unequal_bits(index, expected[1]), "") << round << c.image.to_string();
  }
}

TEST(CudaPools, TheGradientOfAMaximumPassesTheGateOfTheReluInFront) {
  for (int round = 0; round < kPoolRounds; ++round) {
    Values values(static_cast<unsigned>(round));
    PoolCase c = random_pool(values, kStorageTypes[round % 3]);
    const DType type = c.pool.type;
    const Tensor x = values.uniform(type, c.image);
    const auto pooled = reference_of("max_pool", {x}, c.attributes);
    Tensor dy = values.uniform(type, c.pooled);
    c.attributes.set("input", c.image.dims());
    const bool gate = values.coin();
    Tensor gated = dy.clone();
    for (std::int64_t i = 0; gate && i < dy.elements(); ++i) {
      if (pooled[0].at(i) <= 0) gated.set(i, 0);
    }
    const auto expected = reference_of("max_pool_bwd", {gated, pooled[1]}, c.attributes)[0];
    Tensor dx = noise(type, c.image);
    max_pool_gradient(run_on_host, c.pool, dy.raw(), pooled[1].raw(), gate ? pooled[0].raw() : nullptr, dx.raw());
    EXPECT_EQ(outside_band(dx, expected, 4, 1), "") << round << c.image.to_string();
  }
}

TEST(CudaPools, AveragesAndTheirGradientAreTheReferences) {
  for (int round = 0; round < kPoolRounds; ++round) {
    Values values(static_cast<unsigned>(round));
    PoolCase c = random_pool(values, kStorageTypes[round % 3]);
    const DType type = c.pool.type;
    const bool padding = values.coin();
    c.attributes.set("count_include_pad", padding);
    const Tensor x = values.uniform(type, c.image), dy = values.uniform(type, c.pooled);
    Tensor y = noise(type, c.pooled), dx = noise(type, c.image);
    average_pool(run_on_host, c.pool, padding, x.raw(), y.raw());
    average_pool_gradient(run_on_host, c.pool, padding, dy.raw(), dx.raw());
    EXPECT_EQ(outside_band(y, reference_of("avg_pool", {x}, c.attributes)[0], 4), "") << round;
    c.attributes.set("input", c.image.dims());
    EXPECT_EQ(outside_band(dx, reference_of("avg_pool_bwd", {dy}, c.attributes)[0], 4), "") << round;
  }
}

TEST(CudaLosses, SoftmaxCrossEntropyAndItsGradientAreTheReferences) {
  for (int round = 0; round < kPoolRounds; ++round) {
    Values values(static_cast<unsigned>(round));
    const DType type = kStorageTypes[round % 3];
    const std::int64_t rows = values.pick({1, 7, 64}), classes = values.pick({1, 2, 10, 127, 128, 129, 1000});
    const bool shares = values.coin(), masked = values.coin();
    const double smoothing = values.coin() ? 0.1 : 0;
    const Attributes attributes{{"label_smoothing", smoothing}};
    const Tensor x = values.uniform(type, {rows, classes}, -8, 8);
    const Tensor targets = shares ? values.uniform(type, {rows, classes}, 0, 1)
                                  : values.integers(DType::i32, {rows}, static_cast<int>(classes));
    const Tensor mask = values.integers(type, {rows}, 2), dloss = values.uniform(type, {rows});
    std::vector<Tensor> inputs = {x, targets};
    if (masked) inputs.push_back(mask);
    const auto expected = reference_of("softmax_cross_entropy", inputs, attributes);
    Targets t{};
    t.smoothing = smoothing;
    (shares ? t.shares : *reinterpret_cast<const void**>(&t.labels)) = targets.raw();
    if (masked) t.mask = mask.raw();
    Tensor loss = noise(type, {rows}), p = noise(type, {rows, classes}), bad = noise(DType::i32, {rows});
    softmax_cross_entropy(run_on_host, type, x.raw(), t, loss.raw(), p.raw(), bad.raw(), rows, classes);
    const double band = type == DType::f32 ? 16 : 1.1;
    EXPECT_EQ(outside_band(loss, expected[0], band * 16, 1), "") << round;
    EXPECT_EQ(outside_band(p, expected[1], band, 1e-2), "") << round;
    EXPECT_EQ(unequal_bits(bad, Tensor::zeros(DType::i32, {rows})), "");
    inputs = {expected[1], targets, dloss};
    if (masked) inputs.push_back(mask);
    const auto gradient = reference_of("softmax_cross_entropy_bwd", inputs, attributes)[0];
    Tensor dx = expected[1].clone();  // over the probabilities
    softmax_cross_entropy_gradient(run_on_host, type, dx.raw(), t, dloss.raw(), dx.raw(), rows, classes);
    EXPECT_EQ(outside_band(dx, gradient, band, 1), "") << round;
  }
}

TEST(CudaLosses, ABadLabelMakesNaNAndIsNamed) {
  const std::int64_t rows = 3, classes = 5;
  const Tensor x = Values(1).uniform(DType::f32, {rows, classes});
  const Tensor labels = Tensor::of(std::vector<std::int32_t>{4, 5, -1}, {rows});
  Targets t{};
  t.labels = labels.data<std::int32_t>();
  Tensor loss = noise(DType::f32, {rows}), p = noise(DType::f32, {rows, classes}), bad = noise(DType::i32, {rows});
  softmax_cross_entropy(run_on_host, DType::f32, x.raw(), t, loss.raw(), p.raw(), bad.raw(), rows, classes);
  EXPECT_EQ(loss.at(0), loss.at(0));
  EXPECT_NE(loss.at(1), loss.at(1));
  EXPECT_NE(loss.at(2), loss.at(2));
  EXPECT_EQ(unequal_bits(bad, Tensor::of(std::vector<std::int32_t>{0, 1, 1}, {rows})), "");
}

TEST(CudaMetrics, HitsAreTheReferencesWithTiesMasksAndInfinities) {
  for (int round = 0; round < kPoolRounds; ++round) {
    Values values(static_cast<unsigned>(round));
    const DType type = kStorageTypes[round % 3];
    const std::int64_t rows = values.pick({1, 7, 300}), classes = values.pick({1, 2, 10, 129});
    const std::int64_t k = values.pick({0, 1, 5});
    const bool masked = values.coin();
    const Tensor x = values.coin() ? values.special(type, {rows, classes}) : values.integers(type, {rows, classes}, 6);
    const Tensor labels = values.integers(DType::i32, {rows}, static_cast<int>(classes));
    const Tensor mask = values.integers(type, {rows}, 2);
    std::vector<Tensor> inputs = {x, labels};
    if (masked) inputs.push_back(mask);
    const auto expected =
        k == 0 ? reference_of("argmax_accuracy", inputs) : reference_of("top_k_accuracy", inputs, {{"k", k}});
    auto memory = scratch(top_k_scratch(rows));
    Tensor hits = noise(DType::f32, {});
    top_k_accuracy(run_on_host, type, x.raw(), labels.data<std::int32_t>(), masked ? mask.raw() : nullptr, k,
                   of<float>(hits), nullptr, rows, classes, memory.data());
    EXPECT_EQ(unequal_bits(hits, expected[0]), "") << round;
  }
}

}  // namespace
}  // namespace ridgeline::cuda::testing
