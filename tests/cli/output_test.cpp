// Outputs that are not regular files. Every flag for an output file is tried with links, pipes and devices, all created
// in this test's own folder, so that no bug can damage the machine.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "ridgeline/core/file.h"
#include "ridgeline/data/make/make_shapes.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;

using testing::expect;
using testing::Outcome;
using testing::run_shell;

// 20 + 10 generated images, two of them truncated.
const std::string& images() {
  static const std::string path = [] {
    const std::string p = testing::temporary_directory() + "/outputs/shapes";
    data::make_shapes(p, {.seed = 1, .train = 20, .val = 10});
    for (const char* name : {"/train/circle", "/train/square"}) {
      const std::string victim = (*fs::directory_iterator(p + name)).path().string();
      write_file_atomically(victim, read_file(victim).substr(0, 700));
    }
    return p;
  }();
  return path;
}

std::string fresh(const std::string& name) {
  const std::string path = testing::temporary_directory() + "/outputs/" + name;
  fs::remove_all(path);
  fs::create_directories(path);
  return path;
}

std::string training(const std::string& log_dir) {
  return "train --synthetic --mode=train --model=linear --image_size=8 --num_classes=2 --batch_size=2 "
         "--max_train_steps=2 --log_dir=" +
         log_dir + " ";
}

// A command that writes a file.
struct Output {
  std::string name;
  std::string words;  // followed by the path of the file
  std::string ending;
  int code = 0;
  bool appends = false;
  bool in_log_dir = false;  // the flag takes the file's name, and its folder is that of the run

  std::string call(const std::string& path) const {
    const fs::path file(path);
    if (!in_log_dir) return words + path;
    return words + file.filename().string() + " --log_dir=" + file.parent_path().string();
  }
};

std::vector<Output> outputs() {
  const std::string data_dir = " --data_dir=" + images();
  return {{"svg", "dataset show" + data_dir + " --svg=", ".svg"},
          {"json", "dataset export-json" + data_dir + " --out=", ".json"},
          {"sheet", "dataset preview --rows=1 --columns=2" + data_dir + "/val --out=", ".png"},
          {"list", "dataset inspect --deep" + data_dir + " --list=", ".txt", 1},
          {"quarantine",
           "dataset bench --image_size=8 --batch_size=4 --warmup=0 --bad_samples=skip" + data_dir + " --quarantine=",
           ".jsonl", 0, true},
          {"trace", training(fresh("trace_log")) + "--do_checkpoint=False --trace=", ".json"},
          {"log", training(fresh("log_log")) + "--do_checkpoint=False --log_name=", ".log", 0, true, true}};
}

Outcome run(const Output& output, const std::string& path) {
  return run_shell("timeout 60 " + testing::program() + " " + output.call(path));
}

TEST(Outputs, ThroughLinksReachTheFileBehindThem) {
  for (const Output& output : outputs()) {
    SCOPED_TRACE(output.name);
    const std::string dir = fresh("links");
    const std::string there = dir + "/there" + output.ending, later = dir + "/later" + output.ending;
    write_file_atomically(there, "old\n");
    fs::create_directories(dir + "/below");
    for (const std::string& name : {there, later}) {
      const std::string link = dir + "/below/" + fs::path(name).filename().string();
      fs::create_symlink("../" + fs::path(name).filename().string(), link);
      expect(run(output, link), output.code, {});
      EXPECT_TRUE(fs::is_symlink(link));
      ASSERT_TRUE(fs::is_regular_file(name));
      EXPECT_GT(read_file(name).size(), 4u);
    }
    EXPECT_EQ(read_file(there).starts_with("old\n"), output.appends);
  }
}

TEST(Outputs, IntoPipesReachTheirReaders) {
  for (const Output& output : outputs()) {
    SCOPED_TRACE(output.name);
    const std::string dir = fresh("pipes"), pipe = dir + "/pipe" + output.ending;
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    // The reader ends when all writers have ended, or after a timeout if nobody ever opened the pipe.
    const Outcome outcome =
        run_shell("( timeout 60 cat " + pipe + " > " + dir + "/got & timeout 60 " + testing::program() + " " +
                  output.call(pipe) + "; code=$?; test -p " + pipe + " || kill $!; wait; exit $code )");
    expect(outcome, output.code, {});
    EXPECT_TRUE(fs::is_fifo(pipe));
    const std::string got = read_file(dir + "/got");
    EXPECT_GT(got.size(), 4u);
    if (output.name == "quarantine" || output.name == "list") {
      EXPECT_EQ(std::count(got.begin(), got.end(), '\n'), 2) << got;
    }
  }
}

