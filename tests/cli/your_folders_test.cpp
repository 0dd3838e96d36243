// train, evaluate and dataset inspect on unusual folders: which split is read, messages about the rest, and what is
// refused.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "ridgeline/core/file.h"
#include "ridgeline/data/make/make_shapes.h"
#include "ridgeline/data/make/make_tfrecord.h"
#include "ridgeline/format/record/example.h"
#include "ridgeline/format/record/tfrecord.h"
#include "tests/support/cases.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;

using testing::expect;
using testing::Outcome;
using testing::run;

const std::string& found_root() {
  static const std::string path = [] {
    const std::string p = testing::temporary_directory() + "/found";
    fs::create_directories(p);
    data::make_shapes(p + "/shapes", {.seed = 3, .train = 20, .val = 10});
    return p;
  }();
  return path;
}

// An empty folder, and a copy of the ten classes of shapes with these split names instead of train and val.
std::string new_folder(const std::string& name) {
  std::string dir = found_root() + "/" + name;
  fs::remove_all(dir);
  fs::create_directories(dir);
  return dir;
}
void copy_part(const std::string& part, const std::string& to) {
  fs::create_directories(fs::path(to).parent_path());
  fs::copy(found_root() + "/shapes/" + part, to, fs::copy_options::recursive);
}

// Runs one step.
std::string train_words(const std::string& data_dir, const std::string& log, const std::string& more = "") {
  fs::remove_all(found_root() + "/log_" + log);
  return "train --model=resnet20 --batch_size=4 --max_train_steps=1 --warmup_epochs=0 --data_dir='" + data_dir +
         "' --log_dir=" + found_root() + "/log_" + log + " " + more;
}
std::string evaluate_words(const std::string& data_dir, const std::string& log, const std::string& more = "") {
  return "evaluate --model=resnet20 --batch_size=4 --data_dir='" + data_dir + "' --checkpoint_dir=" + found_root() +
         "/log_" + log + " " + more;
}

TEST(FoundFolders, FlagsForRecordsAndArchivesAreSaidToDoNothingOnFolders) {
  const std::string dir = new_folder("idle");
  copy_part("train", dir + "/train");
  expect(run(train_words(dir, "idle", "--mode=train --label_base=1 --label_field=cls --allow_missing_shards=True")), 0,
         {"warning: --label_base has no effect on class folders, only on records",
          "warning: --label_field has no effect on class folders, only on tar archives",
          "warning: --allow_missing_shards has no effect on class folders, only on records"});
  EXPECT_EQ(run(train_words(dir, "idle", "--mode=train")).text.find("no effect"), std::string::npos);
}

TEST(FoundFolders, ATestPartIsLeftAloneWhereThereIsOneForValidation) {
  const std::string dir = new_folder("three");
  copy_part("train", dir + "/Training");
  copy_part("val", dir + "/valid");
  copy_part("val", dir + "/TEST");
  fs::remove_all(dir + "/TEST/star");
  expect(
      run(train_words(dir, "three")), 0,
      {"data: " + dir + ": Training/ 20 images in 10 classes (training), valid/ 10 images in 10 classes (validation)",
       "not used: TEST/ (9 images; evaluate --split=test)", "of 10 images"});
  expect(run(evaluate_words(dir, "three")), 0, {"valid/ 10 images in 10 classes (evaluated)", "Finished evaluation"});
  expect(
      run(evaluate_words(dir, "three", "--split=test")), 0,
      {"TEST/ 9 images in 9 classes (evaluated)", "warning: the data have no image of 'star'", "Finished evaluation"});
  expect(run("dataset inspect --data_dir=" + dir), 0,
         {"train: 20 images", "from Training/, for training", "from valid/, for validation",
          "from TEST/, for evaluate --split=test"});
}

TEST(FoundFolders, ATestPartServesAsValidationOnlyWhereThereIsNoOther) {
  const std::string dir = new_folder("train_and_test");
  copy_part("train", dir + "/train");
  copy_part("val", dir + "/test");
  expect(run(train_words(dir, "train_and_test")), 0,
         {"validation is read from test/, the only part beside training", "of 10 images"});
  // Held-out images are one more split to choose.
  const Outcome split = run(train_words(dir, "split_beside_test", "--validation_split=0.3"));
  expect(split, 0, {"train/ 20 images in 10 classes (training and validation)", "not used: test/ (10 images; "});
  EXPECT_EQ(split.text.find("validation is read from test/"), std::string::npos) << split.text;
  expect(run(evaluate_words(dir, "split_beside_test")), 0, {"chosen by their content (--validation_split=0.3)"});
  expect(run(evaluate_words(dir, "split_beside_test", "--split=test")), 0,
         {"test/ 10 images in 10 classes (evaluated)", "Validation dataset size: 10"});
}

