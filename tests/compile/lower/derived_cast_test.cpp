// The bf16 copy of a parameter is a derived form that the store keeps: made once for each version of the parameter, in
// the layouts that kernels want, shared by programs, from the f32 value.
#include <gtest/gtest.h>

#include <algorithm>

#include "ridgeline/device/reference_kernel.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/pass/derived_casts.h"
#include "tests/compile/list_device.h"
#include "tests/compile/support.h"

namespace ridgeline {
namespace {

using namespace testing;

const char* kTrainOverCasts =
    "graph @train(%x: bf16[32,64], %dy: bf16[32,48], %w: param f32[48,64]) {\n"
    "  %0 = cast(%w) {to=bf16} : bf16[48,64]\n"
    "  %1 = dense(%x, %0) : bf16[32,48]\n"
    "  %2 = dense_bwd_weights(%x, %dy) {f32_results=true} : f32[48,64]\n"
    "  %3 = constant() {value=0.01} : f32[]\n"
    "  %4 = sgd(%w, %2, %3) : f32[48,64]\n"
    "  %5 = dense_bwd_data(%dy, %0) : bf16[32,64]\n"
    "  update %w = %4\n"
    "  return %1 \"y\", %5 \"dx\"\n"
    "}\n";
const char* kEvaluateOverCasts =
    "graph @evaluate(%x: bf16[32,64], %w: param f32[48,64]) {\n"
    "  %0 = cast(%w) {to=bf16} : bf16[48,64]\n"
    "  %1 = dense(%x, %0) : bf16[32,48]\n"
    "  return %1 \"y\"\n"
    "}\n";

struct CastRunner {
  Graph graph;
  Arguments arguments;
  std::unique_ptr<Program> program;

  CastRunner(const char* text, Session& session, const CompileOptions& options = {})
      : graph(parse_graph(text)), arguments(random_arguments(graph)) {
    program = compile(graph, session, options);
    store_arguments(graph, arguments, session);
    bind_inputs(graph, arguments, *program);
  }
  void step(Session& session) {
    arguments["w"] = session.parameters().get("w");
    const std::vector<Tensor> expected = evaluate_returns(graph, arguments);
    const Arguments next = evaluate_updates(graph, arguments);
    ASSERT_TRUE(program->run());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expect_close(program->output(graph.returns[i].name), expected[i], 0x1p-8, graph.returns[i].name);
    }
    for (const auto& [name, value] : next) expect_close(session.parameters().get(name), value, 1e-5, name);
  }
  // How often the launches that make a cast ran.
  std::vector<std::int64_t> casts() const {
    std::vector<std::int64_t> runs;
    for (const LaunchReport& launch : program->launches()) {
      if (launch.op == "cast" || launch.kernel.find("cast ") != std::string::npos) runs.push_back(launch.runs);
    }
    return runs;
  }
};

TEST(DerivedCast, TrainingMakesEachFormOnceAStepBeforeTheUpdate) {
  Session session;
  CastRunner train(kTrainOverCasts, session);
  for (int step = 0; step < 3; ++step) {
    SCOPED_TRACE(step);
    train.step(session);
  }
  ASSERT_FALSE(train.casts().empty());
  // Updates write forms in plain rows themselves (update_forms_test.cpp).
  for (const std::int64_t runs : train.casts()) EXPECT_TRUE(runs == 3 || runs == 1) << runs;
  EXPECT_GE(train.program->memory().derived, 48u * 64u * 2u);
  for (const LaunchReport& launch : train.program->launches()) {
    EXPECT_NE(launch.node, "w") << "the update writes in place, no copy at the end";
  }
}

TEST(DerivedCast, EvaluationMakesItOnceALoadAndSharesItWithTraining) {
  Session session;
  CastRunner train(kTrainOverCasts, session);
  CastRunner evaluate(kEvaluateOverCasts, session);
  for (int batch = 0; batch < 4; ++batch) evaluate.step(session);
  for (const std::int64_t runs : evaluate.casts()) EXPECT_EQ(runs, 1);
  train.step(session);
  evaluate.step(session);
  evaluate.step(session);
  for (const std::int64_t runs : evaluate.casts()) EXPECT_TRUE(runs == 2 || runs == 1) << runs;
  const std::vector<std::int64_t> before = evaluate.casts();
  session.parameters().set("w", random_tensor({DType::f32, {48, 64}}, "others"));
  evaluate.step(session);
  ASSERT_FALSE(before.empty());
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(evaluate.casts()[i], before[i] + 1);
}

TEST(DerivedCast, HoldsWithoutTheScheduleWithoutReuseAndOnTheReference) {
  for (const char* disabled : {"schedule", "fuse_pointwise"}) {
    Session session;
    CastRunner train(kTrainOverCasts, session, {.disabled_passes = {disabled}, .reuse_memory = false});
    for (int step = 0; step < 2; ++step) train.step(session);
  }
  Session session(on_list_device({{"dense", "never", Provider::own, make_never}}));
  CastRunner train(kTrainOverCasts, session);
  for (int step = 0; step < 2; ++step) train.step(session);
}

TEST(DerivedCast, HoldsOnADeviceWithMemoryOfItsOwn) {
  SessionOptions options;
  options.device = "simulated";
  Session session(options);
  CastRunner train(kTrainOverCasts, session);
  for (int step = 0; step < 2; ++step) train.step(session);
  CastRunner evaluate(kEvaluateOverCasts, session);
  for (int batch = 0; batch < 3; ++batch) evaluate.step(session);
  for (const std::int64_t runs : evaluate.casts()) EXPECT_EQ(runs, 1);
}

// bf16 elements in reverse order: a layout that supports no casts.
class Reversed final : public BlockedLayout {
 public:
  explicit Reversed(std::int64_t elements) : elements_(elements) {}
  std::size_t bytes() const override { return static_cast<std::size_t>(elements_) * sizeof(bfloat16); }
  std::string name() const override { return "reversed"; }
  bool equals(const BlockedLayout& other) const override { return dynamic_cast<const Reversed*>(&other) != nullptr; }
  void to_plain(const void* blocked, void* plain) const override { from_plain(blocked, plain); }
  void from_plain(const void* plain, void* blocked) const override {
    const auto* from = static_cast<const bfloat16*>(plain);
    std::reverse_copy(from, from + elements_, static_cast<bfloat16*>(blocked));
  }

