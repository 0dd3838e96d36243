// What a shell may take from the program: standard streams that are closed, files that may not grow.
#include <gtest/gtest.h>

#include <filesystem>

#include "ridgeline/core/file.h"
#include "ridgeline/format/text/json_lines.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;

using testing::expect;
using testing::program;
using testing::run_shell;

std::string emptied(const std::string& name) {
  const std::string path = testing::temporary_directory() + "/callers_limits/" + name;
  fs::remove_all(path);
  return path;
}

std::string synthetic_training(const std::string& log_dir) {
  return program() +
         " train --synthetic --model=linear --image_size=64 --num_classes=10 --batch_size=2 --max_train_steps=4 "
         "--save_summary_steps=1 --log_dir=" +
         log_dir;
}

// The numbers of closed streams go to the files that are opened next.
TEST(CallersLimits, WhatIsPrintedIntoClosedStreamsReachesNoFileOfTheRun) {
  const std::string open = emptied("open"), closed = emptied("closed");
  expect(run_shell(synthetic_training(open)), 0, {});
  expect(run_shell("( " + synthetic_training(closed) + " <&- >&- 2>&- )"), 0, {});
  EXPECT_EQ(read_json_lines(closed + "/metrics.jsonl").size(), read_json_lines(open + "/metrics.jsonl").size());
  EXPECT_TRUE(read_file(closed + "/model.ckpt-4.safetensors") == read_file(open + "/model.ckpt-4.safetensors"));
}

TEST(CallersLimits, ACommandWhoseOutputIsClosedFails) {
  expect(run_shell("( " + program() + " info >&- )"), 1, {"cannot write to standard output"});
}

TEST(CallersLimits, AFileThatMayNotGrowIsAnErrorThatNamesIt) {
  const std::string log = emptied("limited");
  // In units of 512 bytes; the checkpoint has some 980,000.
  expect(run_shell("( ulimit -f 100; " + synthetic_training(log) + " )"), 1,
         {"cannot write " + log + "/model.ckpt-4.safetensors: File too large"});
  for (const auto& entry : fs::directory_iterator(log))
    EXPECT_EQ(entry.path().filename().string().find("model.ckpt"), std::string::npos) << entry.path();
  expect(run_shell(synthetic_training(log)), 0, {"model.ckpt-4.safetensors"});
}

}  // namespace
}  // namespace ridgeline
