// Derived forms from which a parameter cannot be restored: made once for each version of the parameter, shared by all
// readers of all programs, and deleted with the last of them.
#include <gtest/gtest.h>

#include <atomic>

#include "ridgeline/graph/ir/text.h"
#include "tests/compile/list_device.h"
#include "tests/compile/support.h"

namespace ridgeline {
namespace {

using namespace testing;

// Two layers with one weight matrix and the gradient of one of them: three readers of the same form.
const char* kTrainOverForms =
    "graph @train(%x: f32[3,4], %dy: f32[3,4], %w: param f32[4,4]) {\n"
    "  %0 = dense(%x, %w) : f32[3,4]\n"
    "  %1 = dense(%0, %w) : f32[3,4]\n"
    "  %2 = dense_bwd_data(%dy, %w) : f32[3,4]\n"
    "  %3 = dense_bwd_weights(%x, %dy) : f32[4,4]\n"
    "  %4 = constant() {value=0.01} : f32[]\n"
    "  %5 = sgd(%w, %3, %4) : f32[4,4]\n"
    "  update %w = %5\n"
    "  return %1 \"y\", %2 \"dx\"\n"
    "}\n";
const char* kEvaluateOverForms =
    "graph @evaluate(%x: f32[3,4], %w: param f32[4,4]) {\n"
    "  %0 = dense(%x, %w) : f32[3,4]\n"
    "  return %0 \"y\"\n"
    "}\n";

SessionOptions tilted() {
  tilted_made() = 0;
  return on_list_device({{"dense", "tilted", Provider::own, make_tilted_dense},
                         {"dense_bwd_data", "tilted", Provider::own, make_tilted_dense_bwd_data}});
}

struct FormRunner {
  Graph graph;
  Arguments arguments;
  std::unique_ptr<Program> program;

