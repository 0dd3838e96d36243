// Every command that reads weights names the tensor of unusable weights, and finds tensors whose names PyTorch programs
// have changed.
#include <algorithm>
#include <filesystem>
#include <limits>

#include "ridgeline/core/file.h"
#include "ridgeline/data/make/make_shapes.h"
#include "ridgeline/infer/model_file.h"
#include "ridgeline/infer/weights.h"
#include "ridgeline/nn/models.h"
#include "ridgeline/train/checkpoint/checkpoint.h"
#include "tests/support/cases.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;
using testing::expect;
using testing::Outcome;
using testing::run;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class UnusableWeights : public ::testing::Test {
 protected:
  static const std::string& root() {
    static const std::string path = [] {
      const std::string p = testing::temporary_directory() + "/unusable_weights";
      fs::create_directories(p);
      data::make_shapes(p + "/shapes", {.seed = 1, .train = 20, .val = 10});
      return p;
    }();
    return path;
  }
  static std::string image() { return fs::recursive_directory_iterator(root() + "/shapes/val/star")->path().string(); }
  // Random weights of resnet20, as in a file.
  static std::vector<NamedTensor> drawn() {
    std::vector<NamedTensor> tensors;
    for (const nn::ParameterSpec& spec : nn::parameters_of(nn::model_named("resnet20"), {.num_classes = 10}, 32))
      tensors.push_back({spec.name, to_file(spec, nn::initialize(spec, 1)).clone()});
    return tensors;
  }
  static Tensor& tensor(std::vector<NamedTensor>& tensors, const std::string& name) {
    return std::find_if(tensors.begin(), tensors.end(), [&](const NamedTensor& t) { return t.name == name; })->tensor;
  }
  static std::string written(const std::string& name, const std::vector<NamedTensor>& tensors) {
    const std::string path = root() + "/" + name + ".safetensors";
    write_safetensors(path, tensors);
    return path;
  }
  static std::string training(const std::string& log, int steps, const std::string& more = "") {
    return "train --model=resnet20 --mode=train --warmup_epochs=0 --batch_size=8 --lr=0.01 --data_dir=" + root() +
           "/shapes --log_dir=" + root() + "/" + log + " --max_train_steps=" + std::to_string(steps) + " " + more;
  }
  // Every command that reads weights from a file.
  static std::vector<Outcome> all_commands(const std::string& weights, const std::string& name) {
    const std::string from = " --model=resnet20 --num_classes=10 --weights=" + weights;
    return {run(training("train_" + name, 1, "--weights=" + weights)),
            run("evaluate --data_dir=" + root() + "/shapes" + from), run("predict " + image() + from),
            run("export --out=" + root() + "/" + name + ".rdgm" + from)};
  }
};

TEST_F(UnusableWeights, ANumberThatIsNoneIsNamedByEveryCommand) {
  std::vector<NamedTensor> tensors = drawn();
  tensor(tensors, "layer2.0.conv1.weight").data<float>()[16 * 9 * 2 + 9 * 3 + 5] = kNan;
  tensor(tensors, "linear.bias").data<float>()[0] = -std::numeric_limits<float>::infinity();
  tensor(tensors, "linear.bias").data<float>()[3] = kNan;
  for (const Outcome& outcome : all_commands(written("not_finite", tensors), "not_finite")) {
    expect(outcome, 1,
           {"not_finite.safetensors: layer2.0.conv1.weight: 1 of 4608 values is not finite, the first is nan at "
            "[2, 3, 1, 2]; linear.bias: 2 of 10 values are not finite, the first is -inf at [0]"});
  }
}

TEST_F(UnusableWeights, AVarianceBelowZeroIsNamedByEveryCommand) {
  std::vector<NamedTensor> tensors = drawn();
  tensor(tensors, "bn1.running_var").data<float>()[5] = -0.5f;
  tensor(tensors, "bn1.running_mean").data<float>()[5] = -0.5f;
  for (const Outcome& outcome : all_commands(written("variance", tensors), "variance"))
    expect(outcome, 1, {"bn1.running_var: 1 of 16 values is below 0, the first is -0.5 at [5]\n"});
}

TEST_F(UnusableWeights, AModelFileWithOneIsNotPredictedWith) {
  const std::string good = root() + "/good.rdgm", bad = root() + "/bad.rdgm";
  const std::string weights = written("good", drawn());
  expect(run("export --model=resnet20 --num_classes=10 --weights=" + weights + " --out=" + good), 0, {});
  infer::Model model = infer::read_model(good);
  Tensor& variance = tensor(model.tensors, "layer1.0.bn1.running_var");
  variance = variance.clone();
  variance.data<float>()[2] = -1;
  infer::write_model(bad, model);
  expect(run("predict " + good + " " + image()), 0, {"star"});
  expect(run("predict " + bad + " " + image()), 1,
         {"[model] resnet20: layer1.0.bn1.running_var: 1 of 16 values is below 0, the first is -1 at [2]"});
}