TEST(FoundFolders, ClassFoldersAloneAreEvaluatedAsTheyAre) {
  const std::string dir = new_folder("alone");
  copy_part("train", dir + "/classes");
  expect(run(train_words(dir + "/classes", "alone", "--mode=train")), 0, {"20 images in 10 classes (training)"});
  expect(run(evaluate_words(dir + "/classes", "alone")), 0,
         {"20 images in 10 classes (evaluated)", "Validation dataset size: 20", "Finished evaluation"});
}

TEST(FoundFolders, AnUnlabelledTestPartDoesNotKeepImagesFromBeingHeldBack) {
  const std::string dir = new_folder("unlabelled");
  copy_part("train", dir + "/train");
  copy_part("val/star", dir + "/test");
  expect(run(train_words(dir, "unlabelled")), 1,
         {"has no part 'val' (there: train as class folders, test as loose files)", "--validation_split=0.1"});
  expect(run(train_words(dir, "unlabelled", "--validation_split=0.3")), 0,
         {"not used: test/ (1 image; predict, there are no class folders)", "validation: "});
  expect(run(evaluate_words(dir, "unlabelled", "--split=test")), 1, {"test has images but no class folders"});
}

TEST(FoundFolders, NamesOfPartsAreNoClassesAndOneClassIsRefused) {
  const std::string dir = new_folder("words");
  copy_part("train", dir + "/es/entrenamiento");
  copy_part("val", dir + "/es/prueba");
  expect(run(train_words(dir + "/es", "words", "--mode=train")), 1,
         {"holds 'entrenamiento', 'prueba', which speak of parts and not of classes: name them train, val and test"});
  copy_part("train", dir + "/deep/train/images");
  expect(
      run(train_words(dir + "/deep", "words", "--mode=train")), 1,
      {"deep/train holds one class folder, 'images', with 10 folders of images below it ('arrow', ", "move these up"});
  expect(run("dataset inspect --data_dir=" + dir + "/deep"), 0, {"note: training refuses: ", "move these up"});
  copy_part("train", dir + "/packed/birds/train");
  copy_part("val", dir + "/packed/birds/val");
  expect(run(train_words(dir + "/packed", "words", "--mode=train")), 1,
         {"holds 'train', 'val', names of parts: give " + dir + "/packed/birds"});
  copy_part("train/star", dir + "/one/train/star");
  expect(run(train_words(dir + "/one", "words", "--mode=train")), 1,
         {"one class folder, 'star'; there is nothing to tell apart"});
}

TEST(FoundFolders, ValidationHasTheLabelsThatTrainingGivesToItsNames) {
  const std::string dir = new_folder("names");
  copy_part("train", dir + "/train");
  copy_part("val", dir + "/val");
  for (const char* gone : {"circle", "star"}) fs::remove_all(dir + "/val/" + gone);
  fs::create_directories(dir + "/val/star");
  expect(run(train_words(dir, "names")), 0,
         {"warning: validation has no image of 2 classes: 'circle', 'star'", "of 8 images"});
  expect(run(evaluate_words(dir, "names")), 0,
         {"warning: the data have no image of 2 classes: 'circle', 'star'", "Finished"});
  fs::rename(dir + "/val/star", dir + "/val/stars");
  expect(run(train_words(dir, "other")), 1,
         {"val/ has a class, 'stars', that the training does not know: did you mean 'star'?"});
  expect(run(evaluate_words(dir, "names")), 1, {"val/ has a class, 'stars', that the training does not know"});
}

TEST(FoundFolders, WhatAMacDoesToAnAccentIsTold) {
  const std::string dir = new_folder("accents");
  copy_part("train", dir + "/train");
  copy_part("val", dir + "/val");
  fs::rename(dir + "/train/star", dir + "/train/\u00e9toile");
  fs::rename(dir + "/val/star", dir + "/val/e\u0301toile");
  expect(run(train_words(dir, "accents")), 1, {"'\u00e9toile' there differs only by its Unicode form (NFC, NFD)"});
  fs::rename(dir + "/train/circle", dir + "/train/e\u0301toile");
  expect(run(train_words(dir, "accents", "--mode=train")), 0,
         {"differ only by their Unicode form (NFC, NFD): they are two classes here"});
}

