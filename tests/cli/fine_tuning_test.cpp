// Fine-tuning from the command line: weights from a file, a checkpoint or a model file, a new head, frozen layers.
#include <gtest/gtest.h>

#include <filesystem>

#include "ridgeline/core/file.h"
#include "ridgeline/data/make/make_shapes.h"
#include "ridgeline/format/tensor/safetensors.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;
using testing::expect;
using testing::Outcome;
using testing::run;

class FineTuning : public ::testing::Test {
 protected:
  // Data with ten classes, data with four of them, and a model of the ten.
  static const std::string& root() {
    static const std::string path = [] {
      const std::string p = testing::temporary_directory() + "/fine_tuning";
      fs::remove_all(p);
      data::make_shapes(p + "/shapes", {.seed = 1, .train = 80, .val = 20});
      for (const std::string part : {"/train/", "/val/"}) {
        fs::create_directories(p + "/four" + part);
        for (const char* name : {"circle", "cross", "star", "triangle"})
          fs::copy(p + "/shapes" + part + name, p + "/four" + part + name);
      }
      return p;
    }();
    return path;
  }
  static std::string training(const std::string& data, const std::string& log, const std::string& more) {
    return "train --model=resnet20 --mode=train --max_epochs=1 --warmup_epochs=0 --batch_size=8 --lr=0.01 --data_dir=" +
           root() + "/" + data + " --log_dir=" + root() + "/" + log + " " + more;
  }
  static const std::string& trained() {
    static const std::string path = [] {
      expect(run(training("shapes", "ten", "--ema=0.5")), 0, {"step:    10"});
      return root() + "/ten/model.ckpt-10.safetensors";
    }();
    return path;
  }
  static Tensor tensor(const std::string& path, const std::string& name) {
    return SafetensorsFile(path).tensor(name).clone();
  }
  static bool same(const Tensor& a, const Tensor& b) {
    return a.shape() == b.shape() && std::equal(a.data<float>(), a.data<float>() + a.elements(), b.data<float>());
  }
};

TEST_F(FineTuning, OtherClassesNeedANewHeadAndTheErrorSaysSo) {
  const Outcome refused = run(training("four", "refused", "--weights=" + trained()));
  expect(refused, 1,
         {"linear.weight: the file has f32[10,64], the model f32[4,64]", "linear.bias: the file has f32[10]",
          "--reset_head draws the last layer, linear, anew"});
  expect(run(training("four", "tuned", "--reset_head --max_train_steps=1 --weights=" + trained())), 0,
         {"(checkpoint of resnet20 at step 10, 10 classes, image size 32)",
          "left out, drawn anew: linear.weight, linear.bias"});
  // With the same number of classes the head is restored, or drawn like that of a run without weights.
  const std::string still = "--lr=0 --max_train_steps=1 ";
  expect(run(training("shapes", "all", still + "--weights=" + trained())), 0, {"restored 97 of 97 tensors"});
  expect(run(training("shapes", "reset", still + "--reset_head --weights=" + trained())), 0, {"restored 95 of 97"});
  expect(run(training("shapes", "drawn", still)), 0, {});
  const std::string head = "linear.weight", file = "/model.ckpt-1.safetensors";
  // If the run kept averages, these are its result.
  EXPECT_TRUE(same(tensor(root() + "/all" + file, head), tensor(trained(), head + "/average")));
  EXPECT_TRUE(same(tensor(root() + "/reset" + file, head), tensor(root() + "/drawn" + file, head)));
  EXPECT_FALSE(same(tensor(root() + "/reset" + file, head), tensor(root() + "/all" + file, head)));
  EXPECT_TRUE(same(tensor(root() + "/reset" + file, "conv1.weight"), tensor(trained(), "conv1.weight/average")));
}

TEST_F(FineTuning, AFolderACheckpointAndAModelFileAreTheSameWeights) {
  const std::string folder = fs::path(trained()).parent_path(), exported = root() + "/ten.rdgm";
  expect(run("export --checkpoint_dir=" + folder + " --out=" + exported), 0, {});
  std::string first;
  for (const std::string& source : {folder, trained(), exported}) {
    const std::string log = "from_" + fs::path(source).extension().string().substr(source == folder ? 0 : 1);
    expect(run(training("shapes", log, "--max_train_steps=2 --weights=" + source)), 0, {"restored 97 of 97 tensors"});
    const std::string bytes = read_file(root() + "/" + log + "/model.ckpt-2.safetensors");
    if (first.empty()) first = bytes;
    EXPECT_TRUE(bytes == first) << source;
    // Evaluation and prediction take the settings that the weights contain.
    expect(run("evaluate --batch_size=8 --data_dir=" + root() + "/shapes --num_classes=10 --weights=" + source), 0,
           {"Finished evaluation"});
  }
  const std::string image = glob_files(root() + "/shapes/val/*/*").front();
  const Outcome by_flag = run("predict --weights=" + trained() + " " + image);
  expect(by_flag, 0, {" %  "});
  EXPECT_EQ(by_flag.text, run("predict --checkpoint_dir=" + folder + " " + image).text);
}

