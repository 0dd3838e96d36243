// --reproducibility=portable on two architectures: compares this build with the one for 64-bit Arm under qemu. Skipped
// unless `make aarch64` has built the same sources.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "ridgeline/core/file.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;

class PortableOnArm : public ::testing::Test {
 protected:
  void SetUp() override {
#if !defined(__x86_64__)
    GTEST_SKIP() << "this build is the one for Arm: the test is run from the one for x86-64";
#endif
    const std::string folder = testing::source_directory();
    const std::string program = folder + "/build-aarch64/ridgeline", libraries = folder + "/.deps/aarch64/sysroot";
    if (!fs::exists(program)) GTEST_SKIP() << "no " << program << ": make aarch64 builds it";
    const testing::Outcome emulator = testing::run_shell("command -v qemu-aarch64-static qemu-aarch64 | head -n 1");
    if (emulator.text.empty()) GTEST_SKIP() << "no qemu-aarch64: scripts/setup.sh --cross aarch64 installs it";
    on_arm_ = emulator.text.substr(0, emulator.text.find('\n')) + " -L " + libraries + " " + program;
    folder_ = testing::temporary_directory() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  // Runs `arguments` on both; every {} in them becomes a folder for the architecture.
  void run_on_both(const std::string& arguments) const {
    for (const bool arm : {false, true}) {
      std::string own = arguments;
      for (std::size_t at = own.find("{}"); at != std::string::npos; at = own.find("{}")) own.replace(at, 2, at_(arm));
      const testing::Outcome outcome = testing::run_shell((arm ? on_arm_ : testing::program()) + " " + own);
      ASSERT_EQ(outcome.code, 0) << own << "\n" << outcome.text;
    }
  }

  void expect_same_file(const std::string& name) const {
    const std::string here = read_file(at_(false) + "/" + name), there = read_file(at_(true) + "/" + name);
    EXPECT_TRUE(here == there) << name << ": " << here.size() << " bytes on x86-64 and " << there.size()
                               << " on Arm, the first difference at "
                               << std::mismatch(here.begin(), here.end(), there.begin(), there.end()).first -
                                      here.begin();
  }

  std::string at_(bool arm) const { return folder_ + (arm ? "/arm" : "/x86"); }
  std::string folder_;

 private:
  std::string on_arm_;
};

TEST_F(PortableOnArm, DrawnDataSetsAreTheSame) {
  run_on_both("dataset make shapes --out={} --train=20 --val=10");
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(at_(false))) {
    if (entry.is_regular_file()) names.push_back(fs::relative(entry.path(), at_(false)).string());
  }
  EXPECT_GT(names.size(), 30u);
  for (const std::string& name : names) expect_same_file(name);
}

class PortableTrainingOnArm : public PortableOnArm, public ::testing::WithParamInterface<const char*> {};

TEST_P(PortableTrainingOnArm, TenStepsAndThePredictionsOfTheirModelAreTheSame) {
  const std::string data = folder_ + "/data";
  ASSERT_EQ(testing::run("dataset make shapes --out=" + data + " --train=64 --val=10").code, 0);
  run_on_both("train --data_dir=" + data +
              " --mode=train --model=resnet20 --batch_size=4 --max_train_steps=10 --max_epochs=20 --warmup_epochs=1 "
              "--lr=0.05 --augment=randaugment --intra_op_parallelism_threads=2 --reproducibility=portable "
              "--precision_mode=" +
              std::string(GetParam()) + " --log_dir={}/run");
  expect_same_file("run/model.ckpt-10.safetensors");
  run_on_both("export --checkpoint_dir={}/run --out={}/model.rdgm");
  expect_same_file("model.rdgm");
  run_on_both("predict --format=csv --reproducibility=portable {}/model.rdgm " + data +
              "/val/*/*.jpg > {}/predictions.csv");
  expect_same_file("predictions.csv");
}

INSTANTIATE_TEST_SUITE_P(Precisions, PortableTrainingOnArm,
                         ::testing::Values("must_keep_origin_dtype", "allow_mix_precision_bf16"));

}  // namespace
}  // namespace ridgeline
