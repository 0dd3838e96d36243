// A Run is one training, with any number of calls, processes and ranks; only the public header is used.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <iostream>
#include <map>
#include <random>

#include "ridgeline/core/file.h"
#include "ridgeline/ridgeline.h"
#include "tests/comm/ranks.h"
#include "tests/support/environment.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"
#include "tests/support/temporary_directory.h"
#include "tests/train/shuffled_points.h"
#include "tests/train/watched_process.h"

namespace ridgeline::train::run_object {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kEpochSteps = kPoints / LineModel::kRows;

std::string fresh_folder() {
  static int number = 0;
  std::string path = testing::temporary_directory() + "/run_" + std::to_string(number++);
  fs::remove_all(path);
  return path;
}

// With an evaluation of its loss.
nn::Network evaluated_network() {
  nn::Network network = dropping_network();
  network.evaluate = [](nn::ModelContext& context) {
    const Value x = context.builder.input("x", {DType::f32, {LineModel::kRows, 1}});
    const Value y = context.builder.input("y", {DType::f32, {LineModel::kRows, 1}});
    const Value mask = context.builder.input(nn::kMaskInput, {DType::f32, {LineModel::kRows}});
    const Value h = nn::dense_layer(context, x, {.name = "hidden", .out = 64});
    const Value error = nn::dense_layer(context, h, {.name = "out", .out = 1}) - y;
    context.builder.returns("loss_sum", nn::sum(error * error));
    context.builder.returns(nn::kRowsResult, nn::sum(mask));
  };
  return network;
}

const nn::TrainingOptions kTraining{.optimizer = optim::Adam{}, .schedule = optim::Constant{.base = 0.01}};

RunSetup setup(const std::string& directory, std::int64_t save_steps = 3) {
  return {.directory = directory,
          .seed = 7,
          .save = {.steps = save_steps, .keep = 1000},
          .session = {.compute_threads = 1}};
}

std::map<std::string, std::string> checkpoints_in(const std::string& directory) {
  std::map<std::string, std::string> bytes;
  for (const std::string& path : glob_files(directory + "/model.ckpt-*.safetensors"))
    bytes[fs::path(path).filename()] = read_file(path);
  return bytes;
}

// Only of the last step, since runs save at different steps where they stop.
void expect_same_end(const std::string& directory, const std::string& other, std::int64_t step) {
  const std::string file = "/" + checkpoint_name(step);
  EXPECT_TRUE(read_file(directory + file) == read_file(other + file)) << "checkpoints differ at step " << step;
}

TEST(Run, TwiceTwoEpochsAndAnotherOfThreeAreSeven) {
  const std::string parts = fresh_folder(), whole = fresh_folder();
  train::Run run(dropping_network(), kTraining, setup(parts));
  EXPECT_EQ(run.train_epochs(2, shuffled_points()).step, 2 * kEpochSteps);
  EXPECT_EQ(run.train_epochs(2, shuffled_points()).step, 4 * kEpochSteps);
  EXPECT_EQ(run.train_epochs(3, shuffled_points()).step, 7 * kEpochSteps);
  train::Run(dropping_network(), kTraining, setup(whole)).train_epochs(7, shuffled_points());
  expect_same_end(parts, whole, 7 * kEpochSteps);
}

TEST(Run, AProcessThatBeginsAgainPassesOverTheEpochsThatAreDone) {
  const std::string stopped = fresh_folder(), whole = fresh_folder();
  train::Run(dropping_network(), kTraining, setup(stopped)).train_epochs(3, shuffled_points());
  {
    train::Run again(dropping_network(), kTraining, setup(stopped));
    EXPECT_EQ(again.step(), 3 * kEpochSteps);
    EXPECT_EQ(again.train_epochs(2, shuffled_points()).step, 3 * kEpochSteps) << "two of the three are done";
    EXPECT_EQ(again.train_epochs(2, shuffled_points(), {}, {.loop = 1, .data = {.workers = 3}}).step, 4 * kEpochSteps);
  }
  train::Run(dropping_network(), kTraining, setup(whole)).train_epochs(4, shuffled_points());
  expect_same_end(stopped, whole, 4 * kEpochSteps);
}

class StopAt : public Callback {
 public:
  explicit StopAt(std::int64_t step) : step_(step) {}
  std::int64_t next_stop(std::int64_t step) const override { return step < step_ ? step_ : kNever; }
  void step_end(RunContext& run) override {
    if (run.step() == step_) set_interrupted(true);
  }

