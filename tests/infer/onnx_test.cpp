// Exported models, read by the reader of the ONNX node tests and run node by node by our references. (tests/parity uses
// the official checker and runtime.)
#include "ridgeline/infer/onnx.h"

#include <gtest/gtest.h>

#include "ridgeline/core/file.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/op/evaluate.h"
#include "tests/graph/golden_onnx.h"
#include "tests/infer/support.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::infer {
namespace {

// Also implements the two ops that none of ours corresponds to.
std::vector<Tensor> run_node(const test::OnnxNode& node, const std::vector<Tensor>& inputs) {
  if (node.op == "Identity") return inputs;
  if (node.op != "Clip") return test::run_onnx_node(node, inputs);
  Tensor y = inputs[0].clone();
  for (std::int64_t i = 0; i < y.elements(); ++i)
    y.set(i, std::min(std::max(y.at(i), inputs[1].at(0)), inputs[2].at(0)));
  return {y};
}

std::map<std::string, Tensor> run_onnx(const std::string& path, const std::string& input, const Tensor& value) {
  const test::OnnxModel model = test::read_onnx_model(path);
  EXPECT_EQ(model.inputs, std::vector<std::string>{input});
  std::map<std::string, Tensor> values = model.constants;
  values[input] = value;
  for (const test::OnnxNode& node : model.nodes) {
    std::vector<Tensor> inputs;
    for (const std::string& name : node.inputs) inputs.push_back(name.empty() ? Tensor() : values.at(name));
    const std::vector<Tensor> results = run_node(node, inputs);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) values[node.outputs[i]] = results[i];
  }
  return values;
}

TEST(Onnx, ModelsGiveTheSameLogits) {
  const std::pair<const char*, std::int64_t> cases[] = {{"resnet20", 32}, {"linear", 8}};
  for (const auto& [name, size] : cases) {
    const Model model = drawn_model(name, 5, size, 2);
    const std::string path = testing::temporary_directory() + "/" + name + ".onnx";
    write_onnx(path, model);
    const Tensor pixels = drawn_pixels({2, size, size, 3});
    Arguments arguments = {{"images", pixels}};
    for (const NamedTensor& t : model.tensors) arguments[t.name] = t.tensor;
    const std::vector<Tensor> expected = evaluate_returns(model.graph, arguments);
    const std::map<std::string, Tensor> found = run_onnx(path, "images", pixels);
    for (std::size_t r = 0; r < 2; ++r) {
      const Tensor& one = found.at(model.graph.returns[r].name);
      ASSERT_EQ(one.shape(), expected[r].shape()) << name;
      for (std::int64_t i = 0; i < one.elements(); ++i) EXPECT_NEAR(one.at(i), expected[r].at(i), 1e-4) << name;
    }
  }
}