 private:
  std::int64_t elements_;
};

KernelChoice make_reversed_dense(const KernelRequest& request) {
  class Kernel final : public ridgeline::Kernel {
   public:
    Kernel(std::unique_ptr<ridgeline::Kernel> inner, Layout layout) : inner_(std::move(inner)), layout_(layout) {
      input_layouts = {Layout(), layout};
      output_layouts = {Layout()};
    }
    void run(const KernelArguments& a) override {
      std::vector<std::byte> plain(layout_.blocked()->bytes());
      layout_.blocked()->to_plain(a.inputs[1], plain.data());
      void* inputs[] = {a.inputs[0], plain.data()};
      inner_->run({inputs, a.outputs, a.scratch});
    }

   private:
    std::unique_ptr<ridgeline::Kernel> inner_;
    Layout layout_;
  };
  auto reference = make_reference_kernel(request);
  const Layout layout(std::make_shared<Reversed>(request.inputs[1].type.shape.elements()));
  return std::make_unique<Kernel>(std::move(std::get<std::unique_ptr<ridgeline::Kernel>>(reference)), layout);
}

TEST(DerivedCast, ALayoutThatKnowsNoCastIsReachedByWayOfPlainRows) {
  const DTypeSet bf16{DType::f32, DType::bf16};
  Session session(on_list_device({{"dense", "reversed", Provider::own, make_reversed_dense, bf16},
                                  {"dense_bwd_data", "reversed", Provider::own, make_reversed_dense, bf16}}));
  CastRunner train(kTrainOverCasts, session);
  for (int step = 0; step < 2; ++step) train.step(session);
  EXPECT_EQ(train.program->memory().derived, 48u * 64u * 2u) << "one form for both readers";
}

TEST(DerivedCast, TwoCastsOfAParameterToOneTypeAreOneForm) {
  const std::string twice =
      "graph @twice(%x: bf16[32,64], %w: param f32[48,64]) {\n"
      "  %0 = cast(%w) {to=bf16} : bf16[48,64]\n"
      "  %1 = dense(%x, %0) : bf16[32,48]\n"
      "  %2 = cast(%w) {to=bf16} : bf16[48,64]\n"
      "  %3 = exp(%1) : bf16[32,48]\n"
      "  %4 = dense_bwd_data(%3, %2) : bf16[32,64]\n"
      "  %5 = dense(%4, %2) : bf16[32,48]\n"
      "  return %5 \"y\"\n"
      "}\n";
  std::string once = twice;
  once.erase(once.find("  %2 = cast"), once.find("  %3") - once.find("  %2 = cast"));
  for (std::size_t at; (at = once.find("%2)")) != std::string::npos;) once.replace(at, 2, "%0");
  for (const char* device : {"cpu", "simulated"}) {
    SessionOptions options;
    options.device = device;
    Session session(options), other(options);
    CastRunner two(twice.c_str(), session, {.disabled_passes = {"simplify"}});
    CastRunner one(once.c_str(), other, {.disabled_passes = {"simplify"}});
    for (int batch = 0; batch < 2; ++batch) two.step(session);
    EXPECT_EQ(two.program->memory().derived, one.program->memory().derived) << device;
    EXPECT_EQ(two.casts().size(), one.casts().size()) << device;
  }
}

TEST(DerivedCast, WhatIsReturnedUpdatedOrViewedIsAnOrdinaryOp) {
  const Graph graph = parse_graph(
      "graph @g(%x: bf16[2,4], %w: param f32[3,4], %v: param f32[3,4], %u: param f32[12], %s: state bf16[3,4]) {\n"
      "  %0 = cast(%w) {to=bf16} : bf16[3,4]\n"
      "  %1 = dense(%x, %0) : bf16[2,3]\n"
      "  %2 = cast(%v) {to=bf16} : bf16[3,4]\n"
      "  %3 = cast(%u) {to=bf16} : bf16[12]\n"
      "  %4 = reshape(%3) {shape=[3,4]} : bf16[3,4]\n"
      "  %5 = dense(%x, %4) : bf16[2,3]\n"
      "  %6 = cast(%v) {to=f64} : f64[3,4]\n"
      "  update %s = %2\n"
      "  return %1 \"y\", %5 \"z\", %6 \"v\"\n"
      "}\n");
  const auto casts = derived_casts(graph);
  ASSERT_EQ(casts.size(), 1u);
  EXPECT_EQ(graph.value(casts.begin()->second).name, "w");
  Session session;
  const Arguments arguments = random_arguments(graph);
  store_arguments(graph, arguments, session);
  const auto program = compile(graph, session);
  bind_inputs(graph, arguments, *program);
  ASSERT_TRUE(program->run());
  const std::vector<Tensor> expected = evaluate_returns(graph, arguments);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expect_close(program->output(graph.returns[i].name), expected[i], 0x1p-8, graph.returns[i].name);
  }
  expect_close(session.parameters().get("s"), evaluate_updates(graph, arguments).at("s"), 0, "s");
}

}  // namespace
}  // namespace ridgeline
