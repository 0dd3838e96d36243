// Error messages for operands or attributes that do not fit.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/op/evaluate.h"
#include "tests/graph/golden_support.h"
#include "tests/support/error_of.h"

namespace ridgeline::test {
namespace {

using Integers = std::vector<std::int64_t>;

ValueType f32(Shape shape) { return {DType::f32, std::move(shape)}; }
ValueType i32(Shape shape) { return {DType::i32, std::move(shape)}; }

std::string message_of(std::string_view op, const std::vector<ValueType>& inputs, const Attributes& attributes) {
  try {
    const OpDef& def = op_def(op);
    infer_types(def, inputs, complete_attributes(def, attributes), "node");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(OpErrors, SayWhatIsWrongAndWhatIsMeant) {
  struct Case {
    const char* op;
    std::vector<ValueType> inputs;
    Attributes attributes;
    const char* message;
  };
  const Attributes pool{{"kernel", Integers{3, 3}}, {"stride", Integers{2, 2}}};
  const Case cases[] = {
      {"conv2d",
       {f32({1, 27, 27, 96}), f32({256, 5, 5, 48})},
       {},
       "[conv2d] weight has 48 input channels, image has 96 with groups=1"},
      {"conv2d",
       {f32({1, 27, 27, 96}), f32({255, 5, 5, 48})},
       {{"groups", std::int64_t{2}}},
       "[conv2d] weight has 255 output channels, which groups=2 does not divide"},
      {"conv2d",
       {f32({1, 5, 5, 3}), f32({8, 11, 11, 3})},
       {},
       "[conv2d] kernel 11x11 with dilation 1x1 does not fit into the padded image 5x5 (image is [1,5,5,3])"},
      {"conv2d", {f32({5, 5, 3}), f32({8, 3, 3, 3})}, {}, "[conv2d] image must have rank 4, not f32[5,5,3]"},
      {"conv2d",
       {f32({1, 5, 5, 3}), f32({8, 3, 3, 3}), f32({7})},
       {},
       "[conv2d] bias is f32[7] where shape [8] is meant"},
      {"conv2d",
       {f32({1, 5, 5, 3}), {DType::f64, {8, 3, 3, 3}}},
       {},
       "[conv2d] operands f32[1,5,5,3] and f64[8,3,3,3] have different types"},
      {"conv2d", {i32({1, 5, 5, 3}), f32({8, 3, 3, 3})}, {}, "[conv2d] operand 0 must be floating, not i32[1,5,5,3]"},
      {"conv2d",
       {f32({1, 5, 5, 3}), f32({8, 3, 3, 3})},
       {{"stride", Integers{1, 0}}},
       "[conv2d] attribute 'stride' = [1,0]: 2 values of at least 1 are meant"},
      {"conv2d",
       {f32({1, 5, 5, 3}), f32({8, 3, 3, 3})},
       {{"activation", std::string("gelu")}},
       "[conv2d] unknown activation 'gelu' (allowed: none, relu)"},
      {"conv2d", {f32({1, 5, 5, 3})}, {}, "[conv2d] takes 2 to 4 operands, not 1"},
      {"conv2d",
       {f32({1, 5, 5, 3}), f32({8, 3, 3, 3})},
       {{"strides", Integers{1, 1}}},
       "[conv2d] has no attribute 'strides': did you mean 'stride'?"},
      {"dense",
       {f32({2, 9216}), f32({10, 4096})},
       {},
       "[dense] weight [10,4096] has 4096 inputs, x [2,9216] has 9216 columns"},
      {"dense",
       {f32({2, 3}), f32({4, 3}), f32({4}), f32({4})},
       {},
       "[dense] addend is f32[4] where shape [2,4] is meant"},
      {"max_pool",
       {f32({1, 2, 2, 3})},
       pool,
       "[max_pool] kernel 3x3 with dilation 1x1 does not fit into the padded image 2x2 (image is [1,2,2,3])"},
      {"max_pool",
       {f32({1, 9, 9, 3})},
       {{"kernel", Integers{2, 2}}, {"stride", Integers{2, 2}}, {"pad", Integers{2, 0, 0, 0}}},
       "[max_pool] pad [2,0,0,0] must be narrower than the kernel [2,2]"},
      {"max_pool",
       {f32({1, 99, 99, 3})},
       {{"kernel", Integers{16, 16}}, {"stride", Integers{2, 2}}},
       "[max_pool] kernel 16x16 has more than the 255 positions that a byte index can name"},
      {"avg_pool",
       {f32({1, 9, 9, 3})},
       {{"stride", Integers{2, 2}}},
       "[avg_pool] attribute 'kernel' is required: height and width of the window"},
      {"lrn",
       {f32({1, 2, 2, 8})},
       {{"size", std::int64_t{4}}},
       "[lrn] size=4 must be odd and positive: the window is centred on its channel"},
      {"batch_norm_train",
       {f32({1, 3}), f32({3}), f32({3}), f32({3}), f32({3})},
       {},
       "[batch_norm_train] more than one value per channel is needed, x is f32[1,3]"},
      {"batch_norm_eval",
       {f32({2, 3}), f32({3}), f32({4}), f32({3}), f32({3})},
       {},
       "[batch_norm_eval] operand 2 is f32[4], x [2,3] has 3 channels"},
      {"reduce_sum",
       {f32({2, 3})},
       {{"axes", Integers{-1}}},
       "[reduce_sum] axis -1 is outside rank 2 (axes count from 0)"},
      {"reduce_sum", {f32({2, 3})}, {{"axes", Integers{1, 1}}}, "[reduce_sum] axis 1 is named twice"},
      {"reshape", {f32({2, 3})}, {{"shape", Integers{4, 2}}}, "[reshape] x [2,3] has 6 elements, shape [4,2] has 8"},
      {"flatten",
       {f32({1, 2, 2, 3})},
       {{"order", std::string("whc")}},
       "[flatten] unknown order 'whc' (allowed: hwc, chw)"},
      {"broadcast_to", {f32({3})}, {{"shape", Integers{3, 2}}}, "[broadcast_to] x [3] does not broadcast to [3,2]"},
      {"pad",
       {f32({3})},
       {{"low", Integers{-2}}, {"high", Integers{-1}}},
       "[pad] low [-2] and high [-1] leave nothing of x [3] along axis 0"},
      {"strided_slice",
       {f32({5})},
       {{"start", Integers{1}}, {"stride", Integers{2}}, {"size", Integers{3}}},
       "[strided_slice] start [1], stride [2] and size [3] leave x [5] along axis 0"},
      {"softmax_cross_entropy",
       {f32({4, 10}), i32({3})},
       {},
       "[softmax_cross_entropy] labels is i32[3] where shape [4] is meant"},
      {"softmax_cross_entropy",
       {f32({4, 10}), f32({4})},
       {},
       "[softmax_cross_entropy] labels is f32[4] where shape [4,10] is meant"},
      {"softmax_cross_entropy",
       {f32({4, 10}), i32({4})},
       {{"label_smoothing", 1.5}},
       "[softmax_cross_entropy] label_smoothing=1.5 is outside [0, 1]"},
      {"top_k_accuracy", {f32({4, 10}), i32({4})}, {{"k", std::int64_t{0}}}, "[top_k_accuracy] k=0 must be at least 1"},
      {"l2_penalty", {}, {{"factor", 1.0}}, "[l2_penalty] takes 1 or more operands, not 0"},
      {"image_tail",
       {f32({1, 2, 2, 3})},
       {{"mean", std::vector<double>{0, 0, 0}}, {"std", std::vector<double>{1, 1, 1}}},
       "[image_tail] image must be u8, not f32[1,2,2,3]"},
      {"image_tail",
       {{DType::u8, {1, 2, 2, 3}}},
       {{"mean", std::vector<double>{0, 0, 0}}, {"std", std::vector<double>{1, 0, 1}}},
       "[image_tail] std=[1.0,0.0,1.0] must be positive"},
      {"matmul", {f32({3}), f32({3, 4})}, {}, "[matmul] a must have rows and columns, not f32[3]"},
      {"matmul", {f32({2, 3}), f32({4, 5})}, {}, "[matmul] a [2,3] has 3 columns, b [4,5] has 4 rows"},
      {"matmul",
       {f32({2, 3}), f32({3, 5})},
       {{"transpose_b", true}},
       "[matmul] a [2,3] has 3 columns, b [3,5] (transposed) has 5 rows"},
      {"matmul",
       {f32({2, 4, 3}), f32({3, 3, 5})},
       {},
       "[matmul] a [2,4,3] and b [3,3,5] do not match in front of their matrices"},
      {"concat",
       {f32({2, 3}), f32({3, 3})},
       {{"axis", std::int64_t{1}}},
       "[concat] operand 1 is f32[3,3] beside f32[2,3]: the same type and extents are meant but along axis 1"},
      {"concat",
       {f32({2, 3})},
       {{"axis", std::int64_t{2}}},
       "[concat] axis 2 is outside rank 2 (axes count from 0, or from -1 at the last one)"},
      {"split",
       {f32({2, 6})},
       {{"axis", std::int64_t{-1}}, {"sizes", Integers{2, 3}}},
       "[split] sizes [2,3] add up to 5, x [2,6] has 6 along axis 1"},
      {"split",
       {f32({2, 6})},
       {{"axis", std::int64_t{1}}, {"sizes", Integers{6, 0}}},
       "[split] sizes [6,0] have one below 1"},
      {"layer_norm",
       {f32({2, 6}), f32({2}), f32({2})},
       {},
       "[layer_norm] gamma is f32[2], which are not the last axes of x [2,6]"},
      {"layer_norm",
       {f32({2, 6}), f32({6}), f32({6})},
       {{"epsilon", 0.0}},
       "[layer_norm] epsilon=0.0 must be positive"},
      {"group_norm",
       {f32({2, 3, 3, 6}), f32({6}), f32({6})},
       {{"groups", std::int64_t{4}}},
       "[group_norm] groups=4 does not divide the 6 channels of x [2,3,3,6]"},
      {"group_norm",
       {f32({2, 3, 3, 6}), f32({5}), f32({5})},
       {{"groups", std::int64_t{2}}},
       "[group_norm] gamma is f32[5], x [2,3,3,6] has 6 channels"},
      {"gather", {f32({5, 4}), f32({2})}, {}, "[gather] indices must be i32, not f32[2]"},
      {"gather_bwd",
       {f32({2, 3}), i32({2})},
       {{"input", Integers{5, 4}}},
       "[gather_bwd] dy is f32[2,3] where shape [2,4] is meant"},
      {"softmax",
       {f32({2, 3})},
       {{"axis", std::int64_t{-3}}},
       "[softmax] axis -3 is outside rank 2 (axes count from 0, or from -1 at the last one)"},
      {"softmax_cross_entropy",
       {f32({4, 0}), i32({4})},
       {},
       "[softmax_cross_entropy] operand 0 is f32[4,0]: no classes"},
      {"conv2d",
       {f32({1, 5, 5, 4}), f32({0, 3, 3, 4})},
       {{"groups", (std::int64_t{1} << 62) + 1}},
       "[conv2d] weight has 4 input channels, image has 4 with groups=4611686018427387905"},
      {"dense_update",
       {f32({4, 3}), f32({5, 3}), f32({5, 4}), f32({})},
       {{"states", std::int64_t{1}}, {"expression", std::string("sum(x0 - x2 * x1)")}},
       "[dense_update] the expression 'sum(x0 - x2 * x1)' gives f32[] where the next value of a state, f32[4,3], is "
       "meant"},
      {"dense_update",
       {f32({4, 3}), f32({4, 3}), f32({5, 3}), f32({5, 4}), f32({})},
       {{"states", std::int64_t{2}}, {"expression", std::string("x0 - x3 * x2")}},
       "[dense_update] the expression 'x0 - x3 * x2' gives 1 results where 2 next states are meant"},
      {"dense_update",
       {f32({4, 3}), f32({5, 3}), f32({6, 4}), f32({})},
       {{"states", std::int64_t{1}}, {"expression", std::string("x0 - x2 * x1")}},
       "[dense_update] x [5,3] and dy [6,4] have different numbers of rows"},
      {"update_group",
       {f32({3}), f32({3}), f32({})},
       {{"expression", std::string("sum(x0 - x2 * x1)")}},
       "[update_group] the expression 'sum(x0 - x2 * x1)' gives f32[] where the next value of a state, f32[3], is "
       "meant"},
      {"update_group",
       {f32({3}), f32({3}), f32({})},
       {{"expression", std::string("x0 - x2 * x1 : bf16")}},
       "[update_group] the expression 'x0 - x2 * x1 : bf16' gives bf16[3] where the next value of a state, f32[3], is "
       "meant"},
  };
  for (const Case& c : cases) EXPECT_EQ(message_of(c.op, c.inputs, c.attributes), c.message);
}

Tensor labels(const std::vector<std::int32_t>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return Tensor::of(values, {count});
}

TEST(OpErrors, AnIndexOutsideTheTableNamesItsPosition) {
  const Tensor table = Tensor::zeros(DType::f32, {5, 2});
  EXPECT_EQ(error_of([&] { run_op("gather", {table, labels({0, 4, 5})}); }),
            "[gather] index 5 at position 2 is outside the 5 rows");
  EXPECT_EQ(error_of([&] { run_op("gather", {table, labels({0, -1})}); }),
            "[gather] index -1 at position 1 is outside the 5 rows");
}

TEST(OpErrors, ALabelOutsideTheClassesNamesItsRow) {
  const Tensor logits = Tensor::zeros(DType::f32, {4, 10});
  for (const char* op : {"softmax_cross_entropy", "argmax_accuracy"}) {
    try {
      run_op(op, {logits, labels({1, 2, 3, 12})});
      FAIL() << op;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()), "[" + std::string(op) + "] label 12 of row 3 is outside the 10 classes");
    }
  }
}

TEST(OpErrors, APoolingIndexOutsideTheImageIsTheUsersMistake) {
  const OpDef& def = op_def("max_pool_bwd");
  const Attributes attributes = complete_attributes(
      def, {{"kernel", Integers{2, 2}}, {"stride", Integers{2, 2}}, {"input", Integers{1, 2, 2, 1}}});
  Tensor index(DType::u8, {1, 1, 1, 1});
  const Tensor operands[] = {Tensor::of<float>({3}, {1, 1, 1, 1}), index};
  index.set(0, 3);
  EXPECT_EQ(run_reference(def, operands, attributes, "node")[0].at(3), 3);
  index.set(0, 4);
  EXPECT_EQ(error_of([&] { run_reference(def, operands, attributes, "node"); }),
            "[max_pool_bwd] index 4 of element 0 names no pixel of the image in its window");
}

TEST(OpErrors, LabelsOfMaskedRowsAreNotRead) {
  const Tensor logits = Tensor::zeros(DType::f32, {2, 4});
  const Tensor mask = Tensor::of(std::vector<float>{1, 0}, {2});
  const auto results = run_op("softmax_cross_entropy", {logits, labels({3, -1}), mask});
  EXPECT_NEAR(results[0].at(0), 1.3862943611, 1e-6);
  EXPECT_EQ(results[0].at(1), 0);
  const Tensor dlogits = run_op("softmax_cross_entropy_bwd",
                                {results[1], labels({3, -1}), Tensor::of(std::vector<float>{1, 1}, {2}), mask})[0];
  for (std::int64_t k = 4; k < 8; ++k) EXPECT_EQ(dlogits.at(k), 0);
  EXPECT_EQ(run_op("top_k_accuracy", {logits, labels({3, -1}), mask}, {{"k", std::int64_t{1}}})[0].at(0), 1);
}

TEST(OpRules, SharesOfOneClassAreThatClassAndMixedSharesMixLosses) {
  const Tensor logits = Tensor::of(std::vector<float>{1, -2, 0.5, 3, 0, 1}, {2, 3});
  const Tensor ones = Tensor::of(std::vector<float>{1, 1}, {2});
  const auto losses = [&](const Tensor& target) {
    return run_op("softmax_cross_entropy", {logits, target}, {{"label_smoothing", 0.1}});
  };
  const Tensor first = Tensor::of(std::vector<float>{0, 1, 0, 0, 0, 1}, {2, 3});
  const Tensor mixed = Tensor::of(std::vector<float>{0.25, 0.75, 0, 0, 0.25, 0.75}, {2, 3});
  const auto of_labels = losses(labels({1, 2})), of_shares = losses(first), of_others = losses(labels({0, 1}));
  const auto of_mixed = losses(mixed);
  const auto gradient = [&](const Tensor& target) {
    return run_op("softmax_cross_entropy_bwd", {of_labels[1], target, ones}, {{"label_smoothing", 0.1}})[0];
  };
  const Tensor by_labels = gradient(labels({1, 2})), by_shares = gradient(first);
  for (std::int64_t n = 0; n < 2; ++n) {
    EXPECT_NEAR(of_shares[0].at(n), of_labels[0].at(n), 1e-6);
    EXPECT_NEAR(of_mixed[0].at(n), 0.75 * of_labels[0].at(n) + 0.25 * of_others[0].at(n), 1e-6);
  }
  for (std::int64_t i = 0; i < 6; ++i) EXPECT_NEAR(by_shares.at(i), by_labels.at(i), 1e-6);
}

TEST(OpRules, TiesCountAsTopKHitsAndOnlyTheFirstMaximumIsTheArgmax) {
  // A row of equal logits, as a final relu may give.
  const Tensor logits = Tensor::of(std::vector<float>{0, 0, 0, 0, 1, 2, 2, 0}, {2, 4});
  const auto top = [&](std::int32_t first, std::int32_t second, std::int64_t k) {
    return run_op("top_k_accuracy", {logits, labels({first, second})}, {{"k", k}})[0].at(0);
  };
  EXPECT_EQ(top(3, 2, 1), 2);
  EXPECT_EQ(top(3, 0, 1), 1);
  EXPECT_EQ(top(3, 0, 3), 2);
  const auto argmax = [&](std::int32_t first, std::int32_t second) {
    return run_op("argmax_accuracy", {logits, labels({first, second})})[0].at(0);
  };
  EXPECT_EQ(argmax(0, 1), 2);
  EXPECT_EQ(argmax(3, 2), 0);
}

TEST(OpRules, ARowThatIsNotFiniteIsNoHit) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor logits = Tensor::of(std::vector<float>{nan, 1, nan, nan}, {2, 2});
  EXPECT_EQ(run_op("argmax_accuracy", {logits, labels({1, 0})})[0].at(0), 0);
  EXPECT_EQ(run_op("top_k_accuracy", {logits, labels({1, 0})}, {{"k", std::int64_t{2}}})[0].at(0), 0);
}

TEST(OpRules, MaximumPoolingTakesTheFirstOfEqualsAndLetsNaNThrough) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = Tensor::of(std::vector<float>{5, 5, 1, nan, 5, 5, 2, 3}, {1, 2, 4, 1});
  const auto results = run_op("max_pool", {x}, {{"kernel", Integers{2, 2}}, {"stride", Integers{2, 2}}});
  EXPECT_EQ(results[0].at(0), 5);
  EXPECT_EQ(results[1].at(0), 0);
  EXPECT_TRUE(std::isnan(results[0].at(1)));
  EXPECT_EQ(results[1].at(1), 1);
}

TEST(OpRules, PaddingNeverWinsAMaximum) {
  const Tensor x = Tensor::of(std::vector<float>{-3, -1, -2, -4}, {1, 2, 2, 1});
  const auto results =
      run_op("max_pool", {x}, {{"kernel", Integers{3, 3}}, {"stride", Integers{1, 1}}, {"pad", Integers{1, 1, 1, 1}}});
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(results[0].at(i), -1);
}

TEST(OpRules, FlattenInBothOrders) {
  const Tensor x = Tensor::of(std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}, {1, 2, 2, 2});
  const auto row = [&](const char* order) {
    const Tensor y = run_op("flatten", {x}, {{"order", std::string(order)}})[0];
    return std::vector<float>(y.span<float>().begin(), y.span<float>().end());
  };
  EXPECT_EQ(row("hwc"), (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(row("chw"), (std::vector<float>{0, 2, 4, 6, 1, 3, 5, 7}));
}

}  // namespace
}  // namespace ridgeline::test
