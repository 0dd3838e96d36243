// Somebody trains on their own folder for the first time: which split is used, the number of classes, recommendations,
// and what is refused because the results would mean something else.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "ridgeline/core/file.h"
#include "ridgeline/data/make/make_shapes.h"
#include "ridgeline/data/make/make_tfrecord.h"
#include "ridgeline/format/text/json_lines.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;

using testing::expect;
using testing::Outcome;
using testing::run;

void expect_not(const Outcome& outcome, const std::string& word) {
  EXPECT_EQ(outcome.text.find(word), std::string::npos) << word << " in: " << outcome.text;
}

// Folders of ten classes, and records made from them.
const std::string& newcomer_root() {
  static const std::string path = [] {
    const std::string p = testing::temporary_directory() + "/newcomer";
    fs::create_directories(p);
    data::make_shapes(p + "/shapes", {.seed = 1, .train = 40, .val = 20});
    data::make_tfrecord(p + "/shapes", p + "/records", {.train_shards = 2, .validation_shards = 1});
    return p;
  }();
  return path;
}

// A copy of the folders.
std::string folders(const std::string& name) {
  const std::string directory = newcomer_root() + "/" + name;
  fs::remove_all(directory);
  fs::copy(newcomer_root() + "/shapes", directory, fs::copy_options::recursive);
  return directory;
}

std::string training(const std::string& data_dir, const std::string& log, const std::string& more = "") {
  return "train --model=resnet20 --max_epochs=1 --warmup_epochs=0 --batch_size=8 --data_dir=" + data_dir +
         " --log_dir=" + newcomer_root() + "/" + log + " " + more;
}

std::string evaluation(const std::string& data_dir, const std::string& log, const std::string& more = "") {
  return "evaluate --model=resnet20 --batch_size=8 --data_dir=" + data_dir + " --checkpoint_dir=" + newcomer_root() +
         "/" + log + " " + more;
}

TEST(Newcomer, TestIsAPartLikeValAndIsSaid) {
  const std::string data = folders("with_test");
  fs::rename(data + "/val", data + "/test");
  expect(run(training(data, "test")), 0, {"validation is read from test/", "validation: ", "of 20 images"});
  expect(run(evaluation(data, "test")), 0, {"validation is read from test/", "Finished evaluation"});
  expect(run("dataset inspect --data_dir=" + data), 0,
         {"test: 20 images", "from test/, for validation", "note: validation is read from test/"});
  fs::copy(data + "/test", data + "/val", fs::copy_options::recursive);
  expect(run(evaluation(data, "test")), 0,
         {"val/ 20 images in 10 classes (evaluated)", "test/ (20 images; evaluate --split=test)"});
  expect(run(evaluation(data, "test", "--split=test")), 0, {"test/ 20 images in 10 classes (evaluated)", "Finished"});
  expect(run(evaluation(data, "test", "--split=train")), 0, {"Validation dataset size: 40", "Finished"});
  expect(run(training(data, "test_split", "--split=test")), 2, {"--split=test names the part that evaluate reads"});
  expect(run(evaluation(data, "test", "--split=tset")), 2, {"unknown split 'tset'"});
}

TEST(Newcomer, AFolderThatIsNotThereIsToldWithoutOtherAdvice) {
  const Outcome outcome = run(training(newcomer_root() + "/nowhere", "nowhere_log"));
  expect(outcome, 1, {"no such directory: ", "/nowhere"});
  expect_not(outcome, "--validation_split");
}

TEST(Newcomer, ARunOnFewImagesHasALineAnEpoch) {
  const auto lines = [&](const std::string& log, const std::string& more) {
    expect(run(training(newcomer_root() + "/shapes", log, "--mode=train --max_epochs=3 " + more)), 0, {});
    int count = 0;
    for (const auto& line : read_json_lines(newcomer_root() + "/" + log + "/metrics.jsonl")) {
      const auto kind = line.find("kind");
      if (kind != line.end() && kind->second == JsonScalar(std::string("train"))) ++count;
    }
    return count;
  };
  EXPECT_EQ(lines("few", ""), 3);                              // of 5 steps each
  EXPECT_EQ(lines("few_asked", "--save_summary_steps=2"), 8);  // 2, 4, ..., 14, and the last one
  EXPECT_EQ(lines("few_loops", "--iterations_per_loop=10"), 2);
}