  FormRunner(const char* text, Session& session) : graph(parse_graph(text)), arguments(random_arguments(graph)) {
    program = compile(graph, session);
    store_arguments(graph, arguments, session);
    bind_inputs(graph, arguments, *program);
  }
  void expect_result(Session& session) {
    arguments["w"] = session.parameters().get("w");
    const std::vector<Tensor> expected = evaluate_returns(graph, arguments);
    ASSERT_TRUE(program->run());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expect_close(program->output(graph.returns[i].name), expected[i], 1e-5, graph.returns[i].name);
    }
  }
};

TEST(DerivedForm, TrainingMakesItOnceAStepForAllReaders) {
  Session session(tilted());
  FormRunner train(kTrainOverForms, session);
  for (int step = 0; step < 3; ++step) {
    SCOPED_TRACE(step);
    train.expect_result(session);
    EXPECT_EQ(tilted_made(), step + 1);
  }
  EXPECT_TRUE(session.parameters().entry("w").home.plain()) << "a one-way form is no home";
}

TEST(DerivedForm, EvaluationMakesItOnceALoad) {
  Session session(tilted());
  FormRunner evaluate(kEvaluateOverForms, session);
  for (int batch = 0; batch < 4; ++batch) evaluate.expect_result(session);
  EXPECT_EQ(tilted_made(), 1);
  session.parameters().set("w", random_tensor({DType::f32, {4, 4}}, "others"));
  for (int batch = 0; batch < 4; ++batch) evaluate.expect_result(session);
  EXPECT_EQ(tilted_made(), 2);
}

TEST(DerivedForm, ProgramsShareWhatOneOfThemHasMade) {
  Session session(tilted());
  FormRunner train(kTrainOverForms, session);
  FormRunner evaluate(kEvaluateOverForms, session);
  for (int round = 0; round < 3; ++round) {
    train.expect_result(session);
    evaluate.expect_result(session);
    evaluate.expect_result(session);
  }
  EXPECT_EQ(tilted_made(), 1 + 3) << "the evaluation makes what the next step begins with";
}

TEST(DerivedForm, IsCountedInTheMemoryReportAndGoneWithItsPrograms) {
  Session session(tilted());
  {
    FormRunner evaluate(kEvaluateOverForms, session);
    EXPECT_EQ(evaluate.program->memory().derived, 4u * 4u * sizeof(float));
    EXPECT_NE(evaluate.program->memory().to_text().find("derived forms"), std::string::npos);
    EXPECT_EQ(session.parameters().entry("w").forms.size(), 1u);
    EXPECT_FALSE(session.parameters().entry("w").forms[0].expired());
  }
  EXPECT_TRUE(session.parameters().entry("w").forms[0].expired());
}

std::atomic<bool>* stop_in_kernel = nullptr;

KernelChoice make_stopping_dense(const KernelRequest& request) {
  class Stopping final : public Kernel {
   public:
    explicit Stopping(std::unique_ptr<Kernel> inner) : inner_(std::move(inner)) {
      input_layouts = inner_->input_layouts;
      output_layouts = inner_->output_layouts;
    }
    void run(const KernelArguments& arguments) override {
      inner_->run(arguments);
      if (stop_in_kernel) *stop_in_kernel = true;
    }

   private:
    std::unique_ptr<Kernel> inner_;
  };
  return std::make_unique<Stopping>(std::get<std::unique_ptr<Kernel>>(make_tilted_dense(request)));
}

TEST(DerivedForm, ARunThatWasStoppedDoesNotCountAsMade) {
  tilted_made() = 0;
  Session session(on_list_device({{"dense", "stopping", Provider::own, make_stopping_dense}}));
  FormRunner evaluate(
      "graph @two(%x: f32[3,4], %w: param f32[4,4]) {\n"
      "  %0 = dense(%x, %w) : f32[3,4]\n"
      "  %1 = exp(%0) : f32[3,4]\n"
      "  return %1 \"y\"\n"
      "}\n",
      session);
  stop_in_kernel = &session.stop_flag();
  EXPECT_FALSE(evaluate.program->run());
  stop_in_kernel = nullptr;
  session.stop_flag() = false;
  EXPECT_EQ(tilted_made(), 1);
  evaluate.expect_result(session);
  evaluate.expect_result(session);
  EXPECT_EQ(tilted_made(), 2);
}

TEST(DerivedForm, ABlockedHomeIsTheSourceAsWell) {
  tilted_made() = 0;
  Session session(on_list_device({{"dense", "columns", Provider::own, make_columns_dense},
                                  {"dense_bwd_data", "tilted", Provider::own, make_tilted_dense_bwd_data}}));
  FormRunner train(kTrainOverForms, session);
  for (int step = 0; step < 3; ++step) train.expect_result(session);
  EXPECT_EQ(session.parameters().entry("w").home.name(), "columns");
  EXPECT_EQ(tilted_made(), 3);
}

TEST(DerivedForm, AValueComputedFromAParameterIsConvertedOnceALoad) {
  Session session(tilted());
  FormRunner scaled(
      "graph @scaled(%x: f32[3,4], %w: param f32[4,4]) {\n"
      "  %0 = scale(%w) {factor=0.5} : f32[4,4]\n"
      "  %1 = dense(%x, %0) : f32[3,4]\n"
      "  return %1 \"y\"\n"
      "}\n",
      session);
  for (int batch = 0; batch < 3; ++batch) scaled.expect_result(session);
  EXPECT_EQ(tilted_made(), 1);
  session.parameters().set("w", random_tensor({DType::f32, {4, 4}}, "others"));
  for (int batch = 0; batch < 3; ++batch) scaled.expect_result(session);
  EXPECT_EQ(tilted_made(), 2);
}

TEST(DerivedForm, AParameterOfAnotherDeviceIsCopiedOnceForTheOpsOnTheCpu) {
  SessionOptions options;
  options.device = "simulated";
  options.simulated.missing_ops = {"dense"};
  Session session(options);
  FormRunner evaluate(kEvaluateOverForms, session);
  for (int batch = 0; batch < 3; ++batch) evaluate.expect_result(session);
  std::vector<std::int64_t> copies_of_w;
  for (const LaunchReport& launch : evaluate.program->launches()) {
    if (launch.runs == 1) copies_of_w.push_back(launch.runs);
  }
  EXPECT_GE(copies_of_w.size(), 1u) << "the copy of the weights";
  EXPECT_GE(evaluate.program->memory().derived, 4u * 4u * sizeof(float));
}

}  // namespace
}  // namespace ridgeline
