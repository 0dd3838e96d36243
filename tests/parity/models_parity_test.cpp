// Models and layers with weights that PyTorch initialised (tests/parity/torch_models.py): the same logits, loss and
// gradients of every parameter.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "ridgeline/compile/compile.h"
#include "ridgeline/core/random.h"
#include "ridgeline/graph/grad/differentiate.h"
#include "ridgeline/infer/weights.h"
#include "ridgeline/nn/layers.h"
#include "ridgeline/nn/models.h"
#include "ridgeline/nn/unet.h"
#include "tests/parity/torch.h"

namespace ridgeline::nn {
namespace {

struct ParitySubject {
  std::string name;
  std::int64_t classes = 10, rows = 2, size = 64;
  std::function<Value(ModelContext&)> logits;  // of context.images
  bool pixels = false;                         // have a class each
  // The error of a gradient is relative to its largest element, or to this share of the largest element of all
  // gradients.
  double least = 1e-6;
  const char* noise = "1e-6";  // the step size with which the script searches for a smooth batch
  std::vector<std::pair<std::string, std::string>> more = {};  // that the script must support
};

ParitySubject of_table(const std::string& name, std::int64_t rows, std::int64_t size) {
  return {.name = name, .rows = rows, .size = size, .logits = [name](ModelContext& context) {
            const ModelInfo& info = model_named(name);
            ModelOptions options = complete_options(info, {.num_classes = 10});
            options.dropout_keep = 1.0;
            return info.build(context, options);
          }};
}

Shape labels_shape(const ParitySubject& subject) {
  return subject.pixels ? Shape{subject.rows, subject.size, subject.size} : Shape{subject.rows};
}

struct BuiltSubject {
  Graph graph;
  std::vector<ParameterSpec> parameters;
};

// Returns "logits", or "loss" and the gradients by name.
BuiltSubject build_subject(const ParitySubject& subject, bool training) {
  BuiltSubject built;
  GraphBuilder builder(subject.name);
  ModelContext context{.builder = builder, .training = training, .step = {}, .parameters = built.parameters};
  context.images = builder.input("images", {DType::f32, {subject.rows, subject.size, subject.size, 3}});
  const Value logits = subject.logits(context);
  if (!training) {
    builder.returns("logits", logits);
    built.graph = builder.finish();
    return built;
  }
  const Value labels = builder.input("labels", {DType::i32, labels_shape(subject)});
  const Value loss = mean(softmax_cross_entropy(logits, labels, {}).loss);
  builder.returns("loss", loss);
  const ValueId loss_id = loss.id();
  built.graph = builder.finish();
  std::vector<ValueId> wanted;
  std::vector<std::string> names;
  for (const ParameterSpec& spec : built.parameters) {
    if (!spec.trainable()) continue;
    wanted.push_back(built.graph.find_argument(spec.name));
    names.push_back(spec.name);
  }
  const std::vector<ValueId> gradients = differentiate(built.graph, loss_id, wanted);
  for (std::size_t i = 0; i < names.size(); ++i) built.graph.returns.push_back({"gradient/" + names[i], gradients[i]});
  return built;
}

double largest_of(const Tensor& t) {
  double largest = 0;
  for (std::int64_t i = 0; i < t.elements(); ++i) largest = std::max(largest, std::fabs(t.at(i)));
  return largest;
}

double apart(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  double most = 0;
  for (std::int64_t i = 0; i < b.elements(); ++i) {
    const double difference = std::fabs(a.at(i) - b.at(i));
    most = std::isnan(difference) ? HUGE_VAL : std::max(most, difference);
  }
  return most;
}

void compare_subject(const ParitySubject& subject) {
  if (testing::torch_python() == nullptr) GTEST_SKIP() << testing::kNoTorch;
  Tensor images(DType::f32, {subject.rows, subject.size, subject.size, 3}), labels(DType::i32, labels_shape(subject));
  SampleRandom random(philox_key(35, "parity of models"), 0, 0);
  for (float& v : images.span<float>()) v = static_cast<float>(random.normal());
  for (std::int32_t& v : labels.span<std::int32_t>())
    v = static_cast<std::int32_t>(random.integer(0, subject.classes - 1));
  std::map<std::string, std::string> metadata = {{"model", subject.name},
                                                 {"classes", std::to_string(subject.classes)},
                                                 {"least", std::to_string(subject.least)},
                                                 {"noise", subject.noise}};
  metadata.insert(subject.more.begin(), subject.more.end());
  const testing::TemporaryFolder folder;
  write_safetensors(folder.file("input.safetensors"), {{"images", images}, {"labels", labels}}, metadata);
  ASSERT_EQ(testing::run_torch("torch_models.py", folder), "");
  const SafetensorsFile torch(folder.file("output.safetensors"));
  images = torch.tensor("images");

  const auto run = [&](const BuiltSubject& built, Session& session) {
    const WeightMatch match = take_weights(built.parameters, torch.tensors(), {.where = "[test]", .complete = true});
    for (const ParameterSpec& spec : built.parameters)
      session.parameters().set(spec.name, match.tensors.at(spec.name),
                               spec.trainable() ? ValueKind::param : ValueKind::state);
    std::unique_ptr<Program> program = compile(built.graph, session);
    for (const ValueId id : built.graph.arguments) {
      const ValueInfo& info = built.graph.value(id);
      if (info.kind != ValueKind::input) continue;
      if (info.name == "numbers") {
        Tensor numbers(info.type.dtype, info.type.shape);
        for (std::int64_t i = 0; i < numbers.elements(); ++i) numbers.set(i, static_cast<double>((i * 7 + 3) % 11));
        program->bind("numbers", numbers);
      } else {
        program->bind(info.name, info.name == "labels" ? labels : images);
      }
    }
    EXPECT_TRUE(program->run());
    return program;
  };
  {
    Session session;
    const std::unique_ptr<Program> program = run(build_subject(subject, false), session);
    const Tensor logits = program->output("logits");
    const Tensor& expected = torch.tensor("logits");
    const double difference = apart(logits, expected), largest = largest_of(expected);
    EXPECT_LE(difference, 1e-4 * largest);
    std::printf("%s: logits up to %.3f, largest difference %.1e\n", subject.name.c_str(), largest, difference);
  }
  Session session;
  const BuiltSubject training = build_subject(subject, true);
  const std::unique_ptr<Program> program = run(training, session);
  EXPECT_NEAR(program->output("loss").at(0), torch.tensor("loss").at(0), 1e-5 * torch.tensor("loss").at(0));
  double most = 0, all = 0;
  for (const ParameterSpec& spec : training.parameters) {
    if (spec.trainable()) all = std::max(all, largest_of(torch.tensor("gradient/" + spec.name)));
  }
  std::string worst;
  for (const ParameterSpec& spec : training.parameters) {
    if (!spec.trainable()) continue;
    const Tensor& expected = torch.tensor("gradient/" + spec.name);
    const double size = largest_of(expected);
    const double difference =
        apart(to_file(spec, program->output("gradient/" + spec.name)), expected) / std::max(size, subject.least * all);
    EXPECT_LE(difference, 1e-4) << "gradient of " << spec.name;
    if (difference >= most) most = difference, worst = spec.name;
  }
  std::printf("%s: loss %.6f, worst gradient %.1e (%s)\n", subject.name.c_str(), torch.tensor("loss").at(0), most,
              worst.c_str());
}

TEST(ModelsParity, DenseNet121AgreesWithPyTorch) {
  // Shifts before batch norms have zero gradients except for rounding, which 120 batch norms amplify.
  ParitySubject densenet = of_table("densenet121", 4, 64);
  densenet.least = 1e-2;
  densenet.noise = "2e-7";
  densenet.more = {{"away_from_zero", "true"}};
  compare_subject(densenet);
}
TEST(ModelsParity, ConvNeXtTinyAgreesWithPyTorch) { compare_subject(of_table("convnext_tiny", 2, 64)); }
TEST(ModelsParity, ViTTinyAgreesWithPyTorch) { compare_subject(of_table("vit_tiny", 2, 96)); }

TEST(ModelsParity, AUNetOverPixelsAgreesWithPyTorch) {
  ParitySubject unet_subject{.name = "unet", .classes = 5, .rows = 2, .size = 32, .logits = [](ModelContext& context) {
                               return unet(context, context.images, {.classes = 5, .channels = 8, .depth = 3});
                             }};
  unet_subject.pixels = true;
  unet_subject.more = {{"channels", "8"}, {"depth", "3"}};
  compare_subject(unet_subject);
}

// Features that no built-in model has: embedding tables, attention over a memory, a layer norm over two axes, group
// norm, silu, gelu by tanh, and a transposed convolution with every option.
TEST(ModelsParity, LayersOfSequencesAgreeWithPyTorch) {
  compare_subject({.name = "sequences", .classes = 7, .rows = 3, .size = 20, .logits = [](ModelContext& context) {
                     const std::int64_t rows = context.images.shape()[0];
                     const Value patches =
                         conv_layer(context, context.images, {.name = "patches", .out = 24, .kernel = 4, .stride = 4});
                     const Shape s = patches.shape();
                     const Value memory = reshape(patches, {rows, s[1] * s[2], 24});
                     const Value numbers = context.builder.input("numbers", {DType::i32, {rows, 4}});
                     const Value words = embedding_layer(context, numbers, {.name = "table", .rows = 11, .width = 24});
                     Value x = attention_layer(context, words, {.name = "attention", .heads = 4}, memory) + words;
                     x = layer_norm_layer(context, x, {.name = "inside", .axes = 2});
                     x = mean(activate(x, Activation::gelu_tanh), {.axes = {1}});
                     Value y = group_norm_layer(context, patches, {.name = "norm", .groups = 4});
                     y = activate(y, Activation::silu) * reshape(x, {rows, 1, 1, 24});
                     y = conv_transpose_layer(context, y,
                                              {.name = "up",
                                               .out = 12,
                                               .kernel = {3, 2},
                                               .stride = {2, 3},
                                               .pad = {1, 1, 0, 0},
                                               .output_pad = {1, 2},
                                               .dilation = {2, 1},
                                               .groups = 2});
                     return linear_layer(context, max(y, {.axes = {1, 2}}), {.name = "head", .out = 7});
                   }});
}

}  // namespace
}  // namespace ridgeline::nn