TEST_F(UnusableWeights, ARunWhoseCheckpointHasOneDoesNotGoOn) {
  expect(run(training("resumed", 1)), 0, {"step:     1"});
  const std::string path = root() + "/resumed/model.ckpt-1.safetensors";
  const train::LoadedCheckpoint saved = train::load_checkpoint({.path = path, .step = 1});
  std::vector<NamedTensor> tensors;
  for (const NamedTensor& t : saved.tensors.tensors()) tensors.push_back({t.name, t.tensor.clone()});
  tensor(tensors, "conv1.weight/momentum").data<float>()[0] = kNan;
  train::save_checkpoint(root() + "/resumed", saved.info, tensors, {.newest = 5});
  const std::string said = "conv1.weight/momentum: 1 of 432 values is not finite, the first is nan at [0, 0, 0, 0]";
  expect(run(training("resumed", 2)), 1, {"[checkpoint] " + path + ": " + said});
  // Tensors that an evaluation does not need may be unusable.
  const std::string evaluation = "evaluate --data_dir=" + root() + "/shapes --checkpoint_dir=" + root() + "/resumed";
  expect(run(evaluation), 0, {"Finished evaluation"});
  tensor(tensors, "conv1.weight").data<float>()[1] = kNan;
  train::save_checkpoint(root() + "/resumed", saved.info, tensors, {.newest = 5});
  expect(run(evaluation), 1, {"none of the 1 checkpoints could be evaluated", "conv1.weight: 1 of 432 values"});
}

TEST_F(UnusableWeights, NamesThatWrappersOfPyTorchChangeAreFound) {
  std::vector<NamedTensor> tensors = drawn();
  const char* const wrappers[] = {"_orig_mod.module.", "module._orig_mod.", "module.module."};
  for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].name = wrappers[i % 3] + tensors[i].name;
  for (const Outcome& outcome : all_commands(written("wrapped", tensors), "wrapped")) {
    expect(outcome, 0, {});
    EXPECT_EQ(outcome.text.find("names without"), std::string::npos) << outcome.text;
  }
}

TEST_F(UnusableWeights, OnePrefixThatMakesAllNamesFitIsTakenAndSaid) {
  std::vector<NamedTensor> tensors = drawn();
  for (NamedTensor& t : tensors) t.name = "_orig_mod.net.backbone." + t.name;
  tensors.push_back({"_orig_mod.net.queue", Tensor::zeros(DType::f32, {4})});
  for (const Outcome& outcome : all_commands(written("prefix", tensors), "prefix"))
    expect(outcome, 0, {"names without 'net.backbone.'"});
  // With two candidates the program does not choose.
  const std::size_t count = tensors.size() - 1;
  for (std::size_t i = 0; i < count; ++i)
    tensors.push_back({"teacher." + tensors[i].name.substr(23), tensors[i].tensor});
  for (const Outcome& outcome : all_commands(written("two", tensors), "two"))
    expect(outcome, 1, {"weights of the model behind 'net.backbone.' and behind 'teacher.'"});
}

TEST_F(UnusableWeights, WhatFitsNothingIsTheSameErrorInEveryCommand) {
  std::vector<NamedTensor> tensors = drawn();
  for (NamedTensor& t : tensors) t.name += "_of_another";
  for (const Outcome& outcome : all_commands(written("other", tensors), "other"))
    expect(outcome, 1, {"other.safetensors: none of its ", " tensors belongs to model resnet20 (the first is "});
}

TEST_F(UnusableWeights, PublishedWeightsThatWereChangedSoAreToldApart) {
  SKIP_WITHOUT_CASES();
  for (const Outcome& outcome : all_commands(testing::case_path("weights/resnet20-one-nan.safetensors"), "one_nan")) {
    expect(outcome, 1, {"layer2.0.conv1.weight: 1 of 4608 values is not finite, the first is nan at [0, 0, 0, 0]"});
  }
  const std::string wrapped = testing::case_path("weights/resnet20-orig-mod-prefix.safetensors");
  for (const Outcome& outcome : all_commands(wrapped, "orig_mod")) expect(outcome, 0, {});
}

}  // namespace
}  // namespace ridgeline