TEST(FoundFolders, WhatIsPassedOverIsSaidInOneLine) {
  const std::string dir = new_folder("droppings");
  copy_part("train", dir + "/train");
  fs::create_directories(dir + "/train/star/.ipynb_checkpoints");
  fs::copy_file(fs::directory_iterator(dir + "/train/ring")->path(),
                dir + "/train/star/.ipynb_checkpoints/1-checkpoint.jpg");
  for (const char* name : {"/train/.DS_Store", "/train/star/Thumbs.db", "/train/star/scan.tif", "/train/star/notes.txt",
                           "/train/ring/a.TIF", "/labels.csv"})
    write_file_atomically(dir + name, "x");
  const Outcome outcome = run(train_words(dir, "droppings", "--mode=train"));
  expect(outcome, 0,
         {"train/ 20 images in 10 classes (training)\n",
          "not used: 1 .csv, 1 .txt (no images), 2 .tif (not decoded), train/.DS_Store (hidden), "
          "train/star/.ipynb_checkpoints/ (1 entry; hidden), train/star/Thumbs.db (of a file system)\n"});
  expect(run("dataset inspect --data_dir=" + dir), 0, {"train: 20 images", "not used:\n", "  2 .tif (not decoded)\n"});
}

// Records with the keys of slim's ImageNet, or of TensorFlow Datasets.
void write_shard(const std::string& path, const std::vector<std::int64_t>& labels, bool tensorflow_datasets = false) {
  fs::create_directories(fs::path(path).parent_path());
  const std::string jpeg = read_file(fs::recursive_directory_iterator(found_root() + "/shapes/val/star")->path());
  TFRecordWriter writer(path);
  for (const std::int64_t label : labels) {
    writer.write(ExampleBuilder()
                     .bytes(tensorflow_datasets ? "image" : "image/encoded", jpeg)
                     .int64s(tensorflow_datasets ? "label" : "image/class/label", label)
                     .serialize());
  }
  writer.close();
}

TEST(FoundFolders, TheLabelBaseIsThatOfAllShards) {
  const std::string dir = new_folder("bases");
  write_shard(dir + "/train-00000-of-00002", {1, 2, 1, 2});
  write_shard(dir + "/train-00001-of-00002", {0, 1, 2, 0});
  write_shard(dir + "/validation-00000-of-00001", {0, 1, 2});
  expect(run(train_words(dir, "bases")), 0,
         {"labels: stored from 0 on (--label_base=auto)", "classes: 3", "of 3 images"});
  for (const char* policy : {"raise", "skip", "replace"}) {
    expect(run(train_words(dir, "based", std::string("--label_base=1 --bad_samples=") + policy)), 2,
           {"train-* has the label 0, below the label base 1", "all of that class would be left out"});
  }
  // Records of another training, whose labels also start from 1.
  write_shard(dir + "/one/train-00000-of-00001", {1, 2, 3, 1});
  write_shard(dir + "/one/validation-00000-of-00001", {0, 1, 2});
  expect(run(train_words(dir + "/one", "based", "--bad_samples=skip")), 2,
         {"below the label base 1, which is that of the training"});
  expect(run("dataset bench --eval --split=val --bad_samples=skip --image_size=16 --batch_size=2 --label_base=1 "
             "--data_dir=" +
             dir),
         1, {"label 0 is below the label base 1"});
}

TEST(FoundFolders, ShardsAreToldApartByTheWordsInTheirNamesAndFolders) {
  const std::string dir = new_folder("shards");
  write_shard(dir + "/slim/flowers_train_00000-of-00001.tfrecord", {0, 1, 2, 3});
  write_shard(dir + "/slim/flowers_validation_00000-of-00001.tfrecord", {0, 1});
  write_file_atomically(dir + "/slim/train-labels.csv", "image,label\n");
  expect(run(train_words(dir + "/slim", "slim")), 0,
         {"flowers_train_*.tfrecord 1 file of TFRecords (training), flowers_validation_*.tfrecord 1 file of TFRecords "
          "(validation)",
          "not used: 1 .csv (no images)", "of 2 images"});
  write_shard(dir + "/tfds/shapes-train.tfrecord-00000-of-00001", {1, 2, 1, 2}, true);
  write_shard(dir + "/tfds/shapes-test.tfrecord-00000-of-00001", {1, 2}, true);
  expect(run(train_words(dir + "/tfds", "tfds")), 0,
         {"labels: stored from 0 on", "classes: 3", "validation is read from shapes-test.tfrecord-*", "of 2 images"});
  expect(run("dataset inspect --data_dir=" + dir + "/tfds"), 0,
         {"train: 4 images in 1 file (TFRecords", "labels 1 to 2"});
  write_shard(dir + "/folders/train/part-00000-of-00001", {0, 1, 2, 3});
  write_shard(dir + "/folders/validation/part-00000-of-00001", {0, 1});
  expect(run(train_words(dir + "/folders", "shard_folders")), 0,
         {"train/part-* 1 file", "validation/part-* 1 file", "of 2 images"});
}

