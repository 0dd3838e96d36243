// From graph to program: for any fusion, memory reuse, kernels, layouts and device, the results are those of the
// reference, the user's graph is unchanged, and parameters are updated once per step.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <set>

#include "ridgeline/compile/compile.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/graph/grad/differentiate.h"
#include "ridgeline/graph/ir/builder.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/ir/verifier.h"
#include "ridgeline/graph/pass/passes.h"
#include "tests/compile/support.h"
#include "tests/support/error_of.h"

namespace ridgeline {
namespace {

using testing::expect_equals_reference;
using testing::random_arguments;

// conv - relu - pool - conv - relu - flatten - dense - loss, with momentum updates: every layout decision of a training
// step.
Graph small_step(std::int64_t batch = 4) {
  GraphBuilder b("small_step");
  const Value x = b.input("images", {DType::f32, {batch, 12, 12, 3}});
  const Value labels = b.input("labels", {DType::i32, {batch}});
  const std::vector<Value> w{b.param("w1", {DType::f32, {16, 3, 3, 3}}), b.param("b1", {DType::f32, {16}}),
                             b.param("w2", {DType::f32, {32, 3, 3, 16}}), b.param("w3", {DType::f32, {5, 6 * 6 * 32}})};
  std::vector<Value> slots;
  for (const Value& p : w) slots.push_back(b.state(b.graph().value(p.id()).name + "/momentum", p.type()));
  const Value count = b.state("global_step", {DType::i64, {}});
  const std::vector<std::int64_t> pad{1, 1, 1, 1};
  const std::vector<std::int64_t> two{2, 2};
  Value h = b.apply("relu", {b.apply("conv2d", {x, w[0], w[1]}, {{"pad", pad}})});
  h = b.apply("max_pool", {h}, {{"kernel", two}, {"stride", two}});
  h = b.apply("relu", {b.apply("conv2d", {h, w[2]}, {{"pad", pad}})});
  h = b.apply("flatten", {h}, {{"order", std::string("chw")}});
  h = b.apply("dropout", {h, count}, {{"keep_prob", 0.7}, {"key", std::int64_t{1234567}}});
  const Value logits = b.apply("dense", {h, w[3]});
  const Value rows = b.apply("softmax_cross_entropy", {logits, labels}, {{"label_smoothing", 0.1}});
  const Value loss = b.apply("reduce_mean", {rows});
  const Value penalty = b.apply("l2_penalty", {w[0], w[1], w[2], w[3]}, {{"factor", 0.01}});
  const Value total = loss + penalty;
  b.returns("loss", loss);
  b.returns("total_loss", total);
  Graph graph = b.finish();
  std::vector<ValueId> parameters;
  for (const Value& p : w) parameters.push_back(p.id());
  const ValueId target = graph.find_return("total_loss");
  const std::vector<ValueId> gradients = differentiate(graph, target, parameters);
  GraphBuilder g(std::move(graph));
  const Value lr = g.constant(0.05);
  for (std::size_t i = 0; i < w.size(); ++i) {
    const auto next = g.apply_all(
        "sgd_momentum", std::vector<Value>{g.value(w[i].id()), g.value(slots[i].id()), g.value(gradients[i]), lr},
        {{"momentum", 0.9}, {"nesterov", true}}, {});
    g.update(g.value(w[i].id()), next[0]);
    g.update(g.value(slots[i].id()), next[1]);
  }
  g.update(g.value(count.id()), g.value(count.id()) + 1);
  return g.finish();
}

// The launches that change a layout or copy.
std::vector<std::string> moves(const Program& program) {
  std::vector<std::string> found;
  for (const LaunchReport& launch : program.launches()) {
    if (launch.kernel == "copy" || launch.kernel.starts_with("convert"))
      found.push_back(launch.node + ": " + launch.kernel);
  }
  return found;
}

TEST(Compile, ATrainingStepEqualsTheReferenceWithAndWithoutFusionAndReuse) {
  const Graph graph = small_step();
  for (bool fusion : {true, false}) {
    for (bool reuse : {true, false}) {
      Session session;
      CompileOptions options;
      options.fusion = fusion;
      options.reuse_memory = reuse;
      options.verify = true;
      expect_equals_reference(graph, session, options);
    }
  }
}

TEST(Compile, FusionAndReuseChangeNoBit) {
  const Graph graph = small_step();
  const Arguments arguments = random_arguments(graph);
  std::vector<Arguments> results;
  std::set<std::size_t> launches;
  for (int setting = 0; setting < 4; ++setting) {
    Session session;
    testing::store_arguments(graph, arguments, session);
    CompileOptions options;
    options.fusion = setting % 2 == 0;
    options.reuse_memory = setting / 2 == 0;
    const auto program = compile(graph, session, options);
    launches.insert(program->launches().size());
    testing::bind_inputs(graph, arguments, *program);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(program->run());
    Arguments& result = results.emplace_back();
    for (const std::string& name : session.parameters().names()) result[name] = session.parameters().get(name);
    for (const Return& r : graph.returns) result["return " + r.name] = program->output(r.name).clone();
  }
  EXPECT_GT(launches.size(), 1u) << "fusion merges something";
  for (std::size_t i = 1; i < results.size(); ++i) {
    for (const auto& [name, value] : results[0]) {
      EXPECT_EQ(std::memcmp(value.raw(), results[i].at(name).raw(), value.byte_size()), 0) << name << " of " << i;
    }
  }
}

TEST(Compile, AnEvaluationCompiledFirstCostsTrainingNoConversion) {
  const Graph step = small_step();
  Graph evaluation = step;
  evaluation.updates.clear();
  evaluation.returns.resize(1);
  remove_dead_nodes(evaluation);
  Session one;
  const auto alone = moves(*compile(step, one));
  Session two;
  compile(evaluation, two);
  const auto program = compile(step, two);
  EXPECT_EQ(moves(*program), alone) << "the momentum lies as the weights do";
}

TEST(Compile, ReuseTakesLessMemoryThanASumOfAllValues) {
  Session session;
  const auto program = compile(small_step(128), session);  // values larger than a kernel's scratch memory
  EXPECT_LT(program->memory().activations_peak, program->memory().activations);
  EXPECT_GT(program->memory().parameters, std::size_t{6 * 6 * 32 * 5 * 4});
  EXPECT_NE(program->memory().to_text().find("intermediate values"), std::string::npos);
}

TEST(Compile, LeavesTheUsersGraphAloneAndGivesIndependentPrograms) {
  const Graph graph = small_step();
  const std::string before = to_text(graph);
  Session session;
  const auto first = compile(graph, session);
  const auto second = compile(graph, session);
  EXPECT_EQ(to_text(graph), before);
  const Arguments arguments = random_arguments(graph);
  for (const auto* program : {first.get(), second.get()}) {
    const_cast<Program*>(program)->bind("images", arguments.at("images"));
    const_cast<Program*>(program)->bind("labels", arguments.at("labels"));
  }
  ASSERT_TRUE(first->run());
  ASSERT_TRUE(second->run());
  EXPECT_EQ(session.parameters().get("global_step").data<std::int64_t>()[0], 2);
}

TEST(Compile, SumOfProductsIsOneLaunchWithFusionAndThreeWithout) {
  const Graph graph = parse_graph(
      "graph @sum_of_products(%x: f32[1024], %y: f32[1024], %z: f32[1024]) {\n"
      "  %0 = mul(%y, %z) : f32[1024]\n"
      "  %1 = add(%x, %0) : f32[1024]\n"
      "  %2 = reduce_sum(%1) : f32[]\n"
      "  return %2 \"sum\"\n"
      "}\n");
  Session session;
  const Arguments arguments = random_arguments(graph);
  const double expected = evaluate_returns(graph, arguments).front().at(0);
  for (bool fusion : {true, false}) {
    CompileOptions options;
    options.fusion = fusion;
    const auto program = compile(graph, session, options);
    EXPECT_EQ(program->launches().size(), fusion ? 1u : 3u);
    for (const auto& [name, value] : arguments) program->bind(name, value);
    ASSERT_TRUE(program->run());
    EXPECT_NEAR(program->output("sum").at(0), expected, 1e-4);
  }
}

TEST(Compile, UpdatesThatExchangeTwoStatesDoNotSeeEachOther) {
  const Graph graph =
      parse_graph("graph @swap(%a: state f32[3], %b: state f32[3]) {\n  update %a = %b\n  update %b = %a\n}\n");
  Session session;
  session.parameters().set("a", Tensor::of<float>({1, 2, 3}, {3}), ValueKind::state);
  session.parameters().set("b", Tensor::of<float>({4, 5, 6}, {3}), ValueKind::state);
  const auto program = compile(graph, session);
  ASSERT_TRUE(program->run());
  EXPECT_EQ(session.parameters().get("a").at(0), 4.0);
  EXPECT_EQ(session.parameters().get("b").at(0), 1.0);
}

TEST(Compile, ALaterProgramDoesNotMoveAParameterThatAnEarlierOneReadsAsPlain) {
  const Graph pointwise = parse_graph(
      "graph @scaled(%w2: param f32[32,3,3,16]) {\n  %0 = scale(%w2) {factor=2.0} : f32[32,3,3,16]\n  return %0 "
      "\"w\"\n}\n");
  Session session;
  const Graph step = small_step();
  const Tensor w = random_arguments(step).at("w2");
  session.parameters().set("w2", w);
  const auto first = compile(pointwise, session);
  const auto second = compile(step, session);  // its convolution prefers another layout of the weights
  ASSERT_TRUE(first->run());
  const Tensor scaled = first->output("w");
  for (std::int64_t i = 0; i < w.elements(); ++i) ASSERT_EQ(scaled.at(i), 2.0 * w.at(i)) << i;
}

TEST(Compile, RefusesAGraphThatIsNotWhole) {
  Session session;
  const Graph graph = parse_graph("graph @g(%x: f32[2]) {\n  %0 = relu(%x) : f32[200000]\n  return %0\n}\n");
  EXPECT_EQ(error_of([&] { compile(graph, session, {.verify = false}); }),
            "[verify] graph @g: node \"relu\" (relu): result 0 is f32[200000] instead of f32[2]");
}

TEST(Compile, SaysWhichInputIsMissingOrOfAnotherShape) {
  Session session;
  const auto program = compile(small_step(), session);
  EXPECT_THROW(program->bind("image", Tensor(DType::f32, {4, 12, 12, 3})), Error);
  try {
    program->bind("images", Tensor(DType::f32, {5, 12, 12, 3}));
    FAIL() << "another batch size was accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("f32[4,12,12,3], not f32[5,12,12,3]"), std::string::npos);
  }
  EXPECT_THROW(program->run(), Error);
}

TEST(Compile, AStoppedSessionEndsTheStepBetweenTwoLaunches) {
  const Graph graph = small_step();
  const Arguments arguments = random_arguments(graph);
  int seen = 0;
  int stop_at = 0;  // never
  Session* running = nullptr;
  SessionOptions options;
  options.device = "simulated";
  options.simulated.on_launch = [&](std::string_view) {
    if (++seen == stop_at) running->stop_flag() = true;
  };
  Session session(options);
  running = &session;
  testing::store_arguments(graph, arguments, session);
  const auto program = compile(graph, session);
  testing::bind_inputs(graph, arguments, *program);
  ASSERT_TRUE(program->run());
  const int whole = seen;
  ASSERT_GT(whole, 6);
  for (int stop : {1, whole / 2, whole - 1}) {
    seen = 0;
    stop_at = stop;
    session.stop_flag() = false;
    EXPECT_FALSE(program->run());
    EXPECT_EQ(seen, stop) << "nothing is launched after the stop";
  }
}

TEST(Compile, WritesOneFilePerPassInBothForms) {
  const std::string directory = ::testing::TempDir() + "/ridgeline_dump_ir";
  std::filesystem::remove_all(directory);
  Session session;
  CompileOptions options;
  options.dump_directory = directory;
  compile(small_step(), session, options);
  std::size_t graphs = 0, entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string text = read_file(entry.path().string());
    if (entry.path().extension() == ".rdg") {
      ++graphs;
      EXPECT_NO_THROW(verify(parse_graph(text))) << entry.path();
    } else {
      ++entries;
      EXPECT_TRUE(text.starts_with("#IR entry      : @small_step.1\n")) << text;
    }
  }
  EXPECT_EQ(graphs, 1 + passes().size());
  EXPECT_EQ(entries, graphs);
  std::filesystem::remove_all(directory);
}

// An invalid op is marked in the dump of its graph, which can still be parsed.
TEST(Compile, MarksTheFailingOpInADump) {
  const std::string directory = ::testing::TempDir() + "/ridgeline_failed_dump";
  std::filesystem::remove_all(directory);
  SessionOptions session_options;
  session_options.device = "simulated";
  session_options.simulated.missing_ops = {"max_pool", "conv2d_max_pool"};
  Session session(session_options);
  CompileOptions options;
  options.soft_placement = false;
  options.dump_directory = directory;
  std::string message;
  try {
    compile(small_step(), session, options);
  } catch (const NodeError& error) {
    message = error.what();
    EXPECT_EQ(error.graph(), "small_step");
  }
  char number[8];  // after the dumps of the input and of all passes
  std::snprintf(number, sizeof number, "%02zu", passes().size() + 1);
  const std::string file = directory + "/" + number + "_lower_failed";
  EXPECT_NE(message.find("(marked in " + file + ".rdg)"), std::string::npos) << message;
  const std::string marked = read_file(file + ".rdg");
  const std::size_t mark = marked.find("#------------------------> op ");
  ASSERT_NE(mark, std::string::npos) << marked;
  EXPECT_NE(marked.substr(mark, marked.find('\n', marked.find('\n', mark) + 1) - mark).find("= max_pool("),
            std::string::npos)
      << marked;
  EXPECT_NO_THROW(verify(parse_graph(marked)));
  EXPECT_NE(read_file(file + ".ir").find("#------------------------> op "), std::string::npos);

  // A graph that is invalid from the start is marked as it was given.
  Graph wrong = parse_graph("graph @wrong(%x: f32[2]) {\n  %0 = relu(%x) : f32[3]\n  return %0\n}\n");
  options.verify = true;
  EXPECT_THROW(compile(wrong, session, options), NodeError);
  EXPECT_NE(read_file(directory + "/00_input_failed.rdg").find("f32[3] instead of f32[2]\n  %0 = relu(%x) : f32[3]"),
            std::string::npos);
  std::filesystem::remove_all(directory);
}

TEST(SimulatedDevice, RunsTheStepBehindCopiesWithTheReferencesResult) {
  SessionOptions session_options;
  session_options.device = "simulated";
  Session session(session_options);
  expect_equals_reference(small_step(), session, {});
}

TEST(SimulatedDevice, MovesAMissingOpToTheCpuWithSoftPlacementAndRefusesItWithout) {
  SessionOptions session_options;
  session_options.device = "simulated";
  session_options.simulated.missing_ops = {"max_pool", "conv2d_max_pool"};
  Session session(session_options);
  expect_equals_reference(small_step(), session, {});
  Session strict(session_options);
  CompileOptions options;
  options.soft_placement = false;
  try {
    compile(small_step(), strict, options);
    FAIL() << "the missing op was placed somewhere";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("max_pool"), std::string::npos);
    EXPECT_NE(text.find("simulated"), std::string::npos);
    EXPECT_NE(text.find("allow_soft_placement is off"), std::string::npos);
  }
}

}  // namespace
}  // namespace ridgeline
