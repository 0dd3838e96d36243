// Every pass can be disabled by name: small training steps and evaluations of the models then still have the results of
// the references.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "ridgeline/compile/compile.h"
#include "ridgeline/core/random.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/op/evaluate.h"
#include "ridgeline/graph/pass/passes.h"
#include "ridgeline/nn/training_step.h"

namespace ridgeline::nn {
namespace {

struct SmallModel {
  const char* name;
  std::int64_t image_size;
};
// Batch norm and residual sums; pools with relus, LRN and dropout.
constexpr SmallModel kModels[] = {{"resnet20", 16}, {"alexnet", 67}};
constexpr std::int64_t kBatch = 2, kClasses = 5;

StepOptions options_of(const SmallModel& model) {
  return {.model = &model_named(model.name),
          .model_options = {.num_classes = kClasses},
          .batch_size = kBatch,
          .image_size = model.image_size,
          .images = ImageForm::f32,
          .seed = 3};
}

Tensor drawn(const ValueInfo& value) {
  Tensor t(value.type.dtype, value.type.shape);
  SampleRandom random(philox_key(5, value.name), 0, 0);
  for (std::int64_t i = 0; i < t.elements(); ++i) {
    t.set(i, value.type.dtype == DType::i32 ? static_cast<double>(random.integer(0, kClasses - 1)) : random.normal());
  }
  return t;
}

// A step, its arguments, and the results of the references.
struct Case {
  Step step;
  Arguments arguments;
  std::vector<Tensor> returns;
  Arguments next;

  explicit Case(Step given) : step(std::move(given)) {
    for (const ParameterSpec& spec : step.parameters) arguments[spec.name] = initialize(spec, 11);
    for (ValueId id : step.graph.arguments) {
      const ValueInfo& value = step.graph.value(id);
      if (value.kind != ValueKind::input) continue;
      arguments[value.name] = drawn(value);
      if (value.name == kMaskInput) arguments[value.name].set(0, 1), arguments[value.name].set(1, 0);
    }
    returns = evaluate_returns(step.graph, arguments);
    next = evaluate_updates(step.graph, arguments);
  }
};

// The largest distance relative to the largest value.
double distance(const Tensor& got, const Tensor& expected) {
  double worst = 0, largest = 1e-30;
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    worst = std::max(worst, std::abs(got.at(i) - expected.at(i)));
    largest = std::max(largest, std::abs(expected.at(i)));
  }
  return worst / largest;
}

// The text of the compiled graph. If it is `known`, the results have already been compared.
std::string expect_references(const Case& c, const std::vector<std::string>& disabled, const std::string& known) {
  Session session;
  for (ValueId id : c.step.graph.arguments) {
    const ValueInfo& value = c.step.graph.value(id);
    if (value.kind != ValueKind::input) session.parameters().set(value.name, c.arguments.at(value.name), value.kind);
  }
  const auto program = compile(c.step.graph, session, {.disabled_passes = disabled, .verify = true});
  const std::string text = to_text(program->graph(), {.locations = false});
  if (text == known) return text;
  for (ValueId id : c.step.graph.arguments) {
    const ValueInfo& value = c.step.graph.value(id);
    if (value.kind == ValueKind::input) program->bind(value.name, c.arguments.at(value.name));
  }
  EXPECT_TRUE(program->run());
  for (std::size_t i = 0; i < c.returns.size(); ++i) {
    EXPECT_LE(distance(program->output(i), c.returns[i]), 2e-4) << c.step.graph.returns[i].name;
  }
  // Gradients of batch norms over two images cancel, so states are compared with a larger tolerance than losses.
  for (const auto& [name, value] : c.next) EXPECT_LE(distance(session.parameters().get(name), value), 2e-3) << name;
  return text;
}

TEST(LeftOutPasses, EachByItselfKeepsTheReferencesResults) {
  std::set<std::string> matter;  // passes whose absence changes the compiled graph
  for (const SmallModel& model : kModels) {
    const Case cases[] = {Case(build_training_step(options_of(model), {.schedule = optim::Constant{0.01}})),
                          Case(build_evaluation_step(options_of(model)))};
    for (const Case& c : cases) {
      const std::string whole = expect_references(c, {}, "");
      for (const Pass& pass : passes()) {
        if (pass.required) continue;
        SCOPED_TRACE(std::string(model.name) + " without " + std::string(pass.name));
        if (expect_references(c, {std::string(pass.name)}, whole) != whole) matter.insert(std::string(pass.name));
      }
    }
  }
  for (const char* name : {"simplify", "fold_norm", "fuse_addend", "fuse_epilogue", "fuse_norm_gradient",
                           "narrow_relu_grad", "fuse_updates", "fuse_pointwise", "schedule"}) {
    EXPECT_TRUE(matter.contains(name)) << name << " changes none of these steps: the test says nothing about it";
  }
}

}  // namespace
}  // namespace ridgeline::nn