// Small graphs for variants of ops that no model has.
TEST(Onnx, EveryKindOfOpKeepsItsMeaning) {
  const char* texts[] = {
      "graph @g(%images: f32[2,5,6,3]) {\n  %0 = lrn(%images) {size=3} : f32[2,5,6,3]\n  return %0 \"r\"\n}\n",
      "graph @g(%images: f32[2,5,6,3]) {\n  %0 = avg_pool(%images) {kernel=[3,2], stride=[2,1], pad=[1,1,0,1], "
      "count_include_pad=false} : f32[2,3,6,3]\n  return %0 \"r\"\n}\n",
      "graph @g(%images: f32[2,5,6,3]) {\n  %0 = reduce_max(%images) {axes=[2], keep_dims=true} : f32[2,5,1,3]\n"
      "  return %0 \"r\"\n}\n",
      "graph @g(%images: f32[2,5,6,3]) {\n  %0 = pad(%images) {low=[0,1,2,0], high=[0,0,1,3], value=0.5} : "
      "f32[2,6,9,6]\n  return %0 \"r\"\n}\n",
      "graph @g(%images: f32[2,5,6,3]) {\n  %0 = strided_slice(%images) {start=[0,1,0,1], stride=[1,2,3,1], "
      "size=[2,2,2,2]} : f32[2,2,2,2]\n  return %0 \"r\"\n}\n",
      "graph @g(%images: f32[2,1,1,3]) {\n  %0 = broadcast_to(%images) {shape=[2,2,4,3]} : f32[2,2,4,3]\n"
      "  return %0 \"r\"\n}\n",
      "graph @g(%images: f32[2,5,6,3]) {\n  %0 = flatten(%images) {order=\"chw\"} : f32[2,90]\n  return %0 \"r\"\n}\n",
      "graph @g(%images: f32[2,5,6,3]) {\n  %0 = flatten(%images) {order=\"hwc\"} : f32[2,90]\n  %6 = relu6(%0) : "
      "f32[2,90]\n  %1 = tanh(%6) : "
      "f32[2,90]\n  %2 = silu(%1) : f32[2,90]\n  %3 = gelu(%2) : f32[2,90]\n  %4 = scale(%3) {factor=2.0} : "
      "f32[2,90]\n  %5 = sigmoid(%4) : f32[2,90]\n  return %5 \"r\"\n}\n"};
  for (const char* text : texts) {
    Model model{.name = "g", .graph = parse_graph(text), .tensors = {}};
    const std::string path = testing::temporary_directory() + "/g.onnx";
    write_onnx(path, model);
    const Shape shape = model.graph.value(model.graph.arguments[0]).type.shape;
    const Tensor bytes = drawn_pixels(shape);
    Tensor x(DType::f32, shape), there(DType::f32, {shape[0], shape[3], shape[1], shape[2]});
    for (std::int64_t i = 0; i < x.elements(); ++i) x.set(i, bytes.at(i) / 64 - 2);
    const auto swapped = [](const Tensor& from, const Shape& s, bool back) {
      Tensor to(from.dtype(), back ? s : Shape{s[0], s[3], s[1], s[2]});
      for (std::int64_t n = 0; n < s[0]; ++n)
        for (std::int64_t p = 0; p < s[1] * s[2]; ++p)
          for (std::int64_t c = 0; c < s[3]; ++c) {
            const std::int64_t last = (n * s[1] * s[2] + p) * s[3] + c, first = (n * s[3] + c) * s[1] * s[2] + p;
            to.set(back ? last : first, from.at(back ? first : last));
          }
      return to;
    };
    const Tensor expected = evaluate_returns(model.graph, {{"images", x}})[0];
    Tensor found = run_onnx(path, "images", swapped(x, shape, false)).at("r");
    if (expected.shape().rank() == 4) found = swapped(found, expected.shape(), true);
    ASSERT_EQ(found.shape(), expected.shape()) << text;
    for (std::int64_t i = 0; i < found.elements(); ++i) EXPECT_NEAR(found.at(i), expected.at(i), 1e-5) << text;
  }
}

TEST(Onnx, WhatHasNoCounterpartIsRefusedByName) {
  const auto refused = [](const char* text) {
    return error_of([&] { to_onnx({.name = "g", .graph = parse_graph(text), .tensors = {}}); });
  };
  EXPECT_EQ(refused("graph @g(%x: f32[2,3]) {\n  %0 = relu_grad(%x, %x) : f32[2,3]\n  return %0 \"r\"\n}\n"),
            "[onnx] relu_grad (relu_grad) cannot be written: no counterpart");
  EXPECT_NE(refused("graph @g(%x: f32[2,3]) {\n  %0 = reduce_sum(%x) {axes=[0]} : f32[3]\n  return %0 \"r\"\n}\n")
                .find("a reduction over the rows"),
            std::string::npos);
  EXPECT_NE(refused("graph @g(%x: f32[2,3,3,4], %y: f32[2,3]) {\n  %0 = reduce_mean(%x) {axes=[1]} : f32[2,3,4]\n"
                    "  return %0 \"r\"\n}\n")
                .find("rank three"),
            std::string::npos);
  Model model = drawn_model("linear", 2, 2);
  model.class_names = {"d\xe9g", "cat"};
  EXPECT_NE(error_of([&] { to_onnx(model); }).find("no UTF-8"), std::string::npos);
}

}  // namespace
}  // namespace ridgeline::infer
