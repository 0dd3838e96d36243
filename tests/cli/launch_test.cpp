// `ridgeline launch` from the command line.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>

#include "ridgeline/core/file.h"
#include "ridgeline/data/make/make_shapes.h"
#include "tests/support/mpirun.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

testing::Outcome launch(const std::string& words) {
  return testing::run_shell("cd " + testing::temporary_directory() + " && " + testing::program() + " launch " + words);
}

TEST(LaunchCommand, OneRankTrainsInItsFolder) {
  const testing::Outcome outcome = launch(
      "--ranks=1 -- train --synthetic --model=resnet20 --num_classes=10 --batch_size=4 --mode=train "
      "--max_train_steps=2 "
      "--log_dir=./model_1p");
  testing::expect(outcome, 0, {"rank 0 of 1, device 0", "rank 0: train success"});
  const std::string folder = testing::temporary_directory() + "/results/1p/0";
  EXPECT_TRUE(is_regular_file(folder + "/model_1p/metrics.jsonl"));
  EXPECT_TRUE(read_file(folder + "/train_0.log").ends_with("turing train success\n"));
}

// Losses and the last checkpoint of a run on `ranks` ranks with `batch` images each, on the shapes data set.
std::string trained(
    const std::string& folder, int ranks, int batch, int steps, const std::string& more = "",
    const std::string& what = "--model=resnet20 --image_size=32 --mode=train --max_epochs=4 --sync_batch_norm=True") {
  const std::string log_dir = testing::temporary_directory() + "/" + folder;
  const testing::Outcome outcome = launch(fmt::format(
      "--ranks={} --results={}_results -- train --data_dir={}/ranked_shapes --batch_size={} --max_train_steps={} "
      "--save_summary_steps=1 --lr=0.003 --warmup_epochs=0 --intra_op_parallelism_threads=1 "
      "--log_dir={} {} {}",
      ranks, folder, testing::temporary_directory(), batch, steps, log_dir, what, more));
  testing::expect(outcome, 0, {"rank 0: train success"});
  return log_dir;
}

std::vector<double> losses_of(const std::string& log_dir) {
  std::vector<double> losses;
  std::istringstream text(read_file(log_dir + "/metrics.jsonl"));
  for (std::string line; std::getline(text, line);) {
    const std::size_t at = line.find("\"loss\":");
    if (at != std::string::npos) losses.push_back(std::atof(line.c_str() + at + 7));
  }
  return losses;
}