TEST(Newcomer, APolicyAugmentsTrainingAndIsKept) {
  for (const char* where : {"--enable_data_pre_proc=True", "--enable_data_pre_proc=False"})
    expect(run(training(newcomer_root() + "/shapes", std::string("augment") + where,
                        "--augment=randaugment --mode=train " + std::string(where))),
           0, {"epoch   1/1"});
  const std::string again = "augment--enable_data_pre_proc=True";
  expect(run(training(newcomer_root() + "/shapes", again, "--max_epochs=2 --mode=train")), 1,
         {"--augment is randaugment there and the default here", "give --augment=randaugment"});
  expect(run(training(newcomer_root() + "/shapes", "bad", "--augment=randaug")), 2,
         {"unknown augment 'randaug' (allowed: "});
}

TEST(Newcomer, RecordsHaveAsManyClassesAsTheirLabelsAndTheirTextsAreShown) {
  expect(run(training(newcomer_root() + "/records", "records")), 0,
         {"labels: stored from 1 on (--label_base=auto)", "classes: 10, as the labels of the records say",
          "next     " + testing::program() + " predict --checkpoint_dir=" + newcomer_root() + "/records"});
  const std::string picture = fs::directory_iterator(newcomer_root() + "/shapes/val/circle")->path();
  expect(run("predict --top=10 --checkpoint_dir=" + newcomer_root() + "/records " + picture), 0,
         {" circle", " triangle"});
  // The same classes as folders are accepted, others are refused.
  expect(run(evaluation(newcomer_root() + "/shapes", "records")), 0, {"Finished evaluation"});
  const std::string renamed = folders("renamed");
  for (const char* part : {"train", "val"})
    fs::rename(renamed + "/" + part + "/circle", renamed + "/" + part + "/disc");
  const Outcome refused = run(evaluation(renamed, "records"));
  expect(refused, 1, {"val/ has a class, 'disc', that the training does not know"});
  expect_not(refused, "top1");
  const std::string fewer = folders("fewer");
  fs::remove_all(fewer + "/val/triangle");
  expect(run(evaluation(fewer, "records")), 0,
         {"warning: the data have no image of 'triangle'", "Finished evaluation"});
  expect(run(evaluation(newcomer_root() + "/shapes", "records", "--num_classes=12")), 2,
         {"the checkpoint has 10 classes, not 12"});
}

TEST(Newcomer, NumbersOfClassesAreComparedWhereThereAreNoNames) {
  // Records without class names, as other programs write them.
  const std::string data = folders("three");
  for (const auto& entry : fs::directory_iterator(newcomer_root() + "/shapes/train")) {
    const std::string name = entry.path().filename();
    if (name == "circle" || name == "cross" || name == "star") continue;
    for (const char* part : {"train", "val"}) fs::remove_all(data + "/" + part + "/" + name);
  }
  const std::string records = newcomer_root() + "/greys";
  const std::string pack = testing::pack_a();
  if (pack.empty()) GTEST_SKIP() << "RIDGELINE_TEST_DATA is not set";
  const std::string flowers = pack + "/tfrecord/slim-flowers";
  fs::create_directories(records);
  for (const auto& entry : fs::directory_iterator(flowers)) {
    if (entry.path().extension() != ".tfrecord") continue;
    for (const char* part : {"/train-00000-of-00001", "/validation-00000-of-00001"})
      fs::copy_file(entry.path(), records + part, fs::copy_options::overwrite_existing);
  }
  expect(run(training(records, "flowers", "--mode=train --max_train_steps=1 --image_size=32")), 0,
         {"classes: 5, as the labels of the records say"});
  expect(run(evaluation(data, "flowers")), 1, {"5 classes in the checkpoint, 3 in the data"});
}

TEST(Newcomer, FlipCanBeTurnedOffAndTheRunRemembersIt) {
  expect(run(training(newcomer_root() + "/shapes", "flip", "--mode=train --flip=off --max_train_steps=2")), 0,
         {"step:     2"});
  expect(run(training(newcomer_root() + "/shapes", "flip", "--mode=train --max_train_steps=3")), 1,
         {"--flip is False there and True here", "give --flip=False"});
  expect(run(training(newcomer_root() + "/shapes", "flip", "--mode=train --max_train_steps=3 --flip=False")), 0,
         {"continuing from"});
  const Outcome flipped = run("dataset show --data_dir=" + newcomer_root() + "/shapes");
  expect(flipped, 0, {"random_horizontal_flip"});
  expect_not(run("dataset show --flip=off --data_dir=" + newcomer_root() + "/shapes"), "random_horizontal_flip");
}