TEST(Outputs, IntoADeviceLeaveTheDevice) {
  const std::string dir = fresh("devices");
  for (const Output& output : outputs()) {
    SCOPED_TRACE(output.name);
    const std::string device = dir + "/null" + output.ending;
    fs::remove(device);
    // Character device 1, 3 discards everything, like /dev/null.
    if (::mknod(device.c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0) GTEST_SKIP() << "needs root to make a device";
    if (run_shell("echo x > " + device).code != 0) GTEST_SKIP() << "devices do not work here";
    expect(run(output, device), output.code, {});
    EXPECT_TRUE(fs::is_character_file(device));
  }
}

// A link like /dev/stdout in this test's folder, so that the system's cannot be damaged.
TEST(Outputs, IntoStandardOutputAreWrittenBehindWhatWasPrinted) {
  const std::string dir = fresh("stdout"), link = dir + "/stdout";
  fs::create_symlink("/proc/self/fd/1", link);
  const std::string program = testing::program() + " dataset ", data_dir = " --data_dir=" + images();
  expect(run_shell(program + "export-json" + data_dir + " --out=" + dir + "/file"), 0, {});
  for (const char* redirection : {"> ", ">> "}) {
    const std::string file = dir + "/redirected";
    write_file_atomically(file, "");
    expect(run_shell("( echo first; " + program + "export-json" + data_dir + " --out=" + link + "; echo last ) " +
                     redirection + file),
           0, {});
    EXPECT_EQ(read_file(file), "first\n" + read_file(dir + "/file") + "last\n") << redirection;
    ASSERT_TRUE(fs::is_symlink(link));
  }
  const Outcome shown = run_shell(program + "show" + data_dir + " --svg=" + link + " | cat");
  expect(shown, 0, {"before the passes\n", "<svg", "</svg>"});
  EXPECT_LT(shown.text.find("after the passes"), shown.text.find("<svg"));
}

TEST(Outputs, ThatAreDirectoriesAreRefused) {
  const std::string dir = fresh("directories");
  for (const Output& output : outputs()) {
    SCOPED_TRACE(output.name);
    const std::string path = dir + "/d" + output.ending;
    fs::create_directories(path);
    expect(run(output, path), 1, {"cannot write " + path + ": Is a directory\n"});
  }
}

// Files of a log folder may also be links to a larger disk, or pipes to a monitoring program.
TEST(Outputs, OfARunFollowTheLinksOfItsFolder) {
  const std::string dir = fresh("run"), log = dir + "/log";
  fs::create_directories(log);
  fs::create_directories(dir + "/disk");
  fs::create_symlink("log", dir + "/link");
  // Not the checkpoint itself: a dangling link cannot be read, and its target may be on a disk that is not mounted.
  const std::vector<std::string> names{"model.ckpt-2.json", "checkpoint", "linear_training.log"};
  for (const std::string& name : names) fs::create_symlink("../disk/" + name, log + "/" + name);
  ASSERT_EQ(::mkfifo((log + "/metrics.jsonl").c_str(), 0600), 0);
  const Outcome outcome =
      run_shell("( timeout 60 cat " + log + "/metrics.jsonl > " + dir + "/got & timeout 60 " + testing::program() +
                " " + training(dir + "/link") + "--dump_ir=" + dir + "/link/ir; code=$?; wait; exit $code )");
  expect(outcome, 0, {"step:     2"});
  EXPECT_EQ(outcome.text.find("is gone"), std::string::npos) << outcome.text;
  for (const std::string& name : names) {
    EXPECT_TRUE(fs::is_symlink(log + "/" + name)) << name;
    EXPECT_TRUE(fs::is_regular_file(dir + "/disk/" + name)) << name;
  }
  EXPECT_NE(read_file(dir + "/got").find("\"step\":2"), std::string::npos);
  EXPECT_TRUE(fs::is_regular_file(log + "/ir/training/00_input.rdg"));
}

TEST(Outputs, ThatAreFoldersAreMadeBehindLinks) {
  const std::string dir = fresh("folders");
  const std::string program = testing::program() + " ";
  fs::create_directories(dir + "/there");
  for (const std::string name : {"there", "later"}) {
    fs::create_symlink(name, dir + "/to_" + name);
    const std::string link = dir + "/to_" + name;
    expect(run_shell(program + "dataset make shapes --train=10 --val=10 --out=" + link), 0, {});
    EXPECT_TRUE(fs::is_regular_file(dir + "/" + name + "/shapes.json"));
    expect(run_shell(program + "dataset make tfrecord --from=" + link + " --out=" + link), 0, {});
    EXPECT_EQ(glob_files(dir + "/" + name + "/train-*").size(), 1u);
    fs::create_symlink("log_" + name, dir + "/to_log_" + name);
    expect(run_shell(program + training(dir + "/to_log_" + name)), 0, {});
    EXPECT_TRUE(fs::is_directory(dir + "/log_" + name));
    for (const std::string made : {"to_", "to_log_"}) EXPECT_TRUE(fs::is_symlink(dir + "/" + made + name));
  }
}

TEST(Outputs, FoldersThatCannotBeMadeAreNamedWithTheReason) {
  const std::string dir = fresh("no_folder");
  write_file_atomically(dir + "/file", "");
  const std::string program = testing::program() + " ";
  const std::string train = program + training(dir + "/log");
  for (const std::string& path : {dir + "/file", dir + "/file/below"}) {
    const std::string what = "ridgeline: cannot make the directory " + path, why = ": Not a directory\n";
    expect(run_shell(program + training(path)), 1, {what + why});
    expect(run_shell(train + "--dump_ir=" + path), 1, {what + "/training" + why});
  }
  // Nobody can create a folder in /proc, as on a read-only disk.
  for (const std::string& words : {program + training("/proc/ridgeline"), train + "--dump_ir=/proc/ridgeline"})
    expect(run_shell(words), 1, {"ridgeline: cannot make the directory /proc/ridgeline"});
  const std::string long_name(300, 'n');
  expect(run_shell(program + training(dir + "/" + long_name)), 1, {"cannot make the directory ", "File name too long"});
  expect(run_shell(train + "--restore_path=" + long_name), 1, {"no such file: " + long_name});
  expect(run_shell(program + "dataset pack --data_dir=" + images() + " --out=" + long_name + ".ridge"), 1,
         {"cannot write ", "File name too long"});
  for (const std::string& make : {std::string("make shapes --train=10 --val=10"), "make tfrecord --from=" + images()})
    expect(run_shell(program + "dataset " + make + " --out=" + dir + "/file"), 1,
           {"not a directory: " + dir + "/file"});
}

}  // namespace
}  // namespace ridgeline
