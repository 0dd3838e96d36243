// MindSpore's callbacks with their exact output, early stopping, and the calls of training scripts: by epochs, by
// steps.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <optional>
#include <regex>

#include "ridgeline/core/file.h"
#include "ridgeline/data/data.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/optim/adam.h"
#include "ridgeline/train/callback/early_stopping.h"
#include "ridgeline/train/callback/model_checkpoint.h"
#include "ridgeline/train/callback/monitors.h"
#include "ridgeline/train/callback/session_run_hook.h"
#include "ridgeline/train/estimator.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"
#include "tests/train/line_model.h"

namespace ridgeline::train {
namespace {

namespace fs = std::filesystem;

struct Lines {
  std::vector<std::string> all;
  LineSink sink() {
    return [this](const std::string& line) { all.push_back(line); };
  }
};

// The columns of LineModel with this many rows.
data::Dataset points(std::int64_t rows) {
  Tensor x(DType::f32, Shape{rows, 1}), y(DType::f32, Shape{rows, 1});
  for (std::int64_t i = 0; i < rows; ++i) {
    x.data<float>()[i] = static_cast<float>(i) / static_cast<float>(rows) - 0.4f;
    y.data<float>()[i] = 3 * x.data<float>()[i];
  }
  return data::InMemory({{"x", x}, {"y", y}}).batch(LineModel::kRows);
}

TEST(Monitors, PrintMindSporesLines) {
  LineModel line;
  Lines loss, rate, time;
  LossMonitor losses(2, loss.sink());
  LearningRateMonitor rates(rate.sink());
  TimeMonitor times(0, time.sink());
  Loop(line.model, line.feed, {.total_steps = 6, .steps_per_epoch = 3, .loop = 1}).run({&losses, &rates, &times});
  ASSERT_EQ(loss.all.size(), 3u);
  const std::regex pattern(R"(epoch: \d+ step: \d+, loss is [-+.e\d]+)");
  for (const std::string& text : loss.all) EXPECT_TRUE(std::regex_match(text, pattern)) << text;
  EXPECT_TRUE(loss.all[1].starts_with("epoch: 2 step: 1, loss is ")) << loss.all[1];
  EXPECT_EQ(rate.all.back(), "epoch: 2 step: 3, learning rate is 0.05");
  ASSERT_EQ(time.all.size(), 2u);
  EXPECT_TRUE(std::regex_match(time.all[0], std::regex(R"(epoch time: [\d.]+ ms, per step time: [\d.]+ ms)")));
  EXPECT_EQ(error_of([] { LossMonitor(-1); }), "The argument 'per_print_times' must be int and >= 0, but got -1");
}

TEST(Monitors, ALossThatIsNotFiniteEndsTheRunInMindSporesWords) {
  LineModel line;
  Tensor far(DType::f32, Shape{LineModel::kRows, 1});
  for (float& x : far.span<float>()) x = 1e30f;
  int fed = 0;
  FunctionFeed feed([&](Program& program) {
    line.feed.bind_next(program);
    if (++fed == 5) program.bind("x", far);
    return true;
  });
  LossMonitor silent(0);
  EXPECT_EQ(error_of([&] { Loop(line.model, feed, {.total_steps = 9, .steps_per_epoch = 3}).run({&silent}); }),
            "epoch: 2 step: 2. Invalid loss, terminating training.");
}

TEST(EarlyStopping, EndsTheRunWhenNothingWasBetterForItsPatience) {
  LineModel line;
  const std::vector<double> measures = {0.5, 0.6, 0.6, 0.61, 0.7, 0.7, 0.7, 0.7};
  std::string log;
  EarlyStopping stopping({.patience = 3,
                          .min_delta = 0.05,
                          .greater_is_better = true,
                          .what = "top-1",
                          .measure = [&](const RunContext& c) -> std::optional<double> {
                            if (c.step() == 0) return std::nullopt;  // the begin of the run
                            return measures.at(static_cast<std::size_t>(c.step() - 1));
                          },
                          .log = [&](const std::string& text) { log += text; }});
  Loop loop(line.model, line.feed, {.total_steps = 8, .loop = 1});
  EXPECT_EQ(loop.run({&stopping}).reason(), StopReason::requested);
  EXPECT_EQ(line.model.global_step(), 8);
  EXPECT_EQ(log, "early stop after step 8: top-1 has not been better than 0.7 for 3 times");
  EarlyStopping loss({.patience = 2});  // the loss at the end of each epoch
  loss.count(100);
  loss.count(200);
  LineModel other;
  Loop second(other.model, other.feed, {.total_steps = 20, .steps_per_epoch = 5});
  EXPECT_EQ(second.run({&loss}).reason(), StopReason::none);  // the loss decreases
  EXPECT_THROW(EarlyStopping({.patience = 0}), Error);
}

TEST(ModelCheckpoint, NamesKeepsAndRenamesAsMindSporeDoes) {
  const std::string directory = testing::temporary_directory() + "/ckp";
  fs::remove_all(directory);
  const auto run = [&](const CheckpointConfig& config) {
    LineModel line;
    ModelCheckpoint saver("CKP", directory, config);
    Loop(line.model, line.feed, {.total_steps = 7, .steps_per_epoch = 3, .loop = 1}).run({&saver});
    return saver.latest_ckpt_file_name();
  };
  const auto names = [&] {
    std::vector<std::string> all;
    for (const std::string& path : glob_files(directory + "/*")) all.push_back(fs::path(path).filename());
    return all;
  };
  EXPECT_EQ(run({.save_checkpoint_steps = 2, .keep_checkpoint_max = 3}), directory + "/CKP-3_1.safetensors");
  EXPECT_EQ(names(), (std::vector<std::string>{"CKP-2_1.safetensors", "CKP-2_3.safetensors", "CKP-3_1.safetensors"}));
  EXPECT_EQ(run({.save_checkpoint_steps = 100}), directory + "/CKP_1-3_1.safetensors");
  LineModel line;
  line.model.load(SafetensorsFile(directory + "/CKP_1-3_1.safetensors"));
  EXPECT_EQ(line.model.global_step(), 7);
  EXPECT_THROW(ModelCheckpoint("a/b", directory), Error);
  EXPECT_THROW(ModelCheckpoint("CKP", directory, {.save_checkpoint_steps = -1}), Error);
  EXPECT_THROW(ModelCheckpoint("CKP", directory, {.save_checkpoint_steps = 0, .keep_checkpoint_max = 0}), Error);
  fs::remove_all(directory);
}

TEST(ModelCheckpoint, WritesFilesOfAnotherEndingBesideTheStepsGraphAndGoesOnFromThem) {
  const std::string directory = testing::temporary_directory() + "/ending";
  fs::remove_all(directory);
  const auto saver_of = [&](const std::string& ending) {
    return ModelCheckpoint("CKP", directory, {.save_checkpoint_steps = 2}, {.ending = ending, .graph = true});
  };
  LineModel line;
  ModelCheckpoint saver = saver_of(".ckpt");
  Loop(line.model, line.feed, {.total_steps = 3, .steps_per_epoch = 3, .loop = 1}).run({&saver});
  std::vector<std::string> names;
  for (const std::string& path : glob_files(directory + "/*")) names.push_back(fs::path(path).filename());
  EXPECT_EQ(names, (std::vector<std::string>{"CKP-1_2.ckpt", "CKP-1_3.ckpt", "CKP-graph.meta"}));
  EXPECT_EQ(read_file(directory + "/CKP-graph.meta"), to_text(line.model.training_graph()));
  LineModel other;
  EXPECT_FALSE(saver_of(".safetensors").resume(other.model));
  ModelCheckpoint again = saver_of(".ckpt");
  EXPECT_TRUE(again.resume(other.model));
  EXPECT_EQ(other.model.global_step(), 3);
  EXPECT_EQ(other.weight(), line.weight());
  fs::remove_all(directory);
}

TEST(EarlyStopping, AMeasureThatIsNoNumberIsNeverTheBest) {
  EarlyStopping stopping({.patience = 3});
  stopping.count(std::nan(""));
  EXPECT_EQ(stopping.waited(), 1);
  stopping.count(0.5);
  EXPECT_EQ(stopping.waited(), 0);
  stopping.count(std::nan(""));
  stopping.count(0.4);
  EXPECT_EQ(stopping.waited(), 0);
}

TEST(EarlyStopping, ARunThatHasWaitedLongEnoughDoesNoStepAndAMeasureBeforeTheFirstStepCounts) {
  std::string log;
  std::optional<double> measure;
  EarlyStopping stopping({.patience = 2,
                          .greater_is_better = true,
                          .measure = [&](const RunContext&) { return measure; },
                          .log = [&](const std::string& text) { log += text; }});
  stopping.count(0.6);
  stopping.count(0.5);
  measure = 0.6;
  LineModel line;
  Loop loop(line.model, line.feed, {.total_steps = 8, .loop = 1});
  EXPECT_EQ(loop.run({&stopping}).reason(), StopReason::requested);
  EXPECT_EQ(line.model.global_step(), 0);
  EXPECT_EQ(log, "early stop after step 0: loss has not been better than 0.6 for 2 times");
}

TEST(ModelCheckpoint, SavesAnotherModelAtTheSameStepToo) {
  const std::string directory = testing::temporary_directory() + "/twice";
  fs::remove_all(directory);
  ModelCheckpoint saver("CKP", directory, {.save_checkpoint_steps = 100});
  for (const std::int64_t factor : {1, 2}) {
    LineModel line;
    for (float& y : line.y.span<float>()) y *= static_cast<float>(factor);
    Loop(line.model, line.feed, {.total_steps = 2, .steps_per_epoch = 2}).run({&saver});
    const SafetensorsFile file(directory + "/CKP-1_2.safetensors");
    EXPECT_EQ(file.tensor("w").at(0), line.weight()) << factor;
  }
  fs::remove_all(directory);
}

TEST(ModelCheckpoint, ABreakpointIsLeftWhicheverCallbackThrew) {
  const std::string directory = testing::temporary_directory() + "/monitored";
  fs::remove_all(directory);
  LineModel line;
  Tensor far(DType::f32, Shape{LineModel::kRows, 1});
  for (float& x : far.span<float>()) x = 1e30f;
  int fed = 0;
  FunctionFeed feed([&](Program& program) {
    line.feed.bind_next(program);
    if (++fed == 3) program.bind("x", far);
    return true;
  });
  LossMonitor monitor(0);
  ModelCheckpoint saver("CKP", directory, {.save_checkpoint_steps = 100, .exception_save = true});
  EXPECT_EQ(error_of([&] { Loop(line.model, feed, {.total_steps = 9, .steps_per_epoch = 9}).run({&monitor, &saver}); }),
            "epoch: 1 step: 3. Invalid loss, terminating training.");
  EXPECT_TRUE(fs::exists(directory + "/CKP-1_3_breakpoint.safetensors"));
  fs::remove_all(directory);
}

TEST(ModelCheckpoint, ARunThatEndsByAnErrorLeavesABreakpointIfAsked) {
  const std::string directory = testing::temporary_directory() + "/breakpoint";
  fs::remove_all(directory);
  LineModel line;
  int good = 2;
  FunctionFeed bad([&](Program& program) {
    if (good-- == 0) throw Error("row 17 is torn");
    return line.feed.bind_next(program);
  });
  ModelCheckpoint saver("CKP", directory, {.save_checkpoint_steps = 100, .exception_save = true});
  EXPECT_EQ(error_of([&] { Loop(line.model, bad, {.total_steps = 10, .steps_per_epoch = 10}).run({&saver}); }),
            "row 17 is torn");
  EXPECT_TRUE(fs::exists(directory + "/CKP-1_2_breakpoint.safetensors"));
  fs::remove_all(directory);
}

class Counter : public Callback {
 public:
  int steps = 0, epochs = 0;
  void step_end(RunContext&) override { ++steps; }
  void epoch_end(RunContext&) override { ++epochs; }
};

TEST(TrainEpochs, SinkModeAndSizeSayHowOftenTheHostIsAsked) {
  const auto counted = [](const SinkOptions& sink) {
    LineModel line;
    Counter counter;
    const std::int64_t steps = train_epochs(line.model, 2, points(32), {&counter}, sink);  // 4 batches
    return std::array<std::int64_t, 3>{steps, counter.steps, counter.epochs};
  };
  EXPECT_EQ(counted({}), (std::array<std::int64_t, 3>{8, 2, 2}));
  EXPECT_EQ(counted({.dataset_sink_mode = false}), (std::array<std::int64_t, 3>{8, 8, 2}));
  EXPECT_EQ(counted({.sink_size = 3}), (std::array<std::int64_t, 3>{6, 2, 2}));
  EXPECT_EQ(counted({.sink_size = 6}),
            (std::array<std::int64_t, 3>{12, 2, 2}));  // more than the data set has: it is repeated
  LineModel line;
  EXPECT_EQ(error_of([&] { train_epochs(line.model, 1, points(32), {}, {.sink_size = 0}); }),
            "The argument 'sink_size' must be -1 or positive, but got 0");
  EXPECT_THROW(train_epochs(line.model, 0, points(32), {}), Error);
}

TEST(TrainEpochs, RowsOfPaddingAreNotLearned) {
  const std::string reason =
      ", and the step has no input for the column 'mask': empty rows would count (padding of the last batch, bad "
      "samples that are skipped). Leave the remainder out (drop_remainder), or give the network that input";
  LineModel line;
  EXPECT_EQ(error_of([&] { train_epochs(line.model, 1, points(20), {}); }),
            "20 rows do not fill 3 batches of 8" + reason);
  EXPECT_EQ(line.model.global_step(), 0);
  DatasetFeed feed(points(20), {});
  EXPECT_EQ(error_of([&] { Loop(line.model, feed, {.total_steps = 9, .steps_per_epoch = 9}).run({}); }),
            "a batch has 4 rows of 8" + reason);
  EXPECT_EQ(line.model.global_step(), 2);
}

TEST(TrainSteps, RunsWhatTheInputFunctionGivesUpToTheStepWithHooks) {
  LineModel line;
  Counter hook;
  const InputFunction input = [] { return std::make_unique<DatasetFeed>(points(32), std::vector<nn::InputColumn>{}); };
  EXPECT_EQ(train_steps(line.model, input, 10, {&hook}, {.iterations_per_loop = 4}), 10);
  EXPECT_EQ(hook.steps, 3);
  EXPECT_EQ(train_steps(line.model, input, 12, {&hook}), 12);  // goes on
  EXPECT_EQ(error_of([&] { train_steps(line.model, input, 0, {}); }), "Must specify max_steps > 0, given: 0");
  EXPECT_EQ(error_of([&] { train_steps(line.model, [] { return nullptr; }, 13, {}); }),
            "the input function gave no feed (" + std::string(__FILE__) + ":" + std::to_string(__LINE__ - 1) + ")");
}

// Records its five hooks.
class NotedHook : public SessionRunHook {
 public:
  std::string notes;
  std::vector<double> losses;
  std::vector<std::string> wanted = {"loss:0", "spread", "loss:0"};

