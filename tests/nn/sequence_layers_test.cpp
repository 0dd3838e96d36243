// Functions and layers for sequences, transposed images, and pixels with a class each.
#include <gtest/gtest.h>

#include "ridgeline/compile/compile.h"
#include "ridgeline/core/random.h"
#include "ridgeline/graph/op/evaluate.h"
#include "ridgeline/nn/layers.h"
#include "ridgeline/nn/training_step.h"
#include "ridgeline/nn/unet.h"
#include "ridgeline/optim/momentum.h"
#include "tests/support/error_of.h"

namespace ridgeline::nn {
namespace {

struct SequenceContext {
  GraphBuilder builder{"sequences"};
  std::vector<ParameterSpec> parameters;
  ModelContext context{.builder = builder, .training = true, .step = {}, .parameters = parameters};
  Value input(const Shape& shape, DType dtype = DType::f32) { return builder.input("x", {dtype, shape}); }
};

// The message without the user's source location at its end.
std::string without_place(const std::string& message) { return message.substr(0, message.rfind(" (")); }

TEST(SequenceLayers, LinearTakesAnyNumberOfAxes) {
  for (const Shape& shape : {Shape{6}, Shape{4, 6}, Shape{2, 3, 6}, Shape{2, 1, 3, 6}}) {
    SequenceContext s;
    const Value y = linear_layer(s.context, s.input(shape), {.name = "fc", .out = 5, .bias = false});
    Shape wanted = shape;
    wanted[-1] = 5;
    EXPECT_EQ(y.shape(), wanted);
    ASSERT_EQ(s.parameters.size(), 1u);
    EXPECT_EQ(s.parameters[0].shape, (Shape{5, 6}));
  }
}

TEST(SequenceLayers, MistakesNameTheLayerAndWhatItReads) {
  const auto message = [](const Shape& shape, const auto& layer) {
    SequenceContext s;
    return without_place(error_of([&] { layer(s, s.input(shape)); }));
  };
  EXPECT_EQ(message({2, 5, 12}, [](auto& s, Value x) { attention_layer(s.context, x, {.name = "a", .heads = 5}); }),
            "layer a has 5 heads, which do not divide f32[2,5,12]");
  EXPECT_EQ(message({2, 12}, [](auto& s, Value x) { attention_layer(s.context, x, {.name = "a", .heads = 3}); }),
            "layer a reads f32[2,12]; [N,T,D] is meant");
  EXPECT_EQ(message({2, 12}, [](auto& s, Value x) { conv_transpose_layer(s.context, x, {.name = "up", .out = 3}); }),
            "layer up reads f32[2,12]; images [N,H,W,C] are meant");
  EXPECT_EQ(message({2, 4, 4, 6},
                    [](auto& s, Value x) {
                      conv_transpose_layer(s.context, x, {.name = "up", .out = 3, .stride = 2, .output_pad = 2});
                    }),
            "[conv_transpose2d] output_pad is 2; fewer than the stride, 2, are meant");
  EXPECT_EQ(message({2, 12}, [](auto& s, Value x) { layer_norm_layer(s.context, x, {.name = "n", .axes = 3}); }),
            "layer n takes means over 3 axes of f32[2,12]");
  EXPECT_EQ(message({2, 12, 20, 3}, [](auto& s, Value x) { unet(s.context, x); }),
            "[unet] images are f32[2,12,20,3]; [N,H,W,C] is meant, with sides that 16 divides (depth 4)");
}

TEST(SequenceLayers, APixelsLossIsThatOfARow) {
  GraphBuilder builder("pixels");
  const Value logits = builder.input("logits", {DType::f32, {2, 3, 2, 4}});
  const Value labels = builder.input("labels", {DType::i32, {2, 3, 2}});
  const CrossEntropyResult pixels = softmax_cross_entropy(logits, labels, {}, 0.1);
  const CrossEntropyResult rows = softmax_cross_entropy(reshape(logits, {12, 4}), reshape(labels, {12}), {}, 0.1);
  EXPECT_EQ(pixels.loss.shape(), (Shape{2, 3, 2}));
  EXPECT_EQ(pixels.probabilities.shape(), (Shape{2, 3, 2, 4}));
  builder.returns("pixels", pixels.loss);
  builder.returns("rows", rows.loss);
  const Graph graph = builder.finish();
  Tensor x(DType::f32, {2, 3, 2, 4}), classes(DType::i32, {2, 3, 2});
  for (std::int64_t i = 0; i < x.elements(); ++i) x.set(i, static_cast<double>(i % 7) - 3);
  for (std::int64_t i = 0; i < classes.elements(); ++i) classes.set(i, static_cast<double>(i % 4));
  const std::vector<Tensor> results = evaluate_returns(graph, {{"logits", x}, {"labels", classes}});
  for (std::int64_t i = 0; i < 12; ++i) EXPECT_EQ(results[0].at(i), results[1].at(i));
}

TEST(SequenceLayers, LabelsOfAnotherShapeThanThePixelsAreRefused) {
  GraphBuilder builder("pixels");
  const Value logits = builder.input("logits", {DType::f32, {2, 3, 2, 4}});
  const Value labels = builder.input("labels", {DType::i32, {2, 6}});
  EXPECT_EQ(without_place(error_of([&] { softmax_cross_entropy(logits, labels, {}); })),
            "[softmax_cross_entropy] labels is i32[2,6] where shape [2,3,2] is meant");
}

// Kept samples are divided by the keep probability, others are completely zero.
TEST(SequenceLayers, SamplesAreDroppedAsAWhole) {
  SequenceContext s;
  s.context.step = s.builder.state("step", {DType::i64, {}});
  s.builder.returns("y", drop_samples_layer(s.context, s.input({40, 2, 3}), "drop", 0.5));
  const Graph graph = s.builder.finish();
  Tensor x(DType::f32, {40, 2, 3});
  for (std::int64_t i = 0; i < x.elements(); ++i) x.set(i, 1);
  const Tensor y = evaluate_returns(graph, {{"x", x}, {"step", Tensor::scalar<std::int64_t>(3)}})[0];
  int kept = 0;
  for (std::int64_t n = 0; n < 40; ++n) {
    const double first = y.at(n * 6);
    EXPECT_TRUE(first == 0 || first == 2);
    for (std::int64_t i = 1; i < 6; ++i) EXPECT_EQ(y.at(n * 6 + i), first);
    kept += first == 2 ? 1 : 0;
  }
  EXPECT_GT(kept, 8);
  EXPECT_LT(kept, 32);
}

TEST(SequenceLayers, AUNetLearnsWhichPixelsAreBright) {
  const SegmentationOptions options{
      .model = {.classes = 2, .channels = 4, .depth = 2}, .batch_size = 4, .height = 16, .width = 16};
  const Network network = segmentation_network(options);
  const Step training = build_training_step(
      network,
      {.optimizer = optim::Momentum{.momentum = 0.9}, .schedule = optim::Constant{.base = 0.1}, .weight_decay = 0});
  Session session;
  for (const ParameterSpec& spec : training.parameters) {
    session.parameters().set(spec.name, initialize(spec, 3), spec.trainable() ? ValueKind::param : ValueKind::state);
  }
  Tensor images(DType::f32, {4, 16, 16, 3}), labels(DType::i32, {4, 16, 16});
  SampleRandom random(philox_key(3, "pixels"), 0, 0);
  for (float& v : images.span<float>()) v = static_cast<float>(random.normal());
  for (std::int64_t i = 0; i < labels.elements(); ++i) labels.set(i, images.at(3 * i) > 0 ? 1 : 0);
  const auto program = compile(training.graph, session);
  program->bind("images", images);
  program->bind("labels", labels);
  double first = 0, last = 0;
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(program->run());
    last = program->output("loss").at(0);
    if (i == 0) first = last;
  }
  EXPECT_LT(last, 0.5 * first);
  const Step evaluation = build_evaluation_step(network);
  const auto counted = compile(evaluation.graph, session);
  counted->bind("images", images);
  counted->bind("labels", labels);
  ASSERT_TRUE(counted->run());
  EXPECT_GT(counted->output("correct").at(0), 0.7 * counted->output(kRowsResult).at(0));
  EXPECT_EQ(counted->output(kRowsResult).at(0), 4);
  const Step prediction = build_prediction_step(network);
  EXPECT_EQ(prediction.graph.value(prediction.graph.returns[0].value).type, (ValueType{DType::f32, {4, 16, 16, 2}}));
}

}  // namespace
}  // namespace ridgeline::nn
