// Norms of samples, softmax over axes and rows of tables: host versions beside the reference, and beside the CPU's
// kernel where its bits are promised.
#include <gtest/gtest.h>

#include <cmath>

#include "ridgeline/device/cpu/cpu_device.h"
#include "ridgeline/device/cuda/kernels/launches.h"
#include "tests/device/cuda/op_support.h"

namespace ridgeline::cuda::testing {
namespace {

constexpr int kSequenceRounds = 40;

TEST(CudaSampleNorm, BothNormsAndTheirGradientsAreTheReferencesInPlaceAndWithLargeMeans) {
  for (int round = 0; round < kSequenceRounds; ++round) {
    Values values(static_cast<unsigned>(round));
    const DType type = kStorageTypes[round % 3];
    const bool rows = values.coin(), in_place = values.coin();
    const std::int64_t n = values.pick({1, 3, 70}), hw = values.pick({1, 7, 100}),
                       groups = rows ? 1 : values.pick({1, 2, 4}), channels = groups * values.pick({1, 3, 8, 96});
    const double offset = values.coin() ? 30 : 0;
    const Shape shape{n, hw, channels};
    const std::string op = rows ? "layer_norm" : "group_norm";
    const Attributes attributes = rows ? Attributes{} : Attributes{{"groups", groups}};
    const Tensor x = values.uniform(type, shape, offset - 1, offset + 1), dy = values.uniform(type, shape);
    const Tensor gamma = values.uniform(DType::f32, {channels}, 0.5, 1.5),
                 beta = values.uniform(DType::f32, {channels});
    const auto expected = reference_of(op, {x, gamma, beta}, attributes);
    const SampleNorm norm{type, rows ? n * hw : n, rows ? 1 : hw, channels, groups, 1e-5};
    auto memory = scratch(sample_norm_scratch(norm));
    Tensor y = in_place ? x.clone() : noise(type, shape);
    Tensor mean = noise(DType::f32, expected[1].shape()), inv_std = noise(DType::f32, expected[2].shape());
    sample_norm(run_on_host, norm, in_place ? y.raw() : x.raw(), gamma.data<float>(), beta.data<float>(), y.raw(),
                of<float>(mean), of<float>(inv_std), memory.data());
    SCOPED_TRACE(std::to_string(round) + " " + op + " " + shape.to_string());
    // Where a group has one value, or is near to constant, epsilon alone is below the root.
    EXPECT_EQ(outside_band(y, expected[0], type == DType::f32 ? 3000 : 3, 4), "");
    EXPECT_EQ(outside_band(mean, expected[1], 8, 1), "");
    EXPECT_EQ(outside_band(inv_std, expected[2], 2000, 1), "");
    const auto gradient = reference_of(op + "_bwd", {x, dy, gamma, expected[1], expected[2]}, attributes);
    auto room = scratch(sample_norm_gradient_scratch(norm));
    Tensor dx = in_place ? dy.clone() : noise(type, shape);
    Tensor dgamma = noise(DType::f32, {channels}), dbeta = noise(DType::f32, {channels});
    sample_norm_gradient(run_on_host, norm,
                         {.x = x.raw(),
                          .dy = in_place ? dx.raw() : dy.raw(),
                          .gamma = gamma.data<float>(),
                          .mean = expected[1].data<float>(),
                          .inv_std = expected[2].data<float>(),
                          .dx = dx.raw(),
                          .dgamma = of<float>(dgamma),
                          .dbeta = of<float>(dbeta),
                          .scratch = room.data()});
    double largest = 1;
    for (std::int64_t i = 0; i < inv_std.elements(); ++i) largest = std::max(largest, expected[2].at(i));
    EXPECT_EQ(outside_band(dx, gradient[0], type == DType::f32 ? 300 : 3, largest), "");
    EXPECT_EQ(outside_band(dgamma, gradient[1], 300, std::sqrt(static_cast<double>(n * hw)) * largest), "");
    EXPECT_EQ(outside_band(dbeta, gradient[2], 100, std::sqrt(static_cast<double>(n * hw))), "");
  }
}

TEST(CudaSampleNorm, OneNaNMakesItsGroupNaNAndNoOther) {
  const std::int64_t channels = 6, positions = 4;
  for (const std::int64_t groups : {1, 3}) {
    Values values(5);
    Tensor x = values.uniform(DType::f32, {2, positions, channels}), y = noise(DType::f32, x.shape());
    x.set(positions * channels + 1, std::nan(""));  // of the second sample, channel 1
    const Tensor gamma = values.uniform(DType::f32, {channels}), beta = values.uniform(DType::f32, {channels});
    const SampleNorm norm{DType::f32, 2, positions, channels, groups};
    auto memory = scratch(sample_norm_scratch(norm));
    Tensor mean = noise(DType::f32, {2, groups}), inv_std = noise(DType::f32, {2, groups});
    sample_norm(run_on_host, norm, x.raw(), gamma.data<float>(), beta.data<float>(), y.raw(), of<float>(mean),
                of<float>(inv_std), memory.data());
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      const bool of_group = i >= positions * channels && i % channels / (channels / groups) == 0;
      EXPECT_EQ(std::isnan(y.at(i)), of_group) << i << " of " << groups << " groups";
    }
  }
}

TEST(CudaSoftmax, OverAnyAxisAndItsGradientAreTheReferencesInPlaceToo) {
  for (int round = 0; round < kSequenceRounds; ++round) {
    Values values(static_cast<unsigned>(round));
    const DType type = kStorageTypes[round % 3];
    const Shape shape{values.pick({1, 3, 70}), values.pick({1, 2, 10, 197, 700}), values.pick({1, 1, 3, 40})};
    const bool in_place = values.coin();
    const SoftmaxAxis axis{type, shape[0], shape[1], shape[2]};
    const Attributes attributes{{"axis", std::int64_t{1}}};
    const Tensor x = values.uniform(type, shape, -8, 8), dy = values.uniform(type, shape);
    const Tensor expected = reference_of("softmax", {x}, attributes)[0];
    Tensor y = in_place ? x.clone() : noise(type, shape);
    softmax(run_on_host, axis, in_place ? y.raw() : x.raw(), y.raw());
    const double band = type == DType::f32 ? 16 : 2.1;  // a rounding may go the other way
    EXPECT_EQ(outside_band(y, expected, band, 1e-2), "") << round << ' ' << shape.to_string();
    const Tensor gradient = reference_of("softmax_bwd", {expected, dy}, attributes)[0];
    Tensor dx = in_place ? dy.clone() : noise(type, shape);
    softmax_gradient(run_on_host, axis, expected.raw(), in_place ? dx.raw() : dy.raw(), dx.raw());
    EXPECT_EQ(outside_band(dx, gradient, band, 1e-1), "") << round << ' ' << shape.to_string();
  }
}

TEST(CudaSoftmax, ARowThatHoldsANaNOrNothingButMinusInfinityIsNaNAlone) {
  Values values(3);
  for (const bool last : {true, false}) {
    const Shape shape = last ? Shape{3, 5} : Shape{5, 3};
    Tensor x = values.uniform(DType::f32, shape), y = noise(DType::f32, shape);
    const auto at = [&](std::int64_t row, std::int64_t k) { return last ? row * 5 + k : k * 3 + row; };
    x.set(at(0, 2), std::nan(""));
    for (std::int64_t k = 0; k < 5; ++k) x.set(at(1, k), -INFINITY);
    softmax(run_on_host, last ? SoftmaxAxis{DType::f32, 3, 5, 1} : SoftmaxAxis{DType::f32, 1, 5, 3}, x.raw(), y.raw());
    for (std::int64_t k = 0; k < 5; ++k) {
      EXPECT_TRUE(std::isnan(y.at(at(0, k))) && std::isnan(y.at(at(1, k)))) << k;
      EXPECT_FALSE(std::isnan(y.at(at(2, k)))) << k;
    }
  }
}

// Rows of a table are its bytes; the sums of the gradient are those of the CPU's kernel, bit by bit.
TEST(CudaGather, RowsAndGradientsHaveTheBitsOfTheCpu) {
  CpuDevice cpu;
  for (int round = 0; round < kSequenceRounds; ++round) {
    Values values(static_cast<unsigned>(round));
    const DType type = round % 2 == 0 ? DType::f32 : DType::bf16;
    const std::int64_t outer = values.pick({1, 3}), rows = values.pick({1, 5, 50}), count = values.pick({1, 7, 9000}),
                       inner = values.pick({1, 3, 24});
    const GatherShape shape{outer, rows, count, inner};
    const Tensor table = values.special(type, {outer, rows, inner}),
                 numbers = values.integers(DType::i32, {count}, static_cast<int>(rows)),
                 dy = values.uniform(type, {outer, count, inner});
    Tensor y = noise(type, {outer, count, inner}), dtable = noise(type, table.shape());
    gather(run_on_host, shape, size_of(type), 0, table.raw(), numbers.data<std::int32_t>(), y.raw());
    EXPECT_EQ(unequal_bits(y, reference_of("gather", {table, numbers}, {{"axis", std::int64_t{1}}})[0]), "") << round;
    gather_gradient(run_on_host, shape, type, dy.raw(), numbers.data<std::int32_t>(), dtable.raw());

    Node node;
    node.op = node.name = "gather_bwd";
    const OpDef& def = op_def(node.op);
    node.attributes = complete_attributes(def, {{"axis", std::int64_t{1}}, {"input", table.shape().dims()}});
    KernelRequest request{def,
                          node,
                          {{{type, dy.shape()}, {}, false}, {{DType::i32, {count}}, {}, false}},
                          {{{type, table.shape()}, {}, false}},
                          {},
                          &cpu};
    std::unique_ptr<Kernel> kernel;
    for (const KernelEntry& entry : cpu.kernels(node.op)) {
      KernelChoice choice = entry.make(request);
      auto* made = std::get_if<std::unique_ptr<Kernel>>(&choice);
      if (made != nullptr && entry.provider == Provider::own && !(*made)->emulates) kernel = std::move(*made);
    }
    ASSERT_TRUE(kernel);
    Tensor of_cpu = noise(type, table.shape());
    void* inputs[] = {const_cast<void*>(dy.raw()), const_cast<void*>(numbers.raw())};
    void* outputs[] = {of_cpu.raw()};
    auto room = scratch(kernel->scratch_bytes);
    kernel->run({inputs, outputs, room.data()});
    EXPECT_EQ(unequal_bits(dtable, of_cpu), "") << round;
  }
}

TEST(CudaGather, ANumberThatIsNoRowGivesWhatTheCallerSaysAndNoGradient) {
  const Tensor table = Tensor::of(std::vector<float>{1, 2, 3, 4}, {2, 2});
  const Tensor numbers = Tensor::of(std::vector<std::int32_t>{1, 2, -1, 0}, {4});
  Tensor y = noise(DType::f32, {4, 2}), dtable = noise(DType::f32, {2, 2});
  gather(run_on_host, {1, 2, 4, 2}, 4, 0x7fc00000u, table.raw(), numbers.data<std::int32_t>(), y.raw());
  EXPECT_EQ(unequal_bits(y, Tensor::of(std::vector<float>{3, 4, NAN, NAN, NAN, NAN, 1, 2}, {4, 2})), "");
  const Tensor dy = Tensor::of(std::vector<float>{1, 1, 10, 10, 100, 100, 1000, 1000}, {4, 2});
  gather_gradient(run_on_host, {1, 2, 4, 2}, DType::f32, dy.raw(), numbers.data<std::int32_t>(), dtable.raw());
  EXPECT_EQ(unequal_bits(dtable, Tensor::of(std::vector<float>{1000, 1000, 1, 1}, {2, 2})), "");
}

}  // namespace
}  // namespace ridgeline::cuda::testing