TEST_F(FineTuning, FrozenLayersStayAndOthersMove) {
  expect(run(training(
             "four", "frozen",
             "--reset_head --freeze='layer1.*' --freeze='conv1.*' --lr_scale='layer*=0.5' --weights=" + trained())),
         0, {"restored 95 of 97"});
  const std::string file = glob_files(root() + "/frozen/model.ckpt-*.safetensors").back();
  EXPECT_TRUE(same(tensor(file, "conv1.weight"), tensor(trained(), "conv1.weight/average")));
  EXPECT_TRUE(same(tensor(file, "layer1.0.conv1.weight"), tensor(trained(), "layer1.0.conv1.weight/average")));
  EXPECT_FALSE(same(tensor(file, "layer2.0.conv1.weight"), tensor(trained(), "layer2.0.conv1.weight/average")));
}

TEST_F(FineTuning, WhatIsNoWeightsOfTheModelIsRefusedWithAWayOut) {
  const std::string pickle = root() + "/resnet18.pth";
  write_file_atomically(pickle, "PK\x03\x04 and an archive");
  expect(run(training("shapes", "bad", "--weights=" + pickle)), 1,
         {"is a pickle of PyTorch", "torch.load(sys.argv[1]", "'" + pickle + "'"});
  expect(run(training("shapes", "bad", "--weights=" + root() + "/none.safetensors")), 1,
         {"no such file: " + root() + "/none.safetensors (--weights)"});
  expect(run(training("shapes", "bad", "--weights=" + root() + "/four")), 1, {"no checkpoint model.ckpt-<step>"});
  expect(run("train --model=linear --image_size=8 --mode=train --batch_size=8 --data_dir=" + root() +
             "/shapes --log_dir=" + root() + "/bad --weights=" + trained()),
         1, {"is a checkpoint of resnet20 at step 10", "(--model=resnet20)"});
  expect(run("evaluate --model=linear --data_dir=" + root() + "/shapes --weights=" + trained()), 1,
         {"the checkpoint holds model resnet20, not linear"});
  expect(run(training("shapes", "bad", "--reset_head")), 2, {"--reset_head", "needs --weights"});
}

// Weights whose last layer is drawn again are for other classes.
TEST_F(FineTuning, TheDoctorLooksAtTheRunThatDrawsANewHead) {
  const auto doctor = [](const std::string& words, const std::string& more) {
    return run("doctor " + words + " --rows=4 --model=resnet20 --data_dir=" + root() + "/four --log_dir=" + root() +
               "/none --weights=" + trained() + " " + more);
  };
  expect(doctor("check --only=frozen --only=labels", ""), 1, {"cannot be run: [weights] ", "linear.weight"});
  expect(doctor("check --only=frozen --only=labels", "--reset_head"), 0,
         {"frozen      nothing found", "labels      not looked at: needs weights that know these classes"});
  const std::string out = root() + "/part.safetensors";
  expect(doctor("dump --part=evaluation --out=" + out, "--reset_head"), 0, {" values of step 1"});
  EXPECT_TRUE(same(tensor(out, "bn1.weight"), tensor(trained(), "bn1.weight/average")));
}

TEST_F(FineTuning, PublishedWeightsAreTunedToOtherClasses) {
  const std::string pack = testing::pack_a();
  if (pack.empty()) GTEST_SKIP() << "RIDGELINE_TEST_DATA is not set";
  const std::string weights = pack + "/derived/resnet20-cifar10.safetensors";
  expect(run(training("four", "published", "--weights=" + weights)), 1, {"f32[10,64]", "--reset_head"});
  expect(run(training("four", "published", "--reset_head --freeze='layer*' --weights=" + weights)), 0,
         {"restored 95 of 97 tensors", "(weights)"});
}

}  // namespace
}  // namespace ridgeline
