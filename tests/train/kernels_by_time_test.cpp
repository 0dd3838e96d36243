// Runs whose kernels are chosen by time: checkpoints record the choice, and a resume with other kernels reports it.
#include <gtest/gtest.h>

#include <sstream>

#include "ridgeline/core/file.h"
#include "ridgeline/data/make/make_shapes.h"
#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/train/checkpoint/checkpoint.h"
#include "ridgeline/train/recipe/trainer.h"
#include "tests/support/files.h"
#include "tests/train/small_run.h"

namespace ridgeline::train {
namespace {

class KernelsByTime : public ::testing::Test {
 protected:
  std::string times() const { return folder_.file("times.txt"); }
  Recipe run(const std::string& name, std::int64_t steps = 2) const {
    Recipe r = small_run(folder_.file(name), steps, 1);
    r.tune = times();
    return r;
  }
  static std::string plan_of(const std::string& checkpoint) { return load_checkpoint({checkpoint, 0, 0}).info.plan; }
  // Exchanges the fastest and the slowest.
  void turn_times_round() const {
    std::istringstream lines(read_file(times()));
    std::string line, turned;
    std::getline(lines, line);
    turned = line + "\n";
    while (std::getline(lines, line)) {
      std::istringstream fields(line);
      std::string key, entry, number;
      std::getline(fields, key, '\t');
      turned += key;
      while (std::getline(fields, entry, '\t') && std::getline(fields, number, '\t'))
        turned += "\t" + entry + "\t" + std::to_string(1 / std::stod(number));
      turned += "\n";
    }
    write_file_atomically(times(), turned);
  }
  TempFolder folder_;
};

TEST_F(KernelsByTime, TheCheckpointTellsThePlanAndEqualRunsGiveEqualBytes) {
  const TrainingResult first = train(run("first")), second = train(run("second"));
  const std::string plan = plan_of(first.checkpoint_path);
  EXPECT_EQ(plan.size(), 16u) << plan;
  EXPECT_EQ(plan.find_first_not_of("0123456789abcdef"), std::string::npos) << plan;
  EXPECT_NE(read_file(second.log_path).find("kernels chosen by time: plan " + plan), std::string::npos);
  EXPECT_TRUE(read_file(first.checkpoint_path) == read_file(second.checkpoint_path));
  Recipe by_order = run("by order");
  by_order.tune.clear();
  EXPECT_EQ(plan_of(train(by_order).checkpoint_path), kDefaultPlan);
}

// The program of the evaluation has its own kernels, which are also measured and chosen.
TEST_F(KernelsByTime, ThePlanIsThatOfTheTrainingStepAlone) {
  data::make_shapes(folder_.file("images"), {.seed = 3, .train = 20, .val = 10});
  const auto trained = [&](const std::string& name, Mode mode) {
    Recipe r = run(name, 6);  // an epoch has five steps
    r.synthetic = false;
    r.data_dir = folder_.file("images");
    r.num_classes = 0;
    r.mode = mode;
    return train(r);
  };
  const TrainingResult alone = trained("alone", Mode::train);
  const std::string training_times = read_file(times());
  const TrainingResult evaluated = trained("evaluated", Mode::train_and_evaluate);
  EXPECT_NE(read_file(times()), training_times);
  EXPECT_NE(plan_of(alone.checkpoint_path), kDefaultPlan);
  EXPECT_TRUE(read_file(evaluated.checkpoint_path) == read_file(alone.checkpoint_path));
}

TEST_F(KernelsByTime, GoingOnUnderAnotherPlanIsSaidInOneLine) {
  const std::string words = "bits may differ from those of an undisturbed run\n";
  const TrainingResult begun = train(run("going on", 1));
  const std::string plan = plan_of(begun.checkpoint_path);
  const TrainingResult same = train(run("going on", 2));
  EXPECT_EQ(read_file(same.log_path).find(words), std::string::npos);
  EXPECT_TRUE(read_file(same.checkpoint_path) == read_file(train(run("undisturbed", 2)).checkpoint_path));

  turn_times_round();
  const TrainingResult other = train(run("going on", 3));
  const std::string other_plan = plan_of(other.checkpoint_path);
  EXPECT_NE(other_plan, plan);
  EXPECT_NE(read_file(other.log_path)
                .find("warning: kernels are chosen by time (--tune, plan " + plan +
                      ") up to step 2, by time (--tune, plan " + other_plan + ") from here on: " + words),
            std::string::npos)
      << read_file(other.log_path);

  Recipe by_order = run("going on", 4);
  by_order.tune.clear();
  EXPECT_NE(read_file(train(by_order).log_path)
                .find("warning: kernels are chosen by time (--tune, plan " + other_plan +
                      ") up to step 3, by their order from here on: " + words),
            std::string::npos);
}

// The chosen kernels are among the settings of a run.
TEST(KernelPromises, AnotherAccuracyOfTheKernelsIsSaid) {
  const TempFolder folder;
  Recipe r = small_run(folder.file("run"), 1, 1);
  train(r);
  r.max_train_steps = 2;
  r.op_select_implmode = "high_performance_for_all";
  EXPECT_EQ(read_file(train(r).log_path).find("--op_select_implmode"), std::string::npos) << "the same by another name";
  r.max_train_steps = 3;
  r.op_select_implmode = "high_precision_for_all";
  EXPECT_NE(read_file(train(r).log_path)
                .find("warning: --op_select_implmode is high_performance up to step 2, high_precision from here on\n"),
            std::string::npos);
}

TEST(KernelPromises, ProductsOfHalvesAreSaid) {
  if (device::active_isa() != device::Isa::amx) GTEST_SKIP() << "bf16x3 needs tile registers";
  const TempFolder folder;
  Recipe r = small_run(folder.file("run"), 1, 1);
  train(r);
  r.max_train_steps = 2;
  r.fp32_compute = "bf16x3";
  EXPECT_NE(read_file(train(r).log_path).find("warning: --fp32_compute is f32 up to step 1, bf16x3 from here on\n"),
            std::string::npos);
}

}  // namespace
}  // namespace ridgeline::train
