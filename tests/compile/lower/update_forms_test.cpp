// Updates write the low-precision copies of their parameters: with the same bits as a cast, once, and only if that is
// allowed.
#include <gtest/gtest.h>

#include "ridgeline/device/cpu/loop/loop_kernel.h"
#include "ridgeline/graph/ir/text.h"
#include "tests/compile/list_device.h"
#include "tests/compile/support.h"

namespace ridgeline {
namespace {

using namespace testing;

// `behind` (after the update) and `returned` complete the graph.
std::string train_text(const std::string& type, const std::string& behind = "", const std::string& returned = "") {
  return "graph @train(%x: " + type + "[6,40], %dy: " + type +
         "[6,24], %w: param f32[24,40], %m: state f32[24,40]) {\n" + "  %0 = cast(%w) {to=" + type + "} : " + type +
         "[24,40]\n" + "  %1 = dense(%x, %0) : " + type + "[6,24]\n" +
         "  %2 = dense_bwd_weights(%x, %dy) {f32_results=true} : f32[24,40]\n" +
         "  %3 = constant() {value=0.01} : f32[]\n" +
         "  %4, %5 = sgd_momentum(%w, %m, %2, %3) {momentum=0.9} : f32[24,40], f32[24,40]\n" + behind +
         "  update %w = %4\n"
         "  update %m = %5\n"
         "  return %1 \"y\"" +
         returned + "\n}\n";
}

// A device with reference products in plain rows, and loops.
SessionOptions plain_rows() {
  return on_list_device({{"loop", "loop_interpreter", Provider::own, device::make_loop_kernel, kFloatingTypes},
                         {"sgd_momentum", "loop_interpreter", Provider::own, device::make_loop_kernel, kFloatingTypes},
                         {"cast", "loop_interpreter", Provider::own, device::make_loop_kernel, kFloatingTypes}});
}

struct Trained {
  Graph graph;
  Session session;
  std::unique_ptr<Program> program;

  explicit Trained(const std::string& text, SessionOptions options = plain_rows())
      : graph(parse_graph(text)), session(std::move(options)) {
    const Arguments arguments = random_arguments(graph);
    CompileOptions compile_options;
    compile_options.disabled_passes = {"schedule"};  // the order of the text
    program = compile(graph, session, compile_options);
    store_arguments(graph, arguments, session);
    bind_inputs(graph, arguments, *program);
  }
  // The results of the reference for the current parameters.
  std::vector<Tensor> expected() {
    Arguments arguments = random_arguments(graph);
    for (const char* name : {"w", "m"}) arguments[name] = session.parameters().get(name);
    return evaluate_returns(graph, arguments);
  }
  std::int64_t cast_runs() const {
    std::int64_t runs = 0;
    for (const LaunchReport& launch : program->launches()) {
      if (launch.kernel.find("cast ") != std::string::npos) runs += launch.runs;
    }
    return runs;
  }
  void step() {
    const std::vector<Tensor> wanted = expected();
    ASSERT_TRUE(program->run());
    for (std::size_t i = 0; i < wanted.size(); ++i) {  // the same sums of the same copies
      expect_close(program->output(i), wanted[i], 0, graph.returns[i].name);
    }
  }
};

TEST(UpdateForms, TheCopyIsMadeOnceAndThenByTheUpdate) {
  for (const char* type : {"bf16", "f16"}) {
    SCOPED_TRACE(type);
    Trained run(train_text(type));
    for (int step = 0; step < 4; ++step) run.step();
    EXPECT_EQ(run.cast_runs(), 1);
  }
}

TEST(UpdateForms, AParameterThatOthersWriteIsRoundedAgain) {
  Trained run(train_text("bf16"));
  run.step();
  run.session.parameters().set("w", random_tensor({DType::f32, {24, 40}}, "others"));
  run.step();
  EXPECT_EQ(run.cast_runs(), 2);
  run.step();
  EXPECT_EQ(run.cast_runs(), 2);
}

TEST(UpdateForms, AProgramThatOnlyReadsFindsTheUpdatesCopy) {
  Trained train(train_text("bf16"));
  train.step();
  const Graph graph = parse_graph(
      "graph @evaluate(%x: bf16[6,40], %w: param f32[24,40]) {\n"
      "  %0 = cast(%w) {to=bf16} : bf16[24,40]\n"
      "  %1 = dense(%x, %0) : bf16[6,24]\n"
      "  return %1 \"y\"\n"
      "}\n");
  const auto evaluate = compile(graph, train.session);
  Arguments arguments = random_arguments(graph);
  bind_inputs(graph, arguments, *evaluate);
  arguments["w"] = train.session.parameters().get("w");
  ASSERT_TRUE(evaluate->run());
  expect_close(evaluate->output("y"), evaluate_returns(graph, arguments)[0], 0, "y");
  int casts = 0;
  for (const LaunchReport& launch : evaluate->launches()) {
    const bool makes = launch.kernel.find("cast ") != std::string::npos;
    casts += makes ? 1 : 0;
    if (makes) {
      EXPECT_EQ(launch.runs, 0);
    }
  }
  EXPECT_EQ(casts, 1);
}

TEST(UpdateForms, ARunThatWasStoppedLeavesNoCopyThatCountsAsMade) {
  Trained run(train_text("bf16"));
  run.step();
  run.session.stop_flag() = true;
  EXPECT_FALSE(run.program->run());
  run.session.stop_flag() = false;
  run.step();
  EXPECT_EQ(run.cast_runs(), 2);
}

TEST(UpdateForms, ACopyThatIsReadBehindTheUpdateIsLeftToTheCast) {
  Trained run(train_text("bf16", "  %6 = dense_bwd_data(%dy, %0) : bf16[6,40]\n", ", %6 \"dx\""));
  for (int step = 0; step < 3; ++step) run.step();
  EXPECT_EQ(run.cast_runs(), 3);
}

}  // namespace
}  // namespace ridgeline
