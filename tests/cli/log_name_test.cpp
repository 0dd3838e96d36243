// The log may be called anything but what the run's other files are called.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "ridgeline/core/file.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;

using testing::expect;
using testing::run;

// Every file that a run leaves, and its lock, which lies there only meanwhile.
TEST(LogName, ThatIsAnotherFileOfTheRunIsRefused) {
  const std::string log_dir = testing::temporary_directory() + "/log_name";
  fs::remove_all(log_dir);
  const std::string training =
      "train --synthetic --model=linear --image_size=8 --num_classes=2 --batch_size=2 --max_train_steps=2 --explain "
      "--log_dir=" +
      log_dir;
  for (const char* again : {"", " --do_checkpoint=False"}) expect(run(training + again), 0, {});
  write_file_atomically(log_dir + "/.lock", "");
  int refused = 0;
  for (const auto& entry : fs::directory_iterator(log_dir)) {
    const std::string name = entry.path().filename();
    if (name == "linear_training.log") continue;
    expect(run(training + " --log_name=" + name), 2, {"--log_name=" + name, "another file"});
    ++refused;
  }
  EXPECT_GE(refused, 6);
  expect(run(training + " --log_name=metrics.txt"), 0, {});
}

}  // namespace
}  // namespace ridgeline
