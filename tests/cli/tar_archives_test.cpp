// A folder of tar archives as --data_dir: splits by file name, where labels are, messages and errors.
#include <gtest/gtest.h>

#include <filesystem>

#include "ridgeline/core/file.h"
#include "ridgeline/data/make/make_shapes.h"
#include "ridgeline/format/record/tar.h"
#include "tests/support/program.h"
#include "tests/support/shapes_archives.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::tar_archives {
namespace {

namespace fs = std::filesystem;
using testing::expect;
using testing::run;
using testing::ShapesArchives;

const std::string& root() {
  static const std::string path = [] {
    const std::string p = testing::temporary_directory() + "/archives";
    fs::create_directories(p);
    data::make_shapes(p + "/shapes", {.seed = 3, .train = 40, .val = 20});
    return p;
  }();
  return path;
}

// train-*.tar and val-*.tar of the shapes.
std::string archives(const std::string& name, const ShapesArchives& train, const ShapesArchives& val) {
  std::string dir = root() + "/" + name;
  fs::remove_all(dir);
  fs::create_directories(dir);
  testing::write_shapes_archives(root() + "/shapes/train", dir + "/shapes-train-", train);
  testing::write_shapes_archives(root() + "/shapes/val", dir + "/shapes-val-", val);
  return dir;
}
std::string archives(const std::string& name, const ShapesArchives& options) {
  return archives(name, options, options);
}

std::string words(const std::string& dir, const std::string& more = "") {
  const std::string log = root() + "/log_" + fs::path(dir).filename().string();
  return "--model=resnet20 --batch_size=4 --data_dir='" + dir + "' --checkpoint_dir=" + log + " " + more;
}
std::string train_words(const std::string& dir, const std::string& more = "") {
  const std::string log = root() + "/log_" + fs::path(dir).filename().string();
  fs::remove_all(log);
  return "train --max_train_steps=2 --warmup_epochs=0 --log_dir=" + log + " " + words(dir, more);
}

TEST(TarArchives, AFolderOfThemTrainsAndEvaluates) {
  const std::string dir = archives("numbers", {});
  expect(run(train_words(dir)), 0,
         {"shapes-train-*.tar 2 tar archives", "shapes-val-*.tar 2 tar archives", "labels: cls (--label_field=auto)",
          "classes: 10, as the labels of the archives say"});
  expect(run("evaluate " + words(dir)), 0, {"shapes-val-*.tar 2 tar archives"});
  expect(run("dataset inspect --data_dir=" + dir), 0, {"40", "20", "tar archives"});
}

TEST(TarArchives, OnePassGivesTheImagesAndLabelsOfTheFoldersThatTheyWereMadeOf) {
  const std::string dir = archives("same", {.cls = false, .in_folders = true});
  const auto loss = [](const std::string& data) {
    const std::string log = root() + "/log_same";
    fs::remove_all(log);
    const auto outcome = run("train --mode=train --max_epochs=1 --warmup_epochs=0 --lr=0 --log_dir=" + log +
                             " --model=resnet20 --batch_size=40 --max_train_steps=1 --crop_padding=0 --flip=False "
                             "--reproducibility=deterministic --save_summary_steps=1 --data_dir=" +
                             data);
    EXPECT_EQ(outcome.code, 0) << outcome.text;
    const std::size_t at = outcome.text.find("loss: ");
    EXPECT_NE(at, std::string::npos) << outcome.text;
    return outcome.text.substr(at, 11);
  };
  EXPECT_EQ(loss(dir), loss(root() + "/shapes"));
}

TEST(TarArchives, LabelsMayBeNamesInJsonOrFolders) {
  const std::string json = archives("json", {.cls = false, .json_name = true});
  expect(run(train_words(json)), 0, {"labels: json:label (--label_field=auto)"});
  expect(run("evaluate " + words(json)), 0, {});
  const std::string folders = archives("folders", {.cls = false, .in_folders = true});
  expect(run(train_words(folders)), 0, {"labels: the folders of the samples"});
  const std::string both = archives("both", {.json_name = true, .in_folders = true});
  expect(run(train_words(both, "--label_field=json:label")), 0, {"labels: json:label"});
  expect(run(train_words(both, "--label_field=json:species")), 1, {"has a label in 'json:species'"});
  expect(run(train_words(both, "--label_field=json:")), 2, {"--label_field=json:", "FIELD:KEY"});
}

TEST(TarArchives, WithoutALabelTheFieldsThatThereAreAreNamed) {
  const std::string dir = archives("unlabelled", {.cls = false});
  expect(run(train_words(dir)), 1, {"looks like a class", "it has the fields jpg", "--label_field"});
}

TEST(TarArchives, PartsThatCallClassesOtherwiseAreRefused) {
  const std::string dir = archives("unlike", {.cls = false, .in_folders = true});
  {
    TarWriter writer(dir + "/shapes-val-000002.tar");
    writer.add("hexagons/1.jpg",
               read_file(dir + "/../shapes/val/" +
                         fs::directory_iterator(root() + "/shapes/val")->path().filename().string() + "/" +
                         fs::directory_iterator(fs::directory_iterator(root() + "/shapes/val")->path())
                             ->path()
                             .filename()
                             .string()));
    writer.finish();
  }
  expect(run(train_words(dir)), 1, {"shapes-val-*.tar has the class 'hexagons', that the training does not know"});
  const std::string mixed = archives("mixed", {}, {.cls = false, .in_folders = true});
  expect(run(train_words(mixed)), 1, {"has a label in 'cls'"});
}

TEST(TarArchives, AnArchiveBesideFoldersOfImagesIsWhatTheseCameIn) {
  const std::string dir = root() + "/beside";
  fs::remove_all(dir);
  fs::copy(root() + "/shapes", dir, fs::copy_options::recursive);
  testing::write_shapes_archives(root() + "/shapes/train", dir + "/all-", {});
  expect(run("dataset inspect --data_dir=" + dir), 0, {"2 .tar (an archive, not unpacked)", "class folders"});
}

}  // namespace
}  // namespace ridgeline::tar_archives
