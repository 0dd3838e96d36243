// The loop and its callbacks with a small network: a line through points.
#include "ridgeline/train/loop/loop.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <stdexcept>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/train/callback/checkpoint_saver.h"
#include "ridgeline/train/callback/step_log.h"
#include "ridgeline/train/loop/interrupt.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"
#include "tests/train/line_model.h"

namespace ridgeline::train {
namespace {

// Records the calls.
class Recorder : public Callback {
 public:
  std::string calls;
  std::vector<std::int64_t> stops;
  std::int64_t period = 0;
  std::int64_t stop_at = -1;

  std::int64_t next_stop(std::int64_t step) const override { return next_multiple(step, period); }
  void begin(RunContext&) override { calls += "begin "; }
  void epoch_begin(RunContext& c) override { calls += "epoch" + std::to_string(c.epoch()) + "{ "; }
  void step_begin(RunContext&) override { calls += "< "; }
  void step_end(RunContext& c) override {
    calls += std::to_string(c.step()) + "> ";
    stops.push_back(c.step());
    if (c.step() == stop_at) c.request_stop();
  }
  void epoch_end(RunContext& c) override { calls += "}" + std::to_string(c.epoch()) + " "; }
  void end(RunContext&) override { calls += "end"; }
};

TEST(Loop, HooksComeInMindSporesOrder) {
  LineModel line;
  Recorder recorder;
  Loop(line.model, line.feed, {.total_steps = 4, .steps_per_epoch = 2, .loop = 1}).run({&recorder});
  EXPECT_EQ(recorder.calls, "begin epoch1{ < 1> < 2> }1 epoch2{ < 3> < 4> }2 end");
}

TEST(Loop, IsCutAtItsGridAtEpochsAndWhereCallbacksWantTheHost) {
  LineModel line;
  Recorder every_100{}, every_130{};
  every_100.period = 100;
  every_130.period = 130;
  Loop(line.model, line.feed, {.total_steps = 250, .steps_per_epoch = 1000, .loop = 60}).run({&every_100, &every_130});
  EXPECT_EQ(every_100.stops, (std::vector<std::int64_t>{60, 100, 120, 130, 180, 200, 240, 250}));
  LineModel other;
  Recorder recorder;
  Loop(other.model, other.feed, {.total_steps = 7, .steps_per_epoch = 3, .loop = 100}).run({&recorder});
  EXPECT_EQ(recorder.stops, (std::vector<std::int64_t>{3, 6, 7}));
  LineModel third;
  Recorder uncut;
  Loop(third.model, third.feed, {.total_steps = 7, .steps_per_epoch = 3, .loop = 4, .cut_at_epochs = false})
      .run({&uncut});
  EXPECT_EQ(uncut.calls, "begin epoch1{ < 4> }2 epoch2{ < 7> }3 end");
}

TEST(Loop, ResultsDoNotDependOnItsLength) {
  std::vector<float> weights;
  for (const std::int64_t loop : {1, 4, 100}) {
    LineModel line;
    Loop(line.model, line.feed, {.total_steps = 20, .steps_per_epoch = 5, .loop = loop}).run({});
    weights.push_back(line.weight());
  }
  EXPECT_EQ(weights[0], weights[1]);
  EXPECT_EQ(weights[0], weights[2]);
  EXPECT_NEAR(weights[0], 3, 0.5);
}

TEST(Loop, ACallbackStopsTheRunBehindItsStepAndEndIsCalled) {
  LineModel line;
  Recorder recorder;
  recorder.stop_at = 3;
  Loop(line.model, line.feed, {.total_steps = 10, .steps_per_epoch = 10, .loop = 1}).run({&recorder});
  EXPECT_EQ(recorder.calls, "begin epoch1{ < 1> < 2> < 3> end");
  EXPECT_EQ(line.model.global_step(), 3);
}

TEST(Loop, ARunThatWasStoppedGoesOnWhenItIsCalledAgain) {
  LineModel line;
  Recorder recorder;
  recorder.stop_at = 3;
  Loop loop(line.model, line.feed, {.total_steps = 5, .steps_per_epoch = 10, .loop = 1});
  loop.run({&recorder});
  EXPECT_EQ(loop.run({&recorder}).reason(), StopReason::none);
  EXPECT_EQ(recorder.calls, "begin epoch1{ < 1> < 2> < 3> endbegin epoch1{ < 4> < 5> end");
}

TEST(Loop, TheEndOfTheDataEndsTheRunAndItsErrorsAreThrownBehindTheStepsBefore) {
  LineModel line;
  Recorder recorder;
  int left = 3;
  FunctionFeed few([&](Program& program) { return left-- > 0 && line.feed.bind_next(program); });
  Loop loop(line.model, few, {.total_steps = 10, .steps_per_epoch = 10});
  EXPECT_EQ(loop.run({&recorder}).reason(), StopReason::no_data);
  EXPECT_EQ(recorder.calls, "begin epoch1{ < 3> end");

  LineModel other;
  Recorder second;
  int good = 2;
  FunctionFeed bad([&](Program& program) {
    if (good-- == 0) throw Error("row 17 is torn");
    return other.feed.bind_next(program);
  });
  EXPECT_EQ(error_of([&] { Loop(other.model, bad, {.total_steps = 10, .steps_per_epoch = 10}).run({&second}); }),
            "row 17 is torn");
  EXPECT_EQ(second.calls, "begin epoch1{ < 2> ");
}

TEST(Loop, ALossThatIsNotFiniteEndsTheRunAtItsStep) {
  LineModel line;
  Recorder recorder;
  int fed = 0;
  Tensor far(DType::f32, Shape{LineModel::kRows, 1});
  for (float& x : far.span<float>()) x = 1e30f;
  FunctionFeed feed([&](Program& program) {
    line.feed.bind_next(program);
    if (++fed == 3) program.bind("x", far);
    return true;
  });
  const std::string error =
      error_of([&] { Loop(line.model, feed, {.total_steps = 10, .steps_per_epoch = 10}).run({&recorder}); });
  EXPECT_EQ(error, "step 3: Invalid loss (inf), terminating training.");
  EXPECT_EQ(recorder.stops, (std::vector<std::int64_t>{3}));
}

// Every way in which a run ends, as one hook per kind sees it.
TEST(Loop, ARunThatEndsByAnErrorTellsEveryCallbackWhoeverThrew) {
  class Failure : public Recorder {
   public:
    std::int64_t throw_at = -1;
    void step_end(RunContext& c) override {
      Recorder::step_end(c);
      if (c.step() == throw_at) throw Error("the user's own");
    }
    void failed(RunContext& c) override {
      calls += "failed at " + std::to_string(c.step());
      throw Error("nobody hears this");
    }
  };
  LineModel line;
  Failure first, last;
  first.throw_at = 2;
  EXPECT_EQ(error_of([&] { Loop(line.model, line.feed, {.total_steps = 9, .loop = 1}).run({&first, &last}); }),
            "the user's own");
  EXPECT_EQ(first.calls, "begin epoch1{ < 1> }1 epoch2{ < 2> failed at 2");
  EXPECT_EQ(last.calls, "begin epoch1{ < 1> }1 epoch2{ < failed at 2");

  LineModel other;
  Failure seen;
  int good = 2;
  FunctionFeed bad([&](Program& program) {
    if (good-- == 0) throw std::runtime_error("not one of ours");
    return other.feed.bind_next(program);
  });
  std::string told;
  try {
    Loop(other.model, bad, {.total_steps = 10, .steps_per_epoch = 10}).run({&seen});
  } catch (const std::runtime_error& error) {
    told = error.what();
  }
  EXPECT_EQ(told, "not one of ours");
  EXPECT_EQ(seen.calls, "begin epoch1{ < 2> failed at 2");  // the steps before it are processed first
}

TEST(Loop, OverflowsWithoutEndLoseNoStepThatWasDone) {
  const std::string directory = testing::temporary_directory() + "/overflows";
  nn::TrainingOptions options{.schedule = optim::Constant{.base = 0.01}, .weight_decay = 0};
  options.gradients.loss_scale = optim::LossScale::dynamic();
  LineModel line(options);
  Tensor far(DType::f32, Shape{LineModel::kRows, 1});
  for (float& x : far.span<float>()) x = INFINITY;
  int fed = 0;
  FunctionFeed feed([&](Program& program) {
    line.feed.bind_next(program);
    if (++fed > 3) program.bind("x", far);
    return true;
  });
  CheckpointSaver saver({.directory = directory, .periods = {}, .keep = 2});
  EXPECT_EQ(error_of([&] {
              Loop(line.model, feed, {.total_steps = 2000, .steps_per_epoch = 2000, .loop = 2000}).run({&saver});
            }),
            "Dynamic loss scale Continuous overflow 1001 times, has exceeded maximum threshold.");
  EXPECT_EQ(saver.path(), directory + "/model.ckpt-3.safetensors");
}

// A constant loss scale is not reported as dynamic, and skipped steps are counted.
TEST(Loop, OverflowsUnderAFixedScaleAreToldAsSuchAndSkippedStepsAreCounted) {
  nn::TrainingOptions options{.schedule = optim::Constant{.base = 0.01}, .weight_decay = 0};
  options.gradients.loss_scale = optim::LossScale::fixed(64);
  LineModel line(options);
  Tensor far(DType::f32, Shape{LineModel::kRows, 1});
  for (float& x : far.span<float>()) x = INFINITY;
  int fed = 0;
  const auto overflowing = [&](std::set<int> runs, bool for_ever) {
    return FunctionFeed([&, runs = std::move(runs), for_ever](Program& program) {
      line.feed.bind_next(program);
      if (for_ever || runs.contains(++fed)) program.bind("x", far);
      return true;
    });
  };
  FunctionFeed some = overflowing({2, 3, 5}, false);
  const RunContext end = Loop(line.model, some, {.total_steps = 4, .steps_per_epoch = 4, .loop = 3}).run({});
  EXPECT_EQ(end.step(), 4);
  EXPECT_EQ(end.skipped_steps(), 3);
  FunctionFeed all = overflowing({}, true);
  const std::string file = testing::temporary_directory() + "/standstill.log";
  {
    TrainingLog log(file);
    StepLog lines({}, log);
    EXPECT_EQ(
        error_of([&] { Loop(line.model, all, {.total_steps = 9, .loop = 2}).run({&lines}); }),
        "the gradients overflowed 1001 times in a row under the fixed loss scale 64: none of these steps counted (a "
        "lower scale, or a dynamic one, which follows overflows)");
  }
  // A run whose steps do not count says so while it goes on.
  const std::string text = read_file(file);
  for (const char* times : {"10", "100", "1000"})
    EXPECT_NE(
        text.find(fmt::format("skipped steps: {} in a row, as their gradients overflowed (loss scale 64); the run "
                              "stands at step 4 and ends after 1000\n",
                              times)),
        std::string::npos)
        << text;
}

TEST(Loop, AStepThatWasStoppedInItsMiddleIsNotSaved) {
  const std::string directory = testing::temporary_directory() + "/torn";
  LineModel line;
  int fed = 0;
  FunctionFeed feed([&](Program& program) {
    if (++fed == 3) line.session.stop_flag() = true;
    return line.feed.bind_next(program);
  });
  TrainingLog log("");
  StepLog lines({}, log);
  CheckpointSaver saver({.directory = directory, .periods = {100}, .keep = 2});
  Loop loop(line.model, feed, {.total_steps = 9, .steps_per_epoch = 9});
  const RunContext end = loop.run({&lines, &saver});
  EXPECT_EQ(end.reason(), StopReason::interrupted);
  EXPECT_TRUE(end.torn());
  EXPECT_FALSE(end.has_outputs());
  EXPECT_EQ(saver.path(), "");
  line.session.stop_flag() = false;
  Loop rest(line.model, line.feed, {.total_steps = 9, .steps_per_epoch = 9});
  EXPECT_FALSE(rest.run({&saver}).torn());
  EXPECT_EQ(saver.path(), directory + "/model.ckpt-9.safetensors");
}

TEST(Loop, WithoutPreparedTrainingItSaysWhatIsMissing) {
  Session session({.compute_threads = 1});
  Model model(session, LineModel::network());
  FunctionFeed feed([](Program&) { return false; });
  EXPECT_EQ(error_of([&] { Loop(model, feed, {.total_steps = 1}); }),
            "the model's training is not prepared: call prepare_training() first");
  EXPECT_EQ(error_of([&] { model.evaluation(); }),
            "the model's evaluation is not prepared: call prepare_evaluation() first");
}

TEST(Loop, InterruptedRunsAreSavedWhereTheyStopAndGoOnWithTheSameBits) {
  const std::string directory = testing::temporary_directory() + "/loop";
  const LoopOptions options{.total_steps = 12, .steps_per_epoch = 4, .loop = 1};
  LineModel whole;
  Loop(whole.model, whole.feed, options).run({});
  {
    const InterruptGuard guard;
    LineModel line;
    Recorder recorder;
    int fed = 0;
    FunctionFeed feed([&](Program& program) {
      if (fed++ == 5) set_interrupted(true);
      return line.feed.bind_next(program);
    });
    CheckpointSaver saver({.directory = directory, .periods = {4}, .keep = 2});
    Loop loop(line.model, feed, options);
    EXPECT_EQ(loop.run({&recorder, &saver}).reason(), StopReason::interrupted);
    EXPECT_EQ(saver.path(), directory + "/model.ckpt-6.safetensors");
    set_interrupted(false);
  }
  LineModel line;
  line.model.load(load_newest(directory, [](const std::string&) { FAIL(); })->tensors);
  EXPECT_EQ(line.model.global_step(), 6);
  Loop(line.model, line.feed, options).run({});
  EXPECT_EQ(line.weight(), whole.weight());
}

TEST(RunContext, FetchesTensorsByNameAndNamesThoseThatThereAre) {
  LineModel line;
  Loop loop(line.model, line.feed, {.total_steps = 2});
  const RunContext end = loop.run({});
  EXPECT_EQ(end.fetch("loss:0").at(0), end.loss());
  EXPECT_EQ(end.fetch("global_step:0").at(0), 2);
  EXPECT_EQ(end.value("spread"), end.fetch("spread:0").at(0));  // what the network returns in addition to its loss
  EXPECT_EQ(error_of([&] { end.fetch("lose:0"); }),
            "the step returns no tensor 'lose:0': did you mean 'loss'? (there are: global_step, spread, loss, "
            "total_loss, learning_rate)");
}

TEST(StepLog, LinesComeAtLoopsSummariesAndDisplayedSteps) {
  TrainingLog log("");
  const auto lines = [&](bool every_loop, std::int64_t display) {
    return StepLog({.loop = 60, .every_loop = every_loop, .summary = 100, .display = display}, log);
  };
  EXPECT_TRUE(lines(true, 1).due(60));
  EXPECT_FALSE(lines(true, 1).due(130));
  EXPECT_FALSE(lines(false, 1).due(60));
  EXPECT_TRUE(lines(false, 1).due(100));
  EXPECT_FALSE(lines(false, 7).due(100));
}

}  // namespace
}  // namespace ridgeline::train
