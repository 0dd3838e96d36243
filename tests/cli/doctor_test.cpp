// `ridgeline doctor` from the command line: exit codes, text and JSON.
#include <gtest/gtest.h>

#include <filesystem>

#include "ridgeline/data/make/make_shapes.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

using testing::expect;

const std::string& shapes() {
  static const std::string folder = [] {
    const std::string path = testing::temporary_directory() + "/doctor_shapes";
    data::make_shapes(path, {.train = 40, .val = 20});
    return path;
  }();
  return folder;
}

testing::Outcome doctor(const std::string& words) {
  return testing::run_shell("cd " + testing::temporary_directory() + " && " + testing::program() + " doctor " + words);
}

std::string setup() { return " --data_dir=" + shapes() + " --model=resnet20 --batch_size=16 --min_area=0.5"; }

TEST(DoctorCommand, TellsASoundSetUpByItsExitCode) {
  expect(doctor("--rows=16 --only=frozen" + setup()), 0, {});  // flags without a subcommand mean `check`
  expect(doctor("check --rows=16 --lr=0.05" + setup()), 0,
         {"duplicates  nothing found", "loss        the first loss is ", "rate        the loss of one batch goes from ",
          "nothing is wrong"});
}

TEST(DoctorCommand, NamesAWrongOneAndTheAdvice) {
  expect(
      doctor("check --rows=16 --only=frozen --freeze='linear*'" + setup()), 1,
      {"frozen      wrong: the last layer is frozen (linear.weight)", "try: a narrower --freeze pattern", "wrong: 1."});
  expect(doctor("check --rows=16 --only=frozen --json --freeze='linear*'" + setup()), 1,
         {"\"sound\":false,\"first_wrong\":\"frozen\""});
}

TEST(DoctorCommand, DumpsAndCompares) {
  expect(doctor("dump --out=a.safetensors --rows=4" + setup()), 0, {"a.safetensors: ", " values of step 1"});
  expect(doctor("dump --out=b.safetensors --rows=4 --precision_mode=allow_mix_precision_bf16" + setup()), 0, {});
  expect(doctor("compare a.safetensors a.safetensors --tolerance=0 --absolute=0"), 0, {"all inside the band"});
  expect(doctor("compare a.safetensors b.safetensors --tolerance=1e-6"), 1,
         {"first outside the band:\nconv1", "they differ"});
  expect(doctor("compare a.safetensors b.safetensors --tolerance=1e-6 --json"), 1, {"{\"equal\":false"});
  // Of a step of several batches, one is checked.
  expect(doctor("dump --out=c.safetensors --rows=4 --accumulate_steps=3" + setup()), 0, {" values of step 1"});
  const testing::Outcome same = doctor("compare a.safetensors c.safetensors --tolerance=0 --absolute=0");
  expect(same, 0, {"all inside the band"});
  EXPECT_EQ(same.text.find(" alone"), std::string::npos) << same.text;
}

TEST(DoctorCommand, LooksAtPartsThatAreSplitOffOneFolder) {
  expect(doctor("check --data_dir=" + shapes() +
                "/train --batch_size=8 --min_area=0.5 --validation_split=0.25 --model=resnet20 --only=duplicates "
                "--only=geometry"),
         0, {"duplicates  not looked at: --validation_split divides by content: equal images lie in one part"});
}

TEST(DoctorCommand, RefusesWrongCalls) {
  expect(doctor("check --only=sight" + setup()), 2, {"[doctor] there is no check 'sight'"});
  expect(doctor("check --rows=0" + setup()), 2, {"--rows must be 1 or more"});
  expect(doctor("dump --out=x.safetensors --part=middle" + setup()), 2, {"unknown part 'middle'"});
  expect(doctor("compare a.safetensors"), 2, {"SECOND"});
  expect(doctor("check"), 2, {"--data_dir is needed"});
}

}  // namespace
}  // namespace ridgeline
