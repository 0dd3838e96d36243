// A device unknown to everything above device/, added by name: the op table, random graphs, training, the device queue,
// recording and replay run on it.
#include "tests/compile/toy_device.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "ridgeline/device/devices.h"
#include "ridgeline/graph/ir/builder.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/train/recipe/recipe.h"
#include "ridgeline/train/recipe/trainer.h"
#include "tests/compile/random_graph.h"
#include "tests/compile/support.h"
#include "tests/graph/op_rows.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"
#include "tests/train/recorded_losses.h"
#include "tests/train/shuffled_points.h"
#include "tests/train/small_run.h"

namespace ridgeline::train {
namespace {

SessionOptions on_toy(const std::string& name = "toy") {
  static const bool added = [] {
    add_device({.name = "toy",
                .doc = "a device of the tests",
                .make = [](const DeviceOptions& options) -> std::unique_ptr<Device> {
                  if (options.ordinal > 1) throw Error("[toy] there are two of them, toy:0 and toy:1");
                  return std::make_unique<testing::ToyDevice>(options.ordinal);
                },
                .numbered = true});
    return true;
  }();
  EXPECT_TRUE(added);
  return {.compute_threads = 1, .device = name};
}

TEST(ToyDevice, IsFoundByItsNameAndNumber) {
  EXPECT_EQ(Session(on_toy()).device().name(), "toy");
  EXPECT_EQ(Session(on_toy("toy:1")).device().name(), "toy:1");
  EXPECT_EQ(error_of([] { Session(on_toy("toy:2")); }), "[toy] there are two of them, toy:0 and toy:1");
  EXPECT_NE(device_names().find("toy"), std::string::npos);
}

TEST(ToyDevice, RunsEveryRowOfTheOpTableWithTheReferencesResult) {
  int rows = 0;
  for (const test::OpRow& row : test::op_rows()) {
    const OpDef& def = op_def(row.op);
    if (def.has(kStart) || def.has(kDone)) continue;  // halves of an exchange, which cannot run alone
    GraphBuilder b("row");
    Arguments arguments;
    std::vector<Value> operands;
    for (std::size_t i = 0; i < row.operands.size(); ++i) {
      const std::string name = "x" + std::to_string(i);
      arguments[name] = test::make_operand(row.operands[i], DType::f32, i + 1);
      operands.push_back(b.input(name, {arguments[name].dtype(), arguments[name].shape()}));
    }
    const std::vector<Value> results = b.apply_all(row.op, operands, row.attributes, {});
    for (std::size_t r = 0; r < results.size(); ++r) b.returns("y" + std::to_string(r), results[r]);
    const Graph graph = b.finish();
    Session session(on_toy());
    const auto program = compile(graph, session, {.verify = true});
    testing::bind_inputs(graph, arguments, *program);
    ASSERT_TRUE(program->run());
    const std::vector<Tensor> expected = evaluate_returns(graph, arguments);
    for (std::size_t r = 0; r < expected.size(); ++r) {
      const Tensor got = program->output(r);
      ASSERT_EQ(got.byte_size(), expected[r].byte_size());
      EXPECT_EQ(std::memcmp(got.raw(), expected[r].raw(), got.byte_size()), 0) << row.op;
    }
    ++rows;
  }
  EXPECT_GT(rows, 80);
}

TEST(ToyDevice, RunsRandomGraphsOneByOneAndReplayed) {
  const std::int64_t replays = testing::ToyRecording::replays();
  constexpr int kGraphs = 40, kRuns = 5;
  for (int seed = 0; seed < kGraphs; ++seed) {
    const testing::RandomStep step = testing::random_step(static_cast<std::uint64_t>(seed));
    std::map<std::string, Tensor> after[2];
    for (const char* name : {"simulated", "toy"}) {
      SessionOptions options = on_toy();
      options.device = name;
      Session session(options);
      testing::store_arguments(step.train, step.arguments, session);
      const auto program = compile(step.train, session, {.verify = true});
      testing::bind_inputs(step.train, step.arguments, *program);
      EXPECT_EQ(program->run_loop(kRuns, [] { return true; }), kRuns);
      auto& values = after[name == std::string("toy")];
      for (const std::string& stored : session.parameters().names()) values[stored] = session.parameters().get(stored);
      for (std::size_t r = 0; r < step.train.returns.size(); ++r)
        values["return " + std::to_string(r)] = program->output(r).clone();
    }
    for (const auto& [name, value] : after[0])
      ASSERT_EQ(std::memcmp(value.raw(), after[1].at(name).raw(), value.byte_size()), 0) << seed << ": " << name;
  }
  EXPECT_GT(testing::ToyRecording::replays() - replays, 2 * kGraphs);
}

// An update also writes the rounded copy of its parameter, if the kernel writes the store itself.
TEST(ToyDevice, UpdatesWriteTheLowPrecisionCopiesOfParameters) {
  const Graph graph = parse_graph(R"(graph @train(%x: bf16[6,40], %dy: bf16[6,24], %w: param f32[24,40]) {
  %0 = cast(%w) {to=bf16} : bf16[24,40]
  %1 = dense(%x, %0) : bf16[6,24]
  %2 = dense_bwd_weights(%x, %dy) {f32_results=true} : f32[24,40]
  %3 = constant() {value=0.01} : f32[]
  %4 = sgd(%w, %2, %3) : f32[24,40]
  update %w = %4
  return %1 "y"
}
)");
  Session session(on_toy());
  Arguments arguments = testing::random_arguments(graph);
  testing::store_arguments(graph, arguments, session);
  const auto program = compile(graph, session, {.disabled_passes = {"schedule"}, .verify = true});
  testing::bind_inputs(graph, arguments, *program);
  constexpr int kRuns = 5;
  for (int run = 0; run < kRuns; ++run) {
    const std::vector<Tensor> expected = evaluate_returns(graph, arguments);
    ASSERT_TRUE(program->run());
    const Tensor y = program->output("y");
    EXPECT_EQ(std::memcmp(y.raw(), expected[0].raw(), y.byte_size()), 0) << run;
    arguments["w"] = session.parameters().get("w");
  }
  std::int64_t casts = 0;
  for (const LaunchReport& launch : program->launches()) casts += launch.parameter == "w" ? launch.runs : 0;
  EXPECT_EQ(casts, 1) << "in the first run";
}

std::vector<double> losses_on(const SessionOptions& options, std::int64_t loop) {
  Session session(options);
  Model model(session, dropping_network());
  model.prepare_training({.schedule = optim::Constant{.base = 0.002}});
  DatasetFeed feed(shuffled_points(), {.epochs = data::kForever}, {}, &session.device());
  RecordedLosses losses;
  Loop(model, feed, {.total_steps = 24, .steps_per_epoch = 4, .loop = loop}).run({&losses});
  return losses.all;
}

TEST(ToyDevice, TrainsFromTheDeviceQueue) {
  const std::int64_t replays = testing::ToyRecording::replays();
  const std::vector<double> losses = losses_on(on_toy(), 1);
  ASSERT_EQ(losses.size(), 24u);
  EXPECT_LT(losses.back(), losses.front());
  EXPECT_GT(testing::ToyRecording::replays() - replays, 12);
  EXPECT_EQ(losses, losses_on({.compute_threads = 1, .device = "simulated"}, 1)) << "the references' bits";
}

TEST(ToyDevice, RunsARecipeByItsName) {
  on_toy();
  Recipe recipe = small_run(testing::temporary_directory() + "/toy", 2, 1);
  recipe.model = "linear";
  recipe.device = "toy";
  EXPECT_EQ(train(recipe).step, 2);
}

}  // namespace
}  // namespace ridgeline::train