TEST(FoundFolders, ShardsThatAreMissingOrEmptyAreToldAndRefused) {
  const std::string dir = new_folder("missing");
  write_shard(dir + "/train-00000-of-00003", {0, 1, 2, 3});
  write_shard(dir + "/train-00002-of-00003", {0, 1, 2, 3});
  expect(run("dataset inspect --data_dir=" + dir), 1,
         {"broken: 1", "train-00001-of-00003: is missing: 2 of 3 shards are there"});
  expect(run(train_words(dir, "missing", "--mode=train")), 1,
         {"train-00001-of-00003 is missing: 2 of 3 shards are there (--allow_missing_shards reads what is there)"});
  expect(run(train_words(dir, "missing", "--mode=train --allow_missing_shards")), 0,
         {"warning: train-00001-of-00003 is missing", "num_training_sampels: 8"});
  const std::string bench = "dataset bench --image_size=16 --batch_size=4 --data_dir=" + dir;
  expect(run(bench), 1, {"--allow_missing_shards"});
  expect(run(bench + " --allow_missing_shards"), 0, {"8"});
  write_file_atomically(dir + "/train-00001-of-00003", "");
  expect(run("dataset inspect --data_dir=" + dir), 1, {"train-00001-of-00003: is empty"});
  expect(run(train_words(dir, "empty_shard", "--mode=train")), 1, {"train-00001-of-00003 is empty"});
  expect(run("train --synthetic --allow_missing_shards"), 2, {"--allow_missing_shards needs records of --data_dir"});
}

TEST(FoundFolders, AGroupOfEqualImagesIsFourNamesAndACount) {
  const std::string dir = new_folder("equal");
  copy_part("val", dir + "/classes");
  const fs::path image = fs::directory_iterator(dir + "/classes/star")->path();
  for (int i = 0; i < 9; ++i) fs::copy_file(image, dir + "/classes/ring/copy" + std::to_string(i) + ".jpg");
  const Outcome text = run("dataset inspect --data_dir=" + dir + "/classes");
  expect(text, 0,
         {"equal images: 1 group\n", "ring/copy0.jpg = ring/copy1.jpg = ring/copy2.jpg = ring/copy3.jpg = 6 more\n"});
  const Outcome json = run("dataset inspect --json --data_dir=" + dir + "/classes");
  EXPECT_EQ(nlohmann::json::parse(json.text)["duplicates"][0].size(), 10u);
}

TEST(FoundFolders, AFolderWithoutImagesIsToldSo) {
  const std::string dir = new_folder("nothing");
  write_file_atomically(dir + "/notes.txt", "x");
  for (const std::string& words : {train_words(dir, "nothing"), "dataset inspect --data_dir=" + dir})
    expect(run(words), 1, {"nothing holds no data: looked for train/<class>/*", "; it holds 1 .txt"});
}

TEST(FoundFolders, TheDoctorTellsWhatIsNotUsed) {
  const std::string dir = new_folder("doctor");
  copy_part("train", dir + "/train");
  copy_part("val", dir + "/val");
  write_file_atomically(dir + "/train/star/scan.tif", "x");
  expect(run("doctor check --model=resnet20 --batch_size=4 --only=files --data_dir=" + dir +
             " --log_dir=" + found_root() + "/log_doctor"),
         0, {"not used: 1 .tif (not decoded)"});
}

struct Case {
  const char* name;
  const char* flags;
  int code;
  std::vector<std::string> said;
};

TEST(FoundFolders, EachCaseTrainsOrSaysWhyNot) {
  SKIP_WITHOUT_CASES();
  const std::vector<Case> cases{
      {"class-named-train", "--mode=train", 0, {"24 images in 4 classes (training)"}},
      {"csv-beside-train", "", 0, {"val/ 4 images in 2 classes (validation)", "not used: 1 .csv (no images)"}},
      {"first-shard-without-class-0", "", 0, {"labels: stored from 0 on"}},
      {"hidden-below-class", "", 0, {"train/ 12 images", "train/cat/.ipynb_checkpoints/", "train/cat/Thumbs.db"}},
      {"kaggle-unlabelled-test", "--validation_split=0.3", 0, {"not used: test/ (5 images", "of 20 images, chosen"}},
      {"one-level-too-deep",
       "",
       1,
       {"holds one class folder, 'images', with 2 folders of images below it ('bus', 'car')"}},
      {"shard-1-missing", "", 1, {"train-00001-of-00003 is missing: 2 of 3 shards are there"}},
      {"slim-names", "", 0, {"flowers_train_*.tfrecord", "flowers_validation_*.tfrecord"}},
      {"train-valid-test", "", 0, {"valid/ 4 images in 2 classes (validation)", "not used: test/ (4 images; evaluate"}},
      {"val-lacks-a-class", "", 0, {"warning: validation has no image of '180'", "of 9 images"}},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    expect(run(train_words(testing::case_path(each.name), "case", std::string("--image_size=32 ") + each.flags)),
           each.code, each.said);
  }
}

}  // namespace
}  // namespace ridgeline
