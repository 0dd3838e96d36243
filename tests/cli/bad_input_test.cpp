// Errors for wrong calls and damaged files: one line with the flag, file or record and what is allowed, and an exit
// code other than 0.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "ridgeline/core/file.h"
#include "ridgeline/data/make/make_shapes.h"
#include "ridgeline/data/make/make_tfrecord.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;

using testing::expect;
using testing::Outcome;
using testing::run;

const std::string& root() {
  static const std::string path = [] {
    std::string p = testing::temporary_directory();
    fs::create_directories(p);
    data::make_shapes(p + "/shapes", {.seed = 1, .train = 40, .val = 20});
    data::make_tfrecord(p + "/shapes", p + "/records", {.train_shards = 2, .validation_shards = 1});
    return p;
  }();
  return path;
}

// A short run that succeeds on good input.
std::string training(const std::string& data_dir, const std::string& more = "") {
  static int counter = 0;
  return "train --model=resnet20 --mode=train --max_epochs=1 --batch_size=8 --num_classes=10 --log_dir=" + root() +
         "/log" + std::to_string(counter++) + " --data_dir=" + data_dir + " " + more;
}

TEST(BadInput, GoodInputWorks) {
  expect(run(training(root() + "/shapes")), 0, {"step:     5"});
  expect(run(training(root() + "/records")), 0, {"labels: stored from 1"});
  // Booleans with and without a value, hyphens in names, and a flag given twice: the last value counts.
  const std::string synthetic =
      " --mode=train --model=resnet20 --num-classes=10 --batch_size=4 --max_train_steps=9 "
      "--max-train-steps 1 --log_dir=" +
      root() + "/synthetic";
  expect(run("train --synthetic --do_checkpoint False" + synthetic), 0, {"training steps: 1\n", "step:     1"});
  expect(run("train --synthetic=True --do-checkpoint=0" + synthetic), 0, {"step:     1"});
  expect(run("train --synthetic False" + synthetic), 2, {"--data_dir is needed"});
  expect(run("train --synthetic --debug=False" + synthetic), 0, {"warning: --debug has no effect"});
}