TEST(LaunchCommand, RanksTrainOneModelAndGoOnUnderAnotherNumber) {
  data::make_shapes(testing::temporary_directory() + "/ranked_shapes", {.train = 48, .val = 12});
  const std::vector<double> one = losses_of(trained("one", 1, 16, 6));
  ASSERT_EQ(one.size(), 6u);
  const std::string two = trained("two", 2, 8, 4);
  const std::string log = read_file(two + "/resnet20_training.log");
  EXPECT_NE(log.find("rank 0 of 2: gradients are exchanged behind the backward pass"), std::string::npos) << log;
  EXPECT_NE(log.find("checksum"), std::string::npos) << log;
  trained("two", 1, 16, 5);                         // continues on one rank,
  trained("two", 2, 8, 6, "--hcom_parallel=True");  // and again on two
  const std::vector<double> others = losses_of(two);
  ASSERT_EQ(others.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(others[i], one[i], 5e-3) << "step " << i + 1;
}

// The step and the accuracy of the evaluation in metrics.jsonl, and the last checkpoint.
std::string lasting(const std::string& log_dir, int step) {
  std::istringstream text(read_file(log_dir + "/metrics.jsonl"));
  std::string all;
  for (std::string line; std::getline(text, line);) {
    for (const char* key : {"\"loss\":", "\"total_loss\":", "\"val-loss\":", "\"val-top1acc\":", "\"val-top5acc\":"}) {
      const std::size_t at = line.find(key);
      if (at != std::string::npos) all += line.substr(at, line.find_first_of(",}", at) - at) + "\n";
    }
  }
  return all + read_file(fmt::format("{}/model.ckpt-{}.safetensors", log_dir, step));
}

TEST(LaunchCommand, DeterministicRunsHaveTheBitsOfOneRank) {
  data::make_shapes(testing::temporary_directory() + "/ranked_shapes", {.train = 48, .val = 12});
  for (const char* model : {"resnet20 --image_size=32", "alexnet --image_size=67 --dropout_keep=0.5"}) {
    SCOPED_TRACE(model);
    std::string one;
    for (const int ranks : {1, 2, 4}) {
      const std::string log_dir = trained(
          fmt::format("ordered_{:.6}_{}", model, ranks), ranks, 16 / ranks, 3, "--reproducibility=deterministic",
          fmt::format("--model={} --mode=train_and_evaluate --max_epochs=1 --sync_batch_norm=True", model));
      const std::string found = lasting(log_dir, 3);
      EXPECT_NE(found.find("\"val-top1acc\":"), std::string::npos);
      if (ranks == 1) one = found;
      EXPECT_EQ(found, one) << ranks << " ranks";
    }
  }
}

TEST(LaunchCommand, ACheckpointOfSplitSlotsGoesOnUnderAnyNumberOfRanks) {
  data::make_shapes(testing::temporary_directory() + "/ranked_shapes", {.train = 48, .val = 12});
  std::string ends[2];
  for (const bool split : {false, true}) {
    const std::string more = split ? "--is_weight_update_sharding=True" : "", folder = split ? "split" : "unsplit";
    trained(folder, 2, 8, 2, more);
    trained(folder, 1, 16, 3, more);  // with one rank nothing is divided
    const std::string log_dir = trained(folder, 4, 4, 5, more);
    ends[split ? 1 : 0] = read_file(log_dir + "/model.ckpt-5.safetensors");
  }
  EXPECT_TRUE(ends[0] == ends[1]) << "the checkpoints differ";
}

TEST(LaunchCommand, RanksThatCannotShareThePartsOfABatchAreTold) {
  testing::expect(launch("--ranks=2 --results=parts -- train --synthetic --model=alexnet --mode=train --batch_size=3 "
                         "--batch_parts=1 --reproducibility=deterministic --image_size=67 --num_classes=10 "
                         "--max_train_steps=1 --log_dir=./model"),
                  0, {"rank 0: train success"});
  const testing::Outcome outcome = testing::run_shell(
      "cd " + testing::temporary_directory() + " && " + testing::program() +
      " train --synthetic --model=alexnet --mode=train --batch_size=3 --batch_parts=2 "
      "--reproducibility=deterministic --num_classes=10 --max_train_steps=1 --log_dir=./parts_model");
  testing::expect(outcome, 2, {"--batch_parts=2 does not divide the 3 rows of a batch of all ranks"});
}

TEST(LaunchCommand, EightRanksHaveTheBitsOfOneOverEitherEngine) {
  data::make_shapes(testing::temporary_directory() + "/ranked_shapes", {.train = 48, .val = 12});
  const std::string what = "--model=linear --image_size=16 --mode=train --max_epochs=1",
                    ordered = "--reproducibility=deterministic --batch_parts=8";
  const std::string one = lasting(trained("eight_of_1", 1, 16, 2, ordered, what), 2);
  EXPECT_EQ(lasting(trained("eight_of_8", 8, 2, 2, ordered, what), 2), one);
  if (!testing::has_mpirun()) return;
  const std::string log_dir = testing::temporary_directory() + "/eight_by_mpi";
  const testing::Outcome outcome = testing::run_shell(
      fmt::format("cd {0} && {5} RIDGELINE_RANKS_OVER=mpi mpirun --oversubscribe -np 8 {1} train "
                  "--data_dir={0}/ranked_shapes --batch_size=2 --max_train_steps=2 --save_summary_steps=1 --lr=0.003 "
                  "--warmup_epochs=0 --intra_op_parallelism_threads=1 --log_dir={2} {3} {4}",
                  testing::temporary_directory(), testing::program(), log_dir, what, ordered, testing::kMpiVariables));
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_EQ(lasting(log_dir, 2), one);
}

// The loss of the first evaluation in metrics.jsonl.
std::string evaluated(const std::string& log_dir) {
  std::istringstream text(read_file(log_dir + "/metrics.jsonl"));
  for (std::string line; std::getline(text, line);) {
    const std::size_t at = line.find("\"val-loss\":");
    if (at != std::string::npos) return line.substr(at, line.find(',', at) - at);
  }
  return "(no evaluation)";
}

TEST(LaunchCommand, RanksThatDivideTheModelEvaluateAndReportTheirSteps) {
  data::make_shapes(testing::temporary_directory() + "/ranked_shapes", {.train = 48, .val = 12});
  const std::string what = "--model=alexnet --image_size=67 --mode=train_and_evaluate --max_epochs=1";
  const std::vector<std::pair<std::string, std::string>> modes = {
      {"hybrid_parallel", "hybrid_parallel over 2 ranks: dense/dense columns"},
      {"semi_auto_parallel --shard_layer=dense=columns", "semi_auto_parallel over 2 ranks: dense/dense columns"},
      {"auto_parallel", "auto_parallel over 2 ranks: dense/dense "},
      {"data_parallel --pipeline_stages=2", "pipeline of 2 stages, 2 micro-batches, 1f1b; stage 0 "}};
  for (const auto& [mode, plan] : modes) {
    SCOPED_TRACE(mode);
    const std::string log_dir = trained(fmt::format("divided_{:.6}", mode), 2, 8, 2, "--parallel_mode=" + mode, what);
    const std::string log = read_file(log_dir + "/alexnet_training.log");
    EXPECT_NE(log.find(plan), std::string::npos) << log;
    EXPECT_NE(log.find("ranks: a step takes "), std::string::npos) << log;
    EXPECT_EQ(log.find(" (estimated ") != std::string::npos, mode == "auto_parallel") << log;
    // Evaluates the checkpoint with one process.
    const testing::Outcome alone = testing::run_shell(
        fmt::format("cd {0} && {1} evaluate --data_dir={0}/ranked_shapes --model=alexnet --image_size=67 "
                    "--batch_size=8 --checkpoint_dir={2} --intra_op_parallelism_threads=1",
                    testing::temporary_directory(), testing::program(), log_dir));
    ASSERT_EQ(alone.code, 0) << alone.text;
    const std::string found = evaluated(log_dir);
    const double loss = std::atof(found.c_str() + found.find(':') + 1);
    EXPECT_NE(alone.text.find(fmt::format("{:.2f}", loss)), std::string::npos) << found << " in: " << alone.text;
    const std::string rows = read_file(log_dir + "/metrics.jsonl");
    EXPECT_NE(rows.find("\"rows\":12"), std::string::npos) << rows;
  }
}

TEST(LaunchCommand, StandAloneRanksTrainByThemselves) {
  data::make_shapes(testing::temporary_directory() + "/ranked_shapes", {.train = 48, .val = 12});
  const std::string here = testing::temporary_directory();
  const std::string train =
      "train --data_dir=ranked_shapes --model=linear --image_size=16 --batch_size=8 --mode=train "
      "--max_epochs=1 --max_train_steps=3 --intra_op_parallelism_threads=1 --log_dir=./own";
  testing::expect(launch("--ranks=2 --results=by_themselves -- " + train + " --parallel_mode=stand_alone"), 0,
                  {"rank 0: train success", "rank 1: train success"});
  testing::expect(testing::run_shell("cd " + here + " && " + testing::program() + " " + train), 0, {});
  const std::string alone = read_file(here + "/own/model.ckpt-3.safetensors");
  for (const char* rank : {"0", "1"}) {
    const std::string folder = here + "/by_themselves/2p/" + rank + "/own";
    EXPECT_TRUE(read_file(folder + "/model.ckpt-3.safetensors") == alone) << rank;
    EXPECT_EQ(read_file(folder + "/linear_training.log").find("gradients are exchanged"), std::string::npos);
  }
}

// Buckets and gathered parts are at least 1 MiB here.
TEST(LaunchCommand, SplitUpdatesPrintTheLossesOfWholeOnes) {
  data::make_shapes(testing::temporary_directory() + "/ranked_shapes", {.train = 96, .val = 12});
  const auto losses = [](const std::string& results, const std::string& flags) {
    testing::expect(
        launch("--ranks=2 --results=" + results +
               " -- train --data_dir=ranked_shapes --model=alexnet --image_size=64 --num_classes=10 --dropout_keep=1 "
               "--lr=0.02 --warmup_epochs=0 --batch_size=8 --mode=train --max_epochs=1 --max_train_steps=5 "
               "--save_summary_steps=1 --seed=5 --reproducibility=deterministic --do_checkpoint=False --log_dir=out " +
               flags),
        0, {"rank 0: train success"});
    std::istringstream log(
        read_file(testing::temporary_directory() + "/" + results + "/2p/0/out/alexnet_training.log"));
    std::vector<std::string> found;
    for (std::string word; log >> word;) {
      if (word == "loss:" && log >> word) found.push_back(word);
    }
    return found;
  };
  const std::vector<std::string> whole = losses("whole", "--clip_norm=1");
  EXPECT_EQ(whole.size(), 5U);
  EXPECT_EQ(losses("split", "--clip_norm=1 --is_weight_update_sharding=True"), whole);
}

TEST(LaunchCommand, WhatARankSaysToDoNextWorksFromWhereTheUserStands) {
  data::make_shapes(testing::temporary_directory() + "/ranked_shapes", {.train = 48, .val = 12});
  testing::expect(launch("--ranks=2 --results=next -- train --data_dir=ranked_shapes --model=linear --image_size=16 "
                         "--batch_size=8 --mode=train --max_epochs=1 --max_train_steps=2 --log_dir=./own"),
                  0, {"rank 0: train success"});
  const std::string said = read_file(testing::temporary_directory() + "/next/2p/0/train_0.log");
  const std::size_t at = said.find("next     ");
  ASSERT_NE(at, std::string::npos) << said;
  const std::string command = said.substr(at + 9, said.find('\n', at) - at - 9);
  const testing::Outcome outcome = testing::run_shell("cd / && " + command);
  testing::expect(outcome, 0, {"Finished evaluation"});
}

TEST(LaunchCommand, RanksThatDrawOtherMasksSaySo) {
  const std::string train =
      "-- train --synthetic --model=alexnet --image_size=67 --num_classes=10 --batch_size=2 "
      "--mode=train --max_train_steps=1 --do_checkpoint=False --log_dir=out";
  const std::string note = "dropout: each rank draws masks of its own";
  testing::expect(launch("--ranks=2 --results=masks " + train + " --dropout_keep=0.5"), 0, {});
  const std::string folder = testing::temporary_directory();
  EXPECT_NE(read_file(folder + "/masks/2p/0/out/alexnet_training.log").find(note), std::string::npos);
  testing::expect(launch("--ranks=2 --results=no_masks " + train + " --dropout_keep=1"), 0, {});
  EXPECT_EQ(read_file(folder + "/no_masks/2p/0/out/alexnet_training.log").find(note), std::string::npos);
}

TEST(LaunchCommand, AFolderOfTheCommandsNameHidesNothing) {
  const std::string here = testing::temporary_directory() + "/named";
  make_directories(here + "/train/a");
  make_directories(here + "/linear");
  testing::expect(testing::run_shell("cd " + here + " && " + testing::program() +
                                     " launch -- train --synthetic --model=linear --image_size=8 --num_classes=2 "
                                     "--batch_size=2 --max_train_steps=1 --log_dir=out"),
                  0, {"rank 0: train success"});
}

TEST(LaunchCommand, RanksRefuseToReadTheSameImages) {
  testing::expect(launch("--ranks=2 --results=unsharded -- train --synthetic --model=linear --image_size=8 "
                         "--num_classes=2 --batch_size=2 --max_train_steps=1 --shard=False --log_dir=out"),
                  2, {"rank 0: train fail (exit code 2)", "train_0.log: ridgeline: --shard=False: several ranks"});
}

TEST(LaunchCommand, TheBenchmarkCountsTheImagesOfAllRanks) {
  testing::expect(launch("--ranks=2 --results=measured -- train --synthetic --model=resnet20 "
                         "--num_classes=10 --batch_size=4 --max_train_steps=2 --benchmark --log_dir=out"),
                  0, {"rank 0: train success"});
  const std::string summary = read_file(testing::temporary_directory() + "/measured/2p/0/out/resnet20_bs4_2p_perf.log");
  const auto value = [&](const std::string& key) {
    const std::size_t at = summary.find(key + " = ");
    return at == std::string::npos ? 0 : std::atof(summary.c_str() + at + key.size() + 3);
  };
  EXPECT_EQ(value("RankSize"), 2) << summary;
  // Milliseconds of a step of 2 * 4 images; both are rounded to two digits.
  EXPECT_NEAR(value("ActualFPS") * value("TrainingTime"), 8000, 0.02 * 8000) << summary;
}

TEST(LaunchCommand, OneRankExplainsTheLastStep) {
  testing::expect(launch("--ranks=2 --results=explained -- train --synthetic --model=linear --image_size=8 "
                         "--num_classes=2 --batch_size=2 --max_train_steps=2 --explain --log_dir=out"),
                  0, {"rank 0: train success", "rank 1: train success"});
  EXPECT_TRUE(is_regular_file(testing::temporary_directory() + "/explained/2p/0/out/launches.jsonl"));
  EXPECT_FALSE(is_regular_file(testing::temporary_directory() + "/explained/2p/1/out/launches.jsonl"));
}

TEST(LaunchCommand, AnEvaluationKeepsAndFindsWhatTheTrainingLeft) {
  testing::expect(testing::run_shell("cd " + testing::temporary_directory() + " && " + testing::program() +
                                     " dataset make shapes --seed=1 --train=20 --val=10 --out=shapes"),
                  0, {});
  testing::expect(launch("--results=kept -- train --mode=train --data_dir=shapes --model=linear --image_size=16 "
                         "--batch_size=8 --max_train_steps=2 --log_dir=./model_1p"),
                  0, {"rank 0: train success"});
  const std::string folder = testing::temporary_directory() + "/kept/1p/0";
  const std::string before = read_file(folder + "/train_0.log"),
                    metrics = read_file(folder + "/model_1p/metrics.jsonl");
  testing::expect(launch("--results=kept -- evaluate --data_dir=shapes --model=linear --image_size=16 --batch_size=8 "
                         "--checkpoint_dir=./model_1p"),
                  0, {"rank 0: train success"});
  const std::string after = read_file(folder + "/train_0.log");
  EXPECT_TRUE(after.starts_with(before)) << "the log goes on behind the training's";
  EXPECT_NE(after.find("Finished evaluation", before.size()), std::string::npos) << after.substr(before.size());
  EXPECT_TRUE(read_file(folder + "/model_1p/metrics.jsonl").starts_with(metrics));
}

TEST(LaunchCommand, MpirunStartsTheRanks) {
  if (!testing::has_mpirun()) GTEST_SKIP() << testing::kNoMpirun;
  const testing::Outcome outcome =
      testing::run_shell("cd " + testing::temporary_directory() + " && " + testing::kMpiVariables +
                         " mpirun --oversubscribe -np 2 " + testing::program() + " launch --results=by_mpirun -- info");
  testing::expect(outcome, 0, {"rank 0: train success", "rank 1: train success", "1 of 2 ranks on this machine"});
  for (const char* rank : {"0", "1"}) {
    const std::string folder = testing::temporary_directory() + "/by_mpirun/2p/" + rank;
    EXPECT_TRUE(read_file(folder + "/train_" + rank + ".log").ends_with("turing train success\n"));
    EXPECT_NE(read_file(folder + "/env_" + rank + ".log").find(std::string("\nRANK_ID=") + rank + "\n"),
              std::string::npos);
  }
}

TEST(LaunchCommand, AProgramOfOnesOwnRunsInThisFolderAndItsFirstRankIsShown) {
  const testing::Outcome outcome = launch(
      "--ranks=2 --results=of_own -- sh -c 'echo rank $RANK_ID of $RANK_SIZE says $0; touch own_$RANK_ID' --a-word=x");
  testing::expect(outcome, 0, {"rank 0 of 2 says --a-word=x\n", "rank 0: train success", "rank 1: train success"});
  EXPECT_EQ(outcome.text.find("rank 1 of 2 says"), std::string::npos) << outcome.text;
  EXPECT_EQ(outcome.text.find("turing"), std::string::npos) << outcome.text;
  const std::string folder = testing::temporary_directory();
  EXPECT_EQ(read_file(folder + "/of_own/2p/1/train_1.log"), "rank 1 of 2 says --a-word=x\nturing train success\n");
  EXPECT_TRUE(is_regular_file(folder + "/own_0") && is_regular_file(folder + "/own_1"));
}

TEST(LaunchCommand, AProgramWhoseReaderIsGoneIsStoppedHoweverEarlyThatIs) {
  const std::string folder = testing::temporary_directory();
  testing::run_shell(
      "cd " + folder + " && " + testing::program() +
      " launch --results=unread -- sh -c 'for i in $(seq 100); do echo $i; sleep 0.1; done' | head -n 1");
  const std::string log = read_file(folder + "/unread/1p/0/train_0.log");
  EXPECT_TRUE(log.ends_with("turing train fail\n")) << log;
}

TEST(LaunchCommand, WhatAScriptStartsEndsWithIt) {
  const std::string folder = testing::temporary_directory();
  // The signal ends the shell and not the program that it waits for.
  const testing::Outcome outcome = testing::run_shell(
      "cd " + folder + " && rm -f inner && (" + testing::program() +
      " launch --results=script -- sh -c 'sleep 600 & echo $! > inner.new; mv inner.new inner; wait; true' & "
      "launcher=$!; until [ -s inner ]; do sleep 0.05; done; kill -TERM $launcher; wait $launcher; echo ended $?; "
      "while grep -q sleep /proc/$(cat inner)/cmdline 2> /dev/null; do sleep 0.05; done; echo nothing is left)");
  testing::expect(outcome, 0, {"train interrupted", "ended 130\n", "nothing is left\n"});
}

TEST(LaunchCommand, AProgramThatTrainsLeavesTheBytesOfOneRank) {
  const std::string example = testing::examples_directory() + "/example_train_resumed";
  const std::string folder = testing::temporary_directory();
  testing::expect(launch("--ranks=2 --results=two_of_own -- " + example + " over_two"), 0,
                  {"step 96: ", "rank 1: train"});
  testing::expect(testing::run_shell("cd " + folder + " && " + example + " over_one"), 0, {"step 96: "});
  for (const char* name : {"/model.ckpt-96.safetensors", "/model.ckpt-95.safetensors"})
    EXPECT_EQ(read_file(folder + "/over_two" + name), read_file(folder + "/over_one" + name)) << name;
}

TEST(LaunchCommand, AFailureIsTheCommandsExitCode) {
  testing::expect(
      launch("--ranks=2 --results=bad -- train --no_such_flag"), 2,
      {"rank 0: train fail (exit code 2), see ", "bad/2p/0/train_0.log: ridgeline train: unknown flag --no_such_flag"});
  // A program that says nothing has no last line; that of the launch before it is not its own.
  const testing::Outcome silent = launch("--ranks=2 --results=bad -- /bin/sh -c 'exit 7'");
  testing::expect(silent, 7, {"rank 0: train fail (exit code 7), see ", "bad/2p/0/train_0.log\n"});
  EXPECT_EQ(silent.text.find("turing"), std::string::npos) << silent.text;
}

TEST(LaunchCommand, WrongCallsAreTold) {
  testing::expect(launch("--ranks=1"), 2, {"launch: no command or program after --"});
  testing::expect(launch("--rank_table=no.json -- train"), 2, {"the path no.json is not a valid real path"});
  testing::expect(launch("-- trian --lr=1"), 2,
                  {"launch: there is neither a command nor a program 'trian' (did you mean train?)"});
  testing::expect(launch("-- ./no_program"), 2, {"neither a command nor a program './no_program'"});
  write_file_atomically(testing::temporary_directory() + "/my.py", "");
  testing::expect(launch("-- my.py"), 2, {"my.py is a Python program: give its interpreter"});
}

}  // namespace
}  // namespace ridgeline
