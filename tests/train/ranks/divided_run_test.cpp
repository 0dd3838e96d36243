// Runs of train() whose ranks divide the model; any number of ranks can resume from their checkpoints.
#include <gtest/gtest.h>

#include <filesystem>

#include "ridgeline/core/error.h"
#include "ridgeline/train/checkpoint/checkpoint.h"
#include "ridgeline/train/recipe/trainer.h"
#include "tests/comm/ranks.h"
#include "tests/support/temporary_directory.h"
#include "tests/train/small_run.h"

namespace ridgeline::train {
namespace {

// A folder that no other test uses.
std::string fresh_directory() {
  static int number = 0;
  std::string path = testing::temporary_directory() + "/divided_" + std::to_string(number++);
  std::filesystem::create_directories(path);
  return path;
}

// Every rank's end.
std::vector<std::string> run_over(int ranks, const Recipe& recipe) {
  return comm::run_ranks(ranks, [&](comm::Communicator& own) {
    Recipe of_rank = recipe;
    of_rank.intra_op_parallelism_threads = 1;
    train(of_rank, std::shared_ptr<comm::Communicator>(&own, [](comm::Communicator*) {}));
  });
}

SafetensorsFile newest(const std::string& directory, std::int64_t step) {
  auto loaded = load_newest(directory, [](const std::string& text) { ADD_FAILURE() << text; });
  EXPECT_TRUE(loaded.has_value());
  EXPECT_EQ(loaded->info.step, step);
  return std::move(loaded->tensors);
}

TEST(DividedRun, OneRankGoesOnFromACheckpointOfTwoThatHeldParts) {
  const std::string directory = fresh_directory();
  Recipe recipe = small_run(directory, 2, 2);
  recipe.parallel.mode = "hybrid_parallel";
  EXPECT_EQ(run_over(2, recipe), (std::vector<std::string>{"", ""}));
  const SafetensorsFile saved = newest(directory, 2);
  EXPECT_EQ(saved.tensor("linear.weight").shape(), (Shape{10, 64}));
  EXPECT_EQ(saved.tensor("linear.weight/momentum").shape(), (Shape{10, 64}));
  Recipe alone = small_run(directory, 4, 2);
  alone.batch_size = 8;
  EXPECT_EQ(train(alone).step, 4);
  recipe.max_train_steps = 6;
  EXPECT_EQ(run_over(2, recipe), (std::vector<std::string>{"", ""}));
  newest(directory, 6);
}

TEST(DividedRun, APipelineSavesTheValuesOfAllStages) {
  const std::string directory = fresh_directory();
  Recipe recipe = small_run(directory, 2, 2);
  recipe.parallel.pipeline_stages = 2;
  EXPECT_EQ(run_over(2, recipe), (std::vector<std::string>{"", ""}));
  Recipe alone = small_run(directory, 4, 2);
  EXPECT_EQ(train(alone).step, 4);
  recipe.max_train_steps = 6;
  recipe.parallel.pipeline_order = "gpipe";
  EXPECT_EQ(run_over(2, recipe), (std::vector<std::string>{"", ""}));
  newest(directory, 6);
}

TEST(DividedRun, WhatNeedsTheWholeModelIsRefused) {
  const std::string directory = fresh_directory();
  Recipe recipe = small_run(directory, 2, 2);
  recipe.parallel.mode = "hybrid_parallel";
  recipe.histogram_steps = 1;
  for (const std::string& end : run_over(2, recipe))
    EXPECT_EQ(end.rfind("--histogram_steps with several ranks: ", 0), 0u);
  const auto refusal = [&](auto change) -> std::string {
    Recipe wrong = small_run(directory, 2, 2);
    change(wrong.parallel);
    try {
      check(wrong);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal([](ParallelSettings& p) { p.mode = "auto_paralel"; }).rfind("unknown parallel_mode", 0), 0u);
  EXPECT_NE(
      refusal([](ParallelSettings& p) { p.shard_layer = {"linear=both"}; }).find("(allowed: data, columns, rows)"),
      std::string::npos);
  EXPECT_NE(refusal([](ParallelSettings& p) {
              p.pipeline_stages = 2;
              p.micro_batches = 3;
            }).find("--micro_batches=3"),
            std::string::npos);
  EXPECT_NE(refusal([](ParallelSettings& p) { p.stage_layer = {"linear=1"}; }).find("is no stage (allowed: 0 to 0"),
            std::string::npos);
  EXPECT_NE(refusal([](ParallelSettings& p) { p.rates = "h100"; }).find("unknown cluster"), std::string::npos);
  // Settings that no pass would read.
  const std::pair<void (*)(ParallelSettings&), const char*> unread[] = {
      {[](ParallelSettings& p) { p.micro_batches = 2; }, "--micro_batches=2 has no effect: it needs --pipeline_stages"},
      {[](ParallelSettings& p) { p.pipeline_order = "gpipe"; },
       "--pipeline_order=gpipe has no effect: it needs --pipeline_stages"},
      {[](ParallelSettings& p) { p.rates = "h200x8"; },
       "--parallel_rates=h200x8 has no effect: it needs --parallel_mode=auto_parallel"},
      {[](ParallelSettings& p) { p.shard_layer = {"linear=rows"}; },
       "--shard_layer=linear=rows has no effect: it needs --parallel_mode=semi_auto_parallel (or hybrid_parallel, "
       "auto_parallel)"},
      {[](ParallelSettings& p) { p.mode = "semi_auto_parallel"; },
       "--parallel_mode=semi_auto_parallel has no effect: it needs the layers to divide, as "
       "--shard_layer=LAYER=columns"}};
  for (const auto& [change, message] : unread) EXPECT_EQ(refusal(change), message);
}

// Otherwise they would train with different rates, and nobody would notice.
TEST(DividedRun, RanksThatWereToldOtherwiseEndByTheFlag) {
  const auto ends_with = [](auto change) {
    const std::string directory = fresh_directory();
    return comm::run_ranks(2, [&](comm::Communicator& own) {
      Recipe recipe = small_run(directory, 2, 2);
      recipe.intra_op_parallelism_threads = 1;
      if (own.rank() == 1) change(recipe);
      train(recipe, std::shared_ptr<comm::Communicator>(&own, [](comm::Communicator*) {}));
    });
  };
  const std::pair<void (*)(Recipe&), const char*> differences[] = {
      {[](Recipe& r) { r.batch_size = 8; }, "rank 1 has --batch_size=8, rank 0 --batch_size=4"},
      {[](Recipe& r) { r.lr = 0.5; }, "rank 1 has --lr=0.5, rank 0 --lr=0.06"},
      {[](Recipe& r) { r.seed = 7; }, "rank 1 has --seed=7, rank 0 --seed=1"},
      {[](Recipe& r) { r.max_train_steps = 3; }, "rank 1 has --max_train_steps=3, rank 0 --max_train_steps=2"},
      {[](Recipe& r) { r.parallel.mode = "hybrid_parallel"; },
       "rank 1 has --parallel_mode=hybrid_parallel, rank 0 --parallel_mode=data_parallel"}};
  for (const auto& [change, message] : differences) {
    // From its own error or from that of another rank: "[ranks] rank 0 gave up: [ranks] rank 1 has ..."
    for (const std::string& end : ends_with(change)) {
      const std::string words = "[ranks] " + std::string(message) + ": all processes of a run need the same settings";
      EXPECT_NE(end.find(words), std::string::npos) << end;
    }
  }
  EXPECT_EQ(ends_with([](Recipe&) {}), (std::vector<std::string>{"", ""}));
}

// Rank 0 would wait in an exchange of its own, or take another rank's values for it.
TEST(DividedRun, HistogramsOfAStepThatExchangesAreRefused) {
  Recipe recipe = small_run(fresh_directory(), 2, 2);
  recipe.histogram_steps = 1;
  EXPECT_EQ(run_over(2, recipe), (std::vector<std::string>{"", ""}));
  recipe.log_dir = fresh_directory();
  recipe.sync_batch_norm = true;
  const std::vector<std::string> ends = run_over(2, recipe);
  EXPECT_EQ(ends[0].rfind("histograms of gradients: one rank computes them, and the step exchanges values", 0), 0u)
      << ends[0];
  EXPECT_NE(ends[1], "");
}

TEST(DividedRun, RanksThatStandAloneTrainAsIfTheOthersWereNotThere) {
  const std::string directory = fresh_directory();
  Recipe one = small_run(directory + "/one", 2, 2);
  one.intra_op_parallelism_threads = 1;
  train(one);
  Recipe recipe = one;
  recipe.parallel.mode = "stand_alone";
  const std::vector<std::string> ends = comm::run_ranks(2, [&](comm::Communicator& own) {
    Recipe of_rank = recipe;
    of_rank.log_dir = directory + "/" + std::to_string(own.rank());
    of_rank.export_step = of_rank.log_dir + ".rdgm";
    train(of_rank, std::shared_ptr<comm::Communicator>(&own, [](comm::Communicator*) {}));
  });
  EXPECT_EQ(ends, (std::vector<std::string>{"", ""}));
  const SafetensorsFile alone = newest(directory + "/one", 2);
  for (const char* rank : {"/0", "/1"}) {
    const SafetensorsFile other = newest(directory + rank, 2);
    for (const NamedTensor& value : alone.tensors()) {
      const Tensor& own = other.tensor(value.name);
      EXPECT_EQ(std::memcmp(own.raw(), value.tensor.raw(), own.byte_size()), 0) << value.name;
    }
    EXPECT_TRUE(std::filesystem::exists(directory + rank + ".rdgm"));
  }
}

}  // namespace
}  // namespace ridgeline::train