TEST(Newcomer, ARunThatGoesOnSaysWhatIsDifferentNow) {
  const std::string words = "--mode=train --max_train_steps=";
  expect(run(training(newcomer_root() + "/shapes", "goes_on", words + "2")), 0, {});
  expect(run(training(newcomer_root() + "/shapes", "goes_on", words + "3 --lr=0.5 --label_smoothing=0 --max_epochs=9")),
         0,
         {"continuing from", "warning: --lr is 0.06 up to step 2, 0.5 from here on", "warning: --max_epochs is 1 up to",
          "warning: --label_smoothing is 0.1"});
  expect(run(training(newcomer_root() + "/shapes", "goes_on", words + "4 --lr=0.5 --batch_size=4")), 1,
         {"--batch_size is 8 there and 4 here", "give --batch_size=8"});
  const std::string less = folders("less");
  fs::remove(fs::directory_iterator(less + "/train/circle")->path());
  expect(run(training(less, "goes_on", words + "4")), 1, {"40 training records there, 39 here"});
  expect(run(training(newcomer_root() + "/records", "goes_on", words + "4")), 1,
         {"the data are class folders there, TFRecords"});
  expect(run("train --synthetic --num_classes=10 --model=resnet20 --mode=train --batch_size=8 --max_train_steps=4 "
             "--log_dir=" +
             newcomer_root() + "/goes_on"),
         1, {"the data are class folders there, synthetic here"});
}