  void begin() override { notes += "begin "; }
  void after_create_session(Model& model) override { notes += "session" + std::to_string(model.global_step()) + " "; }
  std::vector<std::string> before_run(const RunContext& context) override {
    notes += "before" + std::to_string(context.step()) + " ";
    return wanted;
  }
  void after_run(RunContext& context, const Values& values) override {
    notes += "after" + std::to_string(context.step()) + " ";
    EXPECT_EQ(values.size(), 2u);
    losses.push_back(values.at("loss:0").at(0));
    if (context.step() == 3) context.request_stop();
  }
  void end(Model& model) override { notes += "end" + std::to_string(model.global_step()); }
};

TEST(SessionRunHook, HasTensorFlowsFivePointsAndGetsValuesByName) {
  LineModel line;
  NotedHook hook;
  const auto input = [&] { return std::make_unique<FunctionFeed>(line.feed); };
  EXPECT_EQ(train_steps(line.model, input, 5, {&hook}), 3);
  EXPECT_EQ(hook.notes, "begin session0 before0 after1 before1 after2 before2 after3 end3");
  ASSERT_EQ(hook.losses.size(), 3u);
  EXPECT_LT(hook.losses[2], hook.losses[0]);
  NotedHook wrong;
  wrong.wanted = {"los:0"};
  EXPECT_NE(error_of([&] {
              train_steps(line.model, input, 5, {&wrong});
            }).find("the step returns no tensor 'los:0': did you mean 'loss'?"),
            std::string::npos);
  EXPECT_EQ(wrong.notes, "begin session3 before3 ");
}

TEST(Evaluate, GivesMeansOverRowsAndUsesAverages) {
  nn::Network network = LineModel::network();
  network.evaluate = [](nn::ModelContext& context) {
    GraphBuilder& builder = context.builder;
    const Value x = builder.input("x", {DType::f32, {LineModel::kRows, 1}});
    const Value y = builder.input("y", {DType::f32, {LineModel::kRows, 1}});
    const Value mask = builder.input(nn::kMaskInput, {DType::f32, {LineModel::kRows}});
    const Value w = context.parameter("w", {1, 1}, nn::zeros());
    builder.returns("weights", nn::sum(mask) * nn::sum(w));
    builder.returns("rest", nn::sum(nn::dense(x, w, {}) - y) * 0.0);
    builder.returns(nn::kRowsResult, nn::sum(mask));
  };
  network.predict = [](nn::ModelContext& context) {
    const Value x = context.builder.input("x", {DType::f32, {LineModel::kRows, 1}});
    context.builder.returns("y", nn::dense(x, context.parameter("w", {1, 1}, nn::zeros()), {}));
  };
  Session session({.compute_threads = 1});
  Model model(session, network);
  model.prepare_training({.optimizer = optim::Momentum{.momentum = 0, .nesterov = false},
                          .schedule = optim::Constant{.base = 0.05},
                          .weight_decay = 0,
                          .average = 0.5});
  train_epochs(model, 1, points(24), {});
  const double w = session.parameters().get("w").at(0), average = session.parameters().get("w/average").at(0);
  EXPECT_NE(w, average);
  const auto results = evaluate(model, points(20));
  EXPECT_EQ(results.at("rows"), 20);  // the last batch is padded, and padding does not count
  EXPECT_NEAR(results.at("weights"), average, 1e-6);
  model.with_averages([&] { EXPECT_NEAR(evaluate(model, points(20)).at("weights"), average, 1e-6); });
  Tensor x(DType::f32, Shape{LineModel::kRows, 1});
  for (float& v : x.span<float>()) v = 1;
  EXPECT_NEAR(predict(model, {{"x", x}}).at("y").at(3), average, 1e-6);
  EXPECT_EQ(session.parameters().get("w").at(0), w);  // and back again
  LineModel line;
  EXPECT_EQ(error_of([&] { evaluate(line.model, points(8)); }), "the network line has no evaluation");
}

TEST(Model, ASessionHoldsTheParametersOfOne) {
  LineModel line;
  Loop(line.model, line.feed, {.total_steps = 3}).run({});
  const float weight = line.weight();
  Model second(line.session, LineModel::network());
  EXPECT_EQ(
      error_of([&] { second.prepare_training({}); }),
      "the session holds a parameter w already, and the model line would draw it anew: each model needs a session "
      "of its own");
  EXPECT_EQ(line.weight(), weight);
  line.model.prepare_training({.optimizer = optim::Adam{}});  // its own parameters do not change
  EXPECT_EQ(line.weight(), weight);
}

TEST(Model, AFileThatDoesNotFitChangesNothing) {
  const std::string path = testing::temporary_directory() + "/misfit.safetensors";
  LineModel line;
  Tensor w(DType::f32, Shape{1, 1}), momentum(DType::f32, Shape{2, 1}), step = Tensor::zeros(DType::i64, Shape{});
  w.data<float>()[0] = 7;
  write_safetensors(path, {{"w", w}, {"w/momentum", momentum}, {"global_step", step}});
  EXPECT_NE(error_of([&] { line.model.load(SafetensorsFile(path)); }).find("w/momentum is f32[2,1], but [1,1]"),
            std::string::npos);
  EXPECT_EQ(line.weight(), 0);
}

}  // namespace
}  // namespace ridgeline::train
