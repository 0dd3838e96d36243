// Paths that are not regular files, given to commands that read files: each is refused at once with its kind, and one
// bad image does not end a prediction.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "ridgeline/image/png/png.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;

using testing::expect;
using testing::Outcome;

// A command that waits for a FIFO is ended with exit code 124.
Outcome run_in_time(const std::string& arguments) {
  return testing::run_shell("timeout 60 " + testing::program() + " " + arguments);
}

std::string folder() {
  static const std::string path = [] {
    std::string p = testing::temporary_directory();
    fs::create_directories(p);
    if (::mkfifo((p + "/pipe").c_str(), 0600) != 0) throw std::runtime_error("no FIFO in " + p);
    const auto png = image::encode_png(image::Image(40, 40, 3));
    for (const char* name : {"/a.png", "/b.png"})
      std::ofstream(p + name, std::ios::binary).write(reinterpret_cast<const char*>(png.data()), png.size());
    std::ofstream(p + "/broken.png") << "no picture";
    return p;
  }();
  return path;
}

TEST(NoFile, AFifoIsRefusedByEveryReader) {
  const std::string pipe = folder() + "/pipe";
  const std::string message = "cannot read " + pipe + ": it is a FIFO, a file is expected";
  expect(run_in_time("info " + pipe), 1, {message});
  expect(run_in_time("dataset show --graph=" + pipe), 1, {message});
  expect(run_in_time("dataset bench --graph=" + pipe), 1, {message});
  expect(run_in_time("dataset preview --graph=" + pipe + " --out=" + folder() + "/out.png"), 1, {message});
}

TEST(NoFile, APredictionGoesOnBehindWhatCannotBeRead) {
  const std::string log = folder() + "/log", pipe = folder() + "/pipe";
  expect(run_in_time("train --synthetic --model=linear --mode=train --num_classes=3 --image_size=16 --batch_size=2 "
                     "--max_train_steps=1 --log_dir=" +
                     log),
         0, {"step:"});
  const std::string predict = "predict --model=linear --checkpoint_dir=" + log + " ";
  expect(run_in_time(predict + folder() + "/a.png " + folder() + "/b.png"), 0,
         {folder() + "/a.png", folder() + "/b.png"});
  const Outcome some = run_in_time(predict + pipe + " " + folder() + "/a.png " + folder() + "/broken.png " + folder() +
                                   "/none.png " + folder() + "/b.png");
  expect(some, 1,
         {"cannot read " + pipe + ": it is a FIFO", folder() + "/a.png\n", folder() + "/broken.png: [decode]",
          "cannot open " + folder() + "/none.png: No such file", folder() + "/b.png\n"});
}

}  // namespace
}  // namespace ridgeline