TEST(Newcomer, TwoTrainingsDoNotShareADirectory) {
  const std::string log = newcomer_root() + "/shared";
  fs::create_directories(log);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::freopen((newcomer_root() + "/first.txt").c_str(), "w", stderr) == nullptr) ::_exit(3);
    const std::string program = testing::program();
    ::execl(program.c_str(), program.c_str(), "train", "--synthetic", "--model=resnet20", "--mode=train",
            "--num_classes=10", "--batch_size=2", "--save_summary_steps=1", ("--log_dir=" + log).c_str(), nullptr);
    ::_exit(127);
  }
  for (int i = 0; i < 600 && !fs::exists(log + "/metrics.jsonl"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const std::string second =
      "train --synthetic --model=resnet20 --mode=train --num_classes=10 --batch_size=2 "
      "--max_train_steps=1 --log_dir=" +
      log;
  expect(run(second), 1, {"another training (process " + std::to_string(child) + ")", log, "another directory"});
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  expect(run(second), 0, {"step:     1"});
}

TEST(Newcomer, ANameThatIsNoUtf8TrainsSavesAndIsPredicted) {
  const std::string data = folders("bytes");
  for (const char* part : {"train", "val"}) fs::rename(data + "/" + part + "/star", data + "/" + part + "/st\xe9r");
  expect(run(training(data, "bytes")), 0, {"model    " + newcomer_root() + "/bytes/model.ckpt-5.safetensors"});
  expect(run(evaluation(data, "bytes")), 0, {"Finished evaluation"});
  fs::rename(data + "/val/st\xe9r", data + "/val/st\xe8r");
  expect(run(evaluation(data, "bytes")), 1, {"val/ has a class, 'st\\xe8r', that the training does not know"});
}

TEST(Newcomer, AdviceFitsTheCommandAndTheRun) {
  const std::string log = "'" + newcomer_root() + "/my log'";
  const std::string words =
      "train --model=resnet20 --max_epochs=1 --warmup_epochs=0 --batch_size=8 --mode=train "
      "--data_dir=" +
      newcomer_root() + "/shapes --log_dir=" + log;
  const Outcome outcome = run(words);
  const std::string next =
      testing::program() + " evaluate --data_dir=" + newcomer_root() + "/shapes --checkpoint_dir=" + log;
  expect(outcome, 0, {"next     " + next});
  expect(run(next.substr(testing::program().size() + 1)), 0, {"Finished evaluation"});
  expect_not(run("evaluate --checkpoint_dir=" + log + " --model=resnet20"), "--synthetic");
}

TEST(Newcomer, AFolderWithoutValidationCanBeTrainedAndPacked) {
  const std::string data = folders("alone");
  fs::remove_all(data + "/val");
  expect(run(training(data, "alone")), 1,
         {"has no part 'val'", "(--validation_split=0.1 holds back a tenth", "--mode=train trains without one)"});
  expect(run(training(data, "alone", "--mode=train")), 0, {"next     " + testing::program() + " predict"});
  expect(run("dataset make tfrecord --from=" + data + " --out=" + newcomer_root() + "/alone_records"), 0,
         {"40 training and 0 validation records"});
  expect(run(training(newcomer_root() + "/alone_records", "alone_records_log", "--mode=train")), 0, {"classes: 10"});
}

TEST(Newcomer, APartOfTheImagesIsHeldBackWhereThereIsNoValidationPart) {
  const std::string data = folders("held_back");
  fs::remove_all(data + "/val");
  const Outcome trained = run(training(data, "held_back", "--validation_split=0.25"));
  expect(trained, 0,
         {"of 40 images, chosen by their content (--validation_split=0.25)",
          "classes have no image in the validation part", "validation: "});
  // The checkpoint stores which images were held out from training; holding out a larger share is refused.
  const Outcome evaluated =
      run("evaluate --batch_size=8 --data_dir=" + data + " --checkpoint_dir=" + newcomer_root() + "/held_back");
  expect(evaluated, 0, {"chosen by their content (--validation_split=0.25)", "Finished evaluation"});
  const auto row = [](const Outcome& outcome) {
    const std::string header = "checkpoint_time(UTC)\n";
    const std::size_t at = outcome.text.find(header) + header.size();
    return outcome.text.substr(at, outcome.text.find("  20", at) - at);
  };
  EXPECT_EQ(row(trained), row(evaluated));
  EXPECT_FALSE(row(trained).empty());
  expect(run(evaluation(data, "held_back", "--validation_split=0.5")), 2,
         {"the checkpoint was trained with 0.25: images that it was trained on would be counted"});
  expect(run(training(data, "held_back", "--validation_split=0.2")), 1,
         {"--validation_split is 0.25 there and 0.2 here"});
  expect(run(training(newcomer_root() + "/shapes", "bad_split", "--validation_split=0.1")), 2,
         {"has a validation part"});
  expect(run(training(newcomer_root() + "/records", "bad_split", "--mode=train --validation_split=0.1")), 2,
         {"--validation_split=0.1"});
  expect(run(training(data, "bad_split", "--validation_split=1")), 2, {"--validation_split=1 is out of range"});
  expect(run("train --synthetic --validation_split=0.1"), 2, {"--validation_split needs images of --data_dir"});
}

TEST(Newcomer, TheCheckpointTellsTheModelAndTheLogIsNamedAfterIt) {
  const std::string log = newcomer_root() + "/named";
  fs::remove_all(log);
  expect(run(training(newcomer_root() + "/shapes", "named")), 0,
         {"epoch   1/1  loss:", "log      " + log + "/resnet20_training.log"});
  const std::string where = " --data_dir=" + newcomer_root() + "/shapes --checkpoint_dir=" + log;
  expect(run("evaluate --batch_size=8" + where), 0, {"Finished evaluation"});
  EXPECT_NE(read_file(log + "/resnet20_training.log").find("Finished evaluation"), std::string::npos);
  EXPECT_FALSE(fs::exists(log + "/alexnet_training.log"));
  expect(run("evaluate --model=linear" + where), 1,
         {"the checkpoint holds model resnet20, not linear (--model=resnet20)"});
  expect(run("evaluate --weights=" + newcomer_root() + "/shapes/shapes.json" + where), 1, {"shapes.json"});
  expect(run(training(newcomer_root() + "/shapes", "own_name", "--mode=train --log_name=mine.log")), 0,
         {"/own_name/mine.log"});
}

TEST(Newcomer, AFolderOfBadImagesIsNotReplacedForEver) {
  const std::string data = folders("rubbish");
  for (const auto& entry : fs::recursive_directory_iterator(data + "/train")) {
    if (entry.is_regular_file()) std::ofstream(entry.path(), std::ios::trunc) << "not a picture";
  }
  const std::string list = newcomer_root() + "/rubbish.jsonl";
  expect(run(training(data, "rubbish", "--mode=train --bad_samples=replace --quarantine=" + list)), 1,
         {"16 attempts failed to find a sample in the place of a bad one", "not a JPEG, PNG, WebP or BMP"});
  const std::string lines = read_file(list);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 16) << "the list tells which: " << lines;
}

}  // namespace
}  // namespace ridgeline