TEST(BadInput, FlagsAreRefusedByName) {
  expect(run("train --baatch_size=3"), 2, {"train: unknown flag --baatch_size (did you mean --batch_size?)"});
  expect(run("trian"), 2, {"unknown command 'trian' (did you mean train?)"});
  expect(run("train --mode=fit --data_dir=x"), 2, {"Invalid type of mode: 'fit'", "train_and_evaluate"});
  expect(run("train --batch_size=many"), 2, {"batch_size", "many"});
  expect(run("train --batch-size=0 --synthetic"), 2, {"--batch_size=0", "1 or more"});
  expect(run("train --momentum=1 --synthetic"), 2, {"momentum is 1", "[0, 1)"});
  expect(run("train --optimizer=adamm --synthetic"), 2, {"unknown optimizer 'adamm'", "did you mean 'adam'?", "lamb"});
  expect(run("train --optimizer=adam --beta2=1 --synthetic"), 2, {"beta2 is 1", "[0, 1)"});
  expect(run("train --beta1=0.5 --synthetic"), 2,
         {"--beta1 has no effect on the optimizer momentum", "--use_nesterov"});
  expect(run("train --optimizer=sgd --momentum=0.9 --synthetic"), 2,
         {"--momentum has no effect on the optimizer sgd", "none of these"});
  expect(run("train --lr_schedule=cosinus --synthetic"), 2, {"unknown schedule 'cosinus'", "cosine", "one_cycle"});
  expect(run("train --lr_power=2 --synthetic"), 2, {"--lr_power has no effect on the schedule warmup_cosine"});
  expect(run("train --lr_schedule=multi_step --synthetic"), 2, {"--lr_decay_epochs, such as 30,60,90"});
  expect(run("train --lr_schedule=multi_step --lr_decay_epochs=3,x --synthetic"), 2, {"'x' is not a valid epoch"});
  expect(run("train --lr_scale=head --synthetic"), 2, {"--lr_scale=head", "PATTERN=FACTOR"});
  expect(run("train --mode=train --model=resnet20 --freeze=conv9.* --synthetic --num_classes=10 --max_train_steps=1 "
             "--log_dir=" +
             root() + "/x"),
         2, {"parameters 'conv9.*'", "no parameter of such a name", "conv1.weight"});
  // A flag without a value does not take the next word as its value.
  for (const char* next : {"", " --max_train_steps=1", " 4"})
    expect(run(std::string("train --synthetic --batch_size=") + next), 2,
           {"ridgeline train: --batch_size= has no value (expected --batch_size=VALUE)"});
  expect(run("dataset make shapes --out=x --train=9"), 2, {"train is 9", "at least 10 images"});
  expect(run("dataset make shapes --out= x"), 2, {"--out= has no value (expected --out=VALUE)"});
  expect(run("train --synthetic --model"), 2, {"ridgeline train: --model needs a value"});
  expect(run("train --lr=-1 --synthetic"), 2, {"ridgeline: --lr=-1 is out of range"});
  expect(run("train --accumulate_steps=0 --synthetic"), 2, {"--accumulate_steps=0 is out of range (allowed: 1 or"});
  expect(run("experiment list"), 2, {"unknown experiment 'list' (allowed: parallel_threads, ", "sweep, all"});
  expect(run("train --use_nesterov=maybe --synthetic"), 2, {"maybe", "True, False"});
  expect(run("train --model=alexnett --synthetic"), 2, {"alexnett", "alexnet"});
  expect(run("train --alexnet_version=zeros --synthetic"), 2, {"zeros", "xavier", "he_uniform", "he_uniform_custom"});
  expect(run("train --rank_size=8 --synthetic"), 2, {"--rank_size=8", "this process is one of 1", "launch --ranks 8"});
  expect(run("train --rank_size=2 --shard=False --synthetic"), 2, {"--shard=False", "the same images"});
  expect(run("train --rank_size=2 --group_size=4 --synthetic"), 2, {"--rank_size=2 and --group_size=4"});
  expect(run("train --split_strategy_by_idx=3,2 --synthetic"), 2, {"idx in idxList is not ascending"});
  expect(run("train --split_strategy_by_idx=3,x --synthetic"), 2, {"'x' is not a number"});
  expect(run("train --split_strategy_by_size=50,40 --synthetic"), 2, {"size percentage list sum is not 100%"});
  expect(run("train --dtype=tf.float16 --synthetic"), 2, {"tf.float16", "tf.float32"});
  expect(run("train --image_size=32 --synthetic"), 2, {"[alexnet] image size 32 is too small"});
  expect(run("train --log=dispach --synthetic --max_train_steps=1 --log_dir=" + root() + "/x"), 2,
         {"dispach", "dispatch"});
  expect(run("bench step --precision=fp8"), 2,
         {"unknown --precision=fp8 (allowed: f32, bf16, f16, ", "allow_mix_precision_bf16"});
  expect(run("train --synthetic --precision_mode=allow_mixed_precision"), 2,
         {"unknown precision_mode 'allow_mixed_precision': did you mean 'allow_mix_precision'?"});
  expect(run("train --synthetic --precision_mode=force_fp16 --precision_mode_v2=fp16"), 2,
         {"'precision_mode' and 'precision_mode_v2' can not be assigned at the same time."});
  expect(run("train --synthetic --modify_mixlist=lists.json"), 2,
         {"modify_mixlist is assigned", "allow_mix_precision"});
}

TEST(BadInput, DirectoriesAndPatternsAreNamed) {
  expect(run(training(root() + "/nowhere")), 1, {"no such directory", "/nowhere"});
  fs::create_directories(root() + "/empty");
  expect(run(training(root() + "/empty")), 1, {"/empty/train-*"});
  expect(run("evaluate --model=resnet20 --data_dir=" + root() + "/shapes --checkpoint_dir=" + root() + "/empty"), 1,
         {"no checkpoint", "/empty"});
  expect(run(training(root() + "/shapes", "--batch_size=64")), 1, {"40 training records", "--batch_size"});
  expect(run(training(root() + "/shapes", "--num_classes=3")), 2, {"--num_classes=3", "10 class folders"});
  expect(run(training(root() + "/records", "--num_classes=4")), 1, {"label", "train-0000", "record"});
}

// A copy of the records in which one file is changed.
std::string damaged(const std::string& name, const std::function<void(std::string&)>& change) {
  const std::string directory = root() + "/" + name;
  fs::remove_all(directory);
  fs::copy(root() + "/records", directory);
  const std::string file = directory + "/train-00001-of-00002";
  std::string bytes = read_file(file);
  change(bytes);
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
  return directory;
}

