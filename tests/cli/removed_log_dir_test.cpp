// The log folder is removed while a run writes to it: the files that are announced at the end exist, or are reported as
// removed.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <functional>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/format/text/json_lines.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;

using testing::Outcome;

constexpr int kSteps = 2000;

// A run whose log exceeds the capacity of a pipe, so it cannot end before `meanwhile`, which is called at its 100th
// step.
Outcome train(const std::string& log_dir, const std::string& words, const std::function<void()>& meanwhile) {
  const std::string command = testing::program() +
                              " train --synthetic --mode=train --model=linear --image_size=8 --num_classes=2 "
                              "--batch_size=2 --display_every=1 --save_summary_steps=1 --max_train_steps=" +
                              std::to_string(kSteps) + " --log_dir=" + log_dir + " " + words + " 2>&1";
  std::FILE* pipe = ::popen(command.c_str(), "r");
  Outcome outcome;
  char buffer[4096];
  int steps = 0;
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) {
    if (!std::string_view(buffer).starts_with("step:")) {
      outcome.text += buffer;
    } else if (++steps == 100) {
      meanwhile();
    }
  }
  const int status = ::pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  EXPECT_EQ(steps, kSteps) << outcome.text;
  return outcome;
}

// The run may create the folder again while it is being removed.
void remove_folder(const fs::path& folder) {
  std::error_code error;
  do {
    error.clear();
    fs::remove_all(folder, error);
  } while (error);
}

TEST(RemovedLogDir, IsMadeAgainByTheNextLine) {
  const std::string log_dir = testing::temporary_directory() + "/removed/log";
  fs::create_directories(fs::path(log_dir).parent_path());
  const Outcome outcome = train(log_dir, "", [&] { remove_folder(fs::path(log_dir).parent_path()); });
  testing::expect(outcome, 0, {"log      " + log_dir, "metrics  " + log_dir, "model    " + log_dir});
  EXPECT_EQ(outcome.text.find("is gone"), std::string::npos) << outcome.text;
  EXPECT_TRUE(fs::exists(log_dir + "/model.ckpt-2000.safetensors"));
  EXPECT_NE(read_file(log_dir + "/linear_training.log").find("step:  2000"), std::string::npos);
  const auto lines = read_json_lines(log_dir + "/metrics.jsonl");
  ASSERT_FALSE(lines.empty());
  EXPECT_LT(lines.size(), static_cast<std::size_t>(kSteps)) << "the folder was removed in the middle";
  EXPECT_EQ(std::get<std::int64_t>(lines.back().at("step")), kSteps);
  EXPECT_EQ(glob_files(log_dir + "/events.out.tfevents.*").size(), 1u);
}

TEST(RemovedLogDir, ThatCannotBeMadeAgainIsSaidToBeGone) {
  const std::string log_dir = testing::temporary_directory() + "/in_the_way";
  const Outcome outcome = train(log_dir, "--do_checkpoint=False", [&] {
    while (!is_regular_file(log_dir)) {
      remove_folder(log_dir);
      try {
        write_file_atomically(log_dir, "in the way");
      } catch (const Error&) {  // the run was faster
      }
    }
  });
  testing::expect(outcome, 0,
                  {"log      " + log_dir + "/linear_training.log is gone: removed during the run\n",
                   "metrics  " + log_dir + "/metrics.jsonl is gone: removed during the run\n"});
}

}  // namespace
}  // namespace ridgeline