 private:
  std::int64_t step_;
};

TEST(Run, AnInterruptEndsTheCallAndLaterOnesAndTheNextProcessGoesOn) {
  const std::string stopped = fresh_folder(), whole = fresh_folder();
  {
    StopAt stop(kEpochSteps + 1);
    train::Run run(dropping_network(), kTraining, setup(stopped));
    const RunResult end = run.train_epochs(2, shuffled_points(), {&stop});
    EXPECT_TRUE(end.interrupted);
    EXPECT_LE(end.step, kEpochSteps + 2);
    EXPECT_TRUE(run.train_epochs(2, shuffled_points()).interrupted);
    EXPECT_EQ(run.step(), end.step) << "a later call did not train";
  }
  train::Run run(dropping_network(), kTraining, setup(stopped));
  run.train_epochs(2, shuffled_points());
  EXPECT_FALSE(run.train_epochs(2, shuffled_points()).interrupted);
  train::Run(dropping_network(), kTraining, setup(whole)).train_epochs(4, shuffled_points());
  expect_same_end(stopped, whole, 4 * kEpochSteps);
}

TEST(Run, DataThatWereLeftForOthersGoOnWhereTheyStoodInAnotherProcess) {
  const auto two = [](const std::string& directory, std::int64_t stop_at) {
    StopAt stop(stop_at);
    train::Run run(dropping_network(), kTraining, setup(directory));
    const data::Dataset some = shuffled_points(), others = shuffled_points(5);
    run.train_epochs(1, some, {&stop});
    run.train_epochs(1, others, {&stop});
    run.train_epochs(2, some, {&stop});
  };
  const std::string stopped = fresh_folder(), whole = fresh_folder();
  two(stopped, kEpochSteps + 2);  // inside the others
  two(stopped, -1);
  two(whole, -1);
  expect_same_end(stopped, whole, 4 * kEpochSteps);
}

TEST(Run, AnotherSeedOrNetworkIsRefusedAndSoIsASecondRunInTheFolder) {
  const std::string directory = fresh_folder();
  train::Run(dropping_network(), kTraining, setup(directory)).train_epochs(1, shuffled_points());
  RunSetup other = setup(directory);
  other.seed = 8;
  EXPECT_NE(error_of([&] { train::Run(dropping_network(), kTraining, other); }).find("set_seed(7), and the model has"),
            std::string::npos);
  EXPECT_NE(
      error_of([&] { train::Run(LineModel::network(), kTraining, setup(directory)); }).find("'dropping', not 'line'"),
      std::string::npos);
  const train::Run one(dropping_network(), kTraining, setup(directory));
  EXPECT_NE(error_of([&] { train::Run(dropping_network(), kTraining, setup(directory)); }), "");
}

TEST(Run, AnEpochOfAccumulatedBatchesHasSoManyFewerSteps) {
  nn::TrainingOptions training = kTraining;
  training.gradients.accumulate = kEpochSteps;
  train::Run run(dropping_network(), training, {.session = {.compute_threads = 1}});
  EXPECT_EQ(run.train_epochs(2, shuffled_points()).step, 2);
  training.gradients.accumulate = kEpochSteps + 1;
  train::Run other(dropping_network(), training, {.session = {.compute_threads = 1}});
  EXPECT_NE(error_of([&] { other.train_epochs(1, shuffled_points()); }).find("do not divide"), std::string::npos);
}

TEST(Run, WhatCannotBeMeantIsRefusedByItsName) {
  train::Run run(evaluated_network(), kTraining, {.session = {.compute_threads = 1}});
  const auto refusal = [&](std::int64_t epochs, const EpochOptions& options) {
    return error_of([&] { run.train_epochs(epochs, shuffled_points(), {}, options); });
  };
  EXPECT_NE(refusal(0, {}).find("epochs is 0"), std::string::npos);
  EXPECT_NE(refusal(1, {.loop = 0}).find("loop is 0"), std::string::npos);
  EXPECT_NE(refusal(1, {.evaluate_every = 0}).find("evaluate_every is 0"), std::string::npos);
  EXPECT_NE(refusal(1, {.patience = 1}).find("needs a validation data set"), std::string::npos);
  const auto parts = [](std::int64_t count, Reproducibility bits) {
    RunSetup wrong{.session = {.compute_threads = 1}, .batch_parts = count};
    wrong.session.promise.bits = bits;
    return error_of([&] { train::Run(dropping_network(), kTraining, wrong); });
  };
  EXPECT_NE(parts(3, Reproducibility::deterministic).find("batch_parts is 3"), std::string::npos);
  EXPECT_NE(parts(2, Reproducibility::fast).find("deterministic or portable"), std::string::npos);
}

TEST(Run, TheBestCheckpointStaysThoseOfModelCheckpointToo) {
  const std::string directory = fresh_folder();
  RunSetup kept = setup(directory, 1000);
  kept.save.keep = 1;
  train::Run run(
      evaluated_network(),
      {.optimizer = optim::Momentum{.momentum = 0, .nesterov = false}, .schedule = optim::Constant{.base = 0.001}},
      kept);
  // The second data set changes what was learned from the first, on which the run is evaluated.
  const data::Dataset validation = shuffled_points(), away = shuffled_points(-20);
  ModelCheckpoint saver("net", directory, {.save_checkpoint_steps = 1000, .keep_checkpoint_max = 1});
  const EpochOptions options{.validation = &validation};
  const RunResult first = run.train_epochs(1, validation, {&saver}, options);
  ASSERT_TRUE(first.evaluation.has_value());
  EXPECT_FALSE(first.evaluation->classifies);
  EXPECT_NEAR(run.evaluate(validation)["loss"], first.evaluation->loss, 1e-12);
  const RunResult last = run.train_epochs(3, away, {&saver}, options);
  ASSERT_TRUE(last.best.has_value());
  EXPECT_EQ(last.best->step, kEpochSteps);
  EXPECT_EQ(last.best_path, directory + "/" + checkpoint_name(kEpochSteps));
  EXPECT_TRUE(fs::exists(last.best_path));
  EXPECT_EQ(checkpoints_in(directory).size(), 2u) << "the best and the newest";
  EXPECT_TRUE(fs::exists(directory + "/net-1_4.safetensors")) << "ModelCheckpoint's of that step";
  EXPECT_EQ(glob_files(directory + "/net-*").size(), 2u);
}

TEST(Run, EvaluationsThatWereNotBetterEndIt) {
  train::Run run(
      evaluated_network(),
      {.optimizer = optim::Momentum{.momentum = 0, .nesterov = false}, .schedule = optim::Constant{.base = 0.001}},
      {.session = {.compute_threads = 1}});
  const data::Dataset validation = shuffled_points(), away = shuffled_points(-20);
  const RunResult end = run.train_epochs(9, away, {}, {.validation = &validation, .patience = 2});
  EXPECT_EQ(end.step, 3 * kEpochSteps);
}

void train_over(int ranks, const std::string& directory, std::int64_t epochs) {
  const std::vector<std::string> ends = comm::run_ranks(ranks, [&](comm::Communicator& own) {
    RunSetup given = setup(directory);
    given.session.promise.bits = Reproducibility::deterministic;
    given.batch_parts = 2;
    if (ranks > 1) given.ranks = RunRanks(std::shared_ptr<comm::Communicator>(&own, [](comm::Communicator*) {}));
    train::Run run(dropping_network(), kTraining, given);
    const data::Dataset rows = shuffled_rows();
    run.train_epochs(epochs, run.part_of(rows).batch(2 * LineModel::kRows / ranks));
  });
  for (const std::string& end : ends) EXPECT_EQ(end, "");
}

TEST(Run, TwoRanksThenOneThenTwoAreOneToTheBit) {
  const std::string turns = fresh_folder(), alone = fresh_folder();
  train_over(2, turns, 2);
  train_over(1, turns, 4);
  train_over(2, turns, 6);
  train_over(1, alone, 6);
  expect_same_end(turns, alone, 6 * kPoints / (2 * LineModel::kRows));
}

TEST(Run, WhatACallbackOfOneRankStopsStopsAllBehindTheSameStep) {
  struct StopAt : Callback {
    std::int64_t next_stop(std::int64_t step) const override { return step < 7 ? 7 : step + 100; }
    void step_end(RunContext& context) override {
      if (context.step() == 7) context.request_stop();
    }
  };
  const std::vector<std::string> ends = comm::run_ranks(2, [&](comm::Communicator& own) {
    RunSetup given = setup("");
    given.ranks = RunRanks(std::shared_ptr<comm::Communicator>(&own, [](comm::Communicator*) {}));
    train::Run run(dropping_network(), kTraining, given);
    StopAt stop;
    const data::Dataset part = run.part_of(shuffled_rows()).batch(LineModel::kRows);
    const RunResult end = own.rank() == 1 ? run.train_epochs(9, part, {&stop}) : run.train_epochs(9, part);
    if (end.step != 7 || end.interrupted) throw Error("stopped at step " + std::to_string(end.step));
  });
  for (const std::string& end : ends) EXPECT_EQ(end, "");
}

// Runs the program of examples/ on a folder.
std::vector<std::string> words(const std::string& directory, int workers, int loop) {
  return {testing::examples_directory() + "/example_train_resumed", directory, std::to_string(workers),
          std::to_string(loop)};
}

TEST(Run, AProgramKilledAtAnyMomentLeavesTheBytesOfOneThatWasNot) {
  const std::string whole = fresh_folder();
  fs::create_directories(whole);
  ASSERT_EQ(testing::run_and_stop(words(whole, 1, 10), whole, "training.log", {}).code, 0);
  const std::map<std::string, std::string> expected = checkpoints_in(whole);
  ASSERT_GE(expected.size(), 3u);
  const std::int64_t wanted = number_from_environment("RIDGELINE_KILLS", 8);
  std::mt19937 random(static_cast<unsigned>(number_from_environment("RIDGELINE_KILLS_SEED", 1)));
  std::int64_t kills = 0, processes = 0;
  for (int turn = 0; kills < wanted && processes < 20 * wanted && !HasFailure(); ++turn) {
    const std::string killed = fresh_folder();
    fs::create_directories(killed);
    for (bool finished = false; !finished; ++processes) {
      ASSERT_LT(processes, 20 * wanted) << "signals came too late, " << kills << " in time";
      testing::Stop stop{SIGKILL, testing::Place::anywhere, static_cast<int>(random() % 40)};
      if (random() % 4 == 0) stop = {SIGKILL, testing::Place::saving, static_cast<int>(random() % 3)};
      if (kills >= wanted) stop = {};
      const int workers = 1 + turn % 3, loop = turn % 2 == 0 ? 1 : 7;
      const testing::ProcessEnd end = testing::run_and_stop(words(killed, workers, loop), killed, "training.log", stop);
      finished = end.code == 0;
      ASSERT_TRUE(finished || end.stopped) << "exit code " << end.code;
      if (end.stopped) ++kills;
    }
    // A kill after the last save, before the oldest file is removed, leaves that file, too.
    const std::map<std::string, std::string> left = checkpoints_in(killed);
    for (const auto& [name, bytes] : expected) EXPECT_TRUE(left.contains(name) && left.at(name) == bytes) << name;
    EXPECT_EQ(read_file(killed + "/best_checkpoint.json"), read_file(whole + "/best_checkpoint.json"));
  }
  std::cout << kills << " kills, " << processes << " processes\n";
  EXPECT_GE(kills, wanted);
}

}  // namespace
}  // namespace ridgeline::train::run_object
