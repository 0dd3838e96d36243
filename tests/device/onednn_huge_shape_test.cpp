// oneDNN counts in ints and does not check for overflow: the process ends in a division by zero, or searches for
// minutes. Such shapes must not reach it.
#include <gtest/gtest.h>

#include "ridgeline/device/cpu/kernel_table.h"

namespace ridgeline {
namespace {

struct HugeCase {
  std::string op;
  std::vector<Shape> inputs;
  Attributes attributes;

  // The result of the library's entry: "" for a kernel, else the reason of its refusal.
  std::string refusal() const {
    const OpDef& def = op_def(op);
    Node node;
    node.op = op;
    node.name = "under_test";
    node.attributes = complete_attributes(def, attributes);
    KernelRequest request{def, node, {}, {}};
    std::vector<ValueType> types;
    for (const Shape& shape : inputs) types.push_back({DType::f32, shape});
    if (op == "max_pool_bwd") types.back().dtype = DType::u8;
    for (const ValueType& type : types) request.inputs.push_back({type, {}, true});
    for (const ValueType& type : infer_types(def, types, node.attributes, node.name))
      request.outputs.push_back({type, {}, true});
    const KernelChoice choice = cpu_kernels(op, Provider::library).front().make(request);
    const auto* reason = std::get_if<Refusal>(&choice);
    return reason == nullptr ? "" : reason->reason;
  }
};

using Integers = std::vector<std::int64_t>;

Attributes with_pad(const char* name, Attribute value) {
  Attributes attributes{{"pad", Integers{1, 1, 1, 1}}};
  attributes.set(name, std::move(value));
  return attributes;
}

// Convolutions of 3x3 and 1x1, forward and backward, over a square image from `c` to `k` channels.
std::vector<HugeCase> convolutions(std::int64_t side, std::int64_t c, std::int64_t k) {
  const Shape x{1, side, side, c}, y{1, side, side, k}, three{k, 3, 3, c}, one{k, 1, 1, c};
  return {{"conv2d", {x, three}, {{"pad", Integers{1, 1, 1, 1}}}},
          {"conv2d_bwd_data", {y, three}, with_pad("input", x.dims())},
          {"conv2d_bwd_weights", {x, y}, with_pad("kernel", Integers{3, 3})},
          {"conv2d", {x, one}, {}},
          {"conv2d_bwd_data", {y, one}, {{"input", x.dims()}}},
          {"conv2d_bwd_weights", {x, y}, {{"kernel", Integers{1, 1}}}}};
}

TEST(HugeShapes, AreRefusedByTheConvolutionsOfTheLibrary) {
  for (const std::int64_t side : {8192, 65536, 1 << 26}) {
    for (const HugeCase& c : convolutions(side, 64, 64))
      EXPECT_NE(c.refusal().find("larger than oneDNN can count"), std::string::npos) << c.op << ' ' << side;
  }
  for (const HugeCase& c : convolutions(65536, 3, 16)) EXPECT_NE(c.refusal(), "") << c.op;
}

TEST(HugeShapes, OfAFewGigabytesAreStillTaken) {
  for (const HugeCase& c : convolutions(4096, 3, 64)) EXPECT_EQ(c.refusal(), "") << c.op;
}

TEST(HugeShapes, AreRefusedByDenseLayers) {
  const std::int64_t pixels = std::int64_t{65536} * 65536 * 3;
  const Shape x{2, pixels}, w{10, pixels}, y{2, 10};
  EXPECT_NE((HugeCase{"dense", {x, w}, {}}.refusal()), "");
  EXPECT_NE((HugeCase{"dense_bwd_data", {y, w}, {}}.refusal()), "");
  EXPECT_NE((HugeCase{"dense_bwd_weights", {x, y}, {}}.refusal()), "");
}

TEST(HugeShapes, AreRefusedByPoolsAndNorms) {
  const std::int64_t long_side = std::int64_t{1} << 31;
  const Shape x{1, 2, long_side, 1};
  const Attributes window{{"kernel", Integers{2, 2}}, {"stride", Integers{2, 2}}};
  EXPECT_NE((HugeCase{"avg_pool", {x}, window}.refusal()), "");
  EXPECT_NE((HugeCase{"lrn", {x}, {{"size", std::int64_t{5}}}}.refusal()), "");
  const Shape channel{1};
  EXPECT_NE((HugeCase{"batch_norm_train", {x, channel, channel, channel, channel}, {}}.refusal()), "");
}

}  // namespace
}  // namespace ridgeline