TEST(BadInput, DamagedRecordsAreNamedWithFileAndByte) {
  expect(run(training(damaged("cut", [](std::string& b) { b.resize(b.size() - 100); }))), 1,
         {"train-00001-of-00002", "record", "byte"});
  expect(run(training(damaged("flipped", [](std::string& b) { b[b.size() / 2] ^= 0x10; }))), 1,
         {"train-00001-of-00002", "record", "byte", "checksum"});
}

TEST(BadInput, ACorruptImageIsNamedWithItsReason) {
  const std::string directory = root() + "/corrupt";
  fs::remove_all(directory);
  fs::copy(root() + "/shapes", directory, fs::copy_options::recursive);
  const fs::path victim = fs::directory_iterator(directory + "/train/circle")->path();
  const std::string bytes = read_file(victim.string());
  std::ofstream(victim, std::ios::binary | std::ios::trunc) << bytes.substr(0, bytes.size() / 2);
  expect(run(training(directory, "--batch_size=40")), 1, {victim.filename().string(), "Premature end"});
  std::ofstream(victim, std::ios::binary | std::ios::trunc) << "GIF89a not a picture";
  expect(run(training(directory, "--batch_size=40")), 1, {victim.filename().string(), "not a JPEG, PNG, WebP or BMP"});
}

TEST(BadInput, CheckpointsCutShortOrOfAnotherModelAreRefused) {
  const std::string log = root() + "/model";
  fs::remove_all(log);
  const std::string base =
      "--mode=train --max_epochs=1 --batch_size=8 --data_dir=" + root() + "/shapes --log_dir=" + log;
  expect(run("train --model=resnet20 " + base), 0, {});
  expect(run("train --model=linear --image_size=32 " + base), 1,
         {"--model is resnet20 there and linear here", "give --model=resnet20", "another --log_dir"});
  expect(run("train --model=resnet20 --seed=2 " + base), 1, {"--seed is 1 there and 2 here", "give --seed=1"});
  expect(run("evaluate --model=linear --data_dir=" + root() + "/shapes --checkpoint_dir=" + log), 1,
         {"holds model resnet20"});
  const std::string file = log + "/model.ckpt-5.safetensors";
  const std::string bytes = read_file(file);
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes.substr(0, bytes.size() / 2);
  expect(run("evaluate --model=resnet20 --data_dir=" + root() + "/shapes --checkpoint_dir=" + log), 1,
         {"model.ckpt-5.safetensors", "cut short"});
  const Outcome refused = run("train --model=resnet20 " + base);
  expect(refused, 1, {"no checkpoint in", "model.ckpt-5.safetensors", "cut short", "To start anew"});
  EXPECT_EQ(read_file(file).size(), bytes.size() / 2) << "what may still be saved is left alone";
  expect(run("predict --model=resnet20 --checkpoint_dir=" + log + " x.jpg"), 1, {"no checkpoint in", "cut short"});
  expect(run("predict --model=resnet20 --restore_path=" + root() + "/no.safetensors x.jpg"), 1, {"no such file"});
}

TEST(BadInput, AFullDiskWhileSavingKeepsTheOldCheckpoint) {
  const std::string log = root() + "/full";
  fs::remove_all(log);
  const std::string words =
      "train --model=resnet20 --mode=train --batch_size=8 --data_dir=" + root() + "/shapes --log_dir=" + log;
  expect(run(words + " --max_epochs=2 --max_train_steps=5"), 0, {});
  const std::string before = read_file(log + "/model.ckpt-5.safetensors");
  // A limit on the size of files imitates a full disk: the checkpoint is larger than it, the log is not.
  const std::string command = "bash -c \"trap '' XFSZ; ulimit -f 512; exec " + testing::program() + " " + words +
                              " --max_epochs=2 --max_train_steps=10\"";
  expect(testing::run_shell(command), 1, {"model.ckpt-10.safetensors"});
  EXPECT_EQ(read_file(log + "/model.ckpt-5.safetensors"), before);
  expect(run(words + " --max_epochs=2 --max_train_steps=10"), 0, {"continuing from", "step 5"});
}

TEST(BadInput, PredictSaysWhichFilesOfModelsItReads) {
  expect(run("predict m.onnx picture.jpg"), 2,
         {"m.onnx: predict does not read ONNX files, only model files *.rdgm", "checkpoints"});
  expect(run("predict m.safetensors picture.jpg"), 2,
         {"m.safetensors is not an image; to use it as weights: --weights=m.safetensors"});
}

}  // namespace
}  // namespace ridgeline
