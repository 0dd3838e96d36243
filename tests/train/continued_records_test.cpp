// The records of a resumed run: lines between the last checkpoint and the end of the earlier process do not occur
// twice.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/format/record/event_file.h"
#include "ridgeline/format/text/json_lines.h"
#include "ridgeline/train/checkpoint/checkpoint.h"
#include "ridgeline/train/metrics.h"
#include "ridgeline/train/recipe/trainer.h"
#include "tests/support/temporary_directory.h"
#include "tests/train/small_run.h"

namespace ridgeline::train {
namespace {

namespace fs = std::filesystem;

class ContinuedRecords : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = testing::temporary_directory() + "/continued_records";
    fs::remove_all(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }

  Recipe recipe() const {
    Recipe r = small_run(directory_, 8, 4);
    r.iterations_per_loop = 2;
    return r;
  }

  std::vector<std::int64_t> steps() const {
    std::vector<std::int64_t> list;
    for (const auto& line : read_json_lines(directory_ + "/metrics.jsonl"))
      list.push_back(std::get<std::int64_t>(line.at("step")));
    return list;
  }
  std::vector<std::int64_t> event_steps(std::string_view tag) const {
    std::vector<std::int64_t> list;
    for (const ScalarEvent& event : read_event_file(glob_files(directory_ + "/events.out.tfevents.*").at(0)).scalars) {
      if (event.tag == tag) list.push_back(event.step);
    }
    return list;
  }

  std::string directory_;
};

TEST_F(ContinuedRecords, NoStepIsInMetricsOrEventsTwice) {
  train(recipe());
  // As if the process had been killed before the last save.
  fs::remove(directory_ + "/model.ckpt-8.safetensors");
  const TrainingResult result = train(recipe());
  EXPECT_EQ(steps(), (std::vector<std::int64_t>{2, 4, 6, 8}));
  EXPECT_EQ(event_steps("loss"), (std::vector<std::int64_t>{2, 4, 6, 8}));
  // The human log is not truncated, but says that the run resumes, and at which step.
  const std::string log = read_file(result.log_path);
  const std::size_t goes_on = log.find("continuing from ");
  ASSERT_NE(goes_on, std::string::npos);
  EXPECT_NE(log.find("2 lines of steps after 4 removed", goes_on), std::string::npos) << log;
  EXPECT_EQ(read_event_file(glob_files(directory_ + "/events.out.tfevents.*").at(0)).scalars.size(), 4u * 4u);
}

TEST_F(ContinuedRecords, ARunThatStartsAnewKeepsTheOldMetricsUnderAnotherName) {
  Recipe r = recipe();
  r.do_checkpoint = false;
  r.max_train_steps = 4;
  train(r);
  const std::string first = read_file(directory_ + "/metrics.jsonl");
  r.max_train_steps = 6;
  train(r);
  EXPECT_EQ(steps(), (std::vector<std::int64_t>{2, 4, 6}));
  EXPECT_EQ(event_steps("lr"), (std::vector<std::int64_t>{2, 4, 6}));
  EXPECT_EQ(read_file(directory_ + "/metrics.jsonl.old"), first);
}

TEST_F(ContinuedRecords, ATornOrStrangeLineDoesNotEndTheRun) {
  train(recipe());
  fs::remove(directory_ + "/model.ckpt-8.safetensors");
  {
    std::ofstream metrics(directory_ + "/metrics.jsonl", std::ios::app);
    metrics << "not ours\n{\"step\":\"seven\"}\n{\"kind\":\"train\",\"st";
    std::ofstream log(directory_ + "/" + log_name_of(recipe()), std::ios::app);
    log << "step:     9  epo";
  }
  const TrainingResult result = train(recipe());
  EXPECT_EQ(result.step, 8);
  const std::string metrics = read_file(directory_ + "/metrics.jsonl");
  EXPECT_NE(metrics.find("\nnot ours\n{\"step\":\"seven\"}\n{\"kind\":\"train\",\"step\":6,"), std::string::npos)
      << metrics;
  EXPECT_NE(read_file(result.log_path).find("\nstep:     9  epo\nridgeline "), std::string::npos);
}

}  // namespace
}  // namespace ridgeline::train
