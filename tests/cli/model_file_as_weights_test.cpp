// An exported model that is given by --weights counts as what it is: its classes, its image size, its last layer.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

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
using testing::run;

// Columns top1, top5 and loss of the evaluation's only row.
std::string row_of(const Outcome& outcome) {
  const std::size_t header = outcome.text.find(" step  epoch");
  if (outcome.code != 0 || header == std::string::npos) return "no row: " + outcome.text;
  const std::size_t begin = outcome.text.find('\n', header) + 1, end = outcome.text.find('\n', begin);
  std::istringstream words(outcome.text.substr(begin, end - begin));
  std::string step, epoch, top1, top5, loss;
  words >> step >> epoch >> top1 >> top5 >> loss;
  return top1 + " " + top5 + " " + loss;
}

class ModelFileAsWeights : public ::testing::Test {
 protected:
  static const std::string& root() {
    static const std::string path = [] {
      const std::string folder = testing::temporary_directory() + "/model_file_as_weights";
      fs::remove_all(folder);
      data::make_shapes(folder + "/shapes", {.train = 60, .val = 40});
      expect(run("train --data_dir=" + folder +
                 "/shapes --model=linear --image_size=16 --batch_size=10 --max_epochs=3 "
                 "--warmup_epochs=0 --lr=0.01 --log_dir=" +
                 folder + "/run"),
             0, {});
      expect(run("export --checkpoint_dir=" + folder + "/run --checkpoint=last --out=" + folder + "/ten.rdgm"), 0, {});
      return folder;
    }();
    return path;
  }
  static std::string exported() { return root() + "/ten.rdgm"; }
  static Outcome evaluated(const std::string& data_dir, const std::string& weights, const std::string& more = "") {
    return run("evaluate --label_smoothing=0 --data_dir=" + data_dir + " --weights=" + weights + " " + more);
  }
};

TEST_F(ModelFileAsWeights, OfATrainingStepIsNoModelForPredictions) {
  const std::string step = root() + "/step.rdgm";
  expect(run("train --synthetic --mode=train --model=linear --num_classes=3 --image_size=8 --batch_size=4 "
             "--max_train_steps=1 --export_step=" +
             step + " --log_dir=" + root() + "/exported"),
         0, {});
  const std::string picture = glob_files(root() + "/shapes/val/*/*").front();
  expect(run("predict " + step + " " + picture), 1, {"is a training step: it updates its parameters"});
}

TEST_F(ModelFileAsWeights, GivesTheRowOfItsCheckpoint) {
  const std::string shapes = root() + "/shapes", row = row_of(evaluated(shapes, root() + "/run"));
  EXPECT_EQ(row.find("no row"), std::string::npos) << row;
  EXPECT_EQ(row_of(evaluated(shapes, exported())), row);
  expect(evaluated(shapes, exported(), "--num_classes=12"), 2, {"the model file has 10 classes, not 12"});
}

TEST_F(ModelFileAsWeights, KnowsItsClassesByTheirNames) {
  const std::string few = root() + "/few", others = root() + "/others";
  for (const std::string& folder : {few, others}) fs::create_directories(folder);
  fs::create_directories(few + "/val");
  for (const std::string name : {"star", "heart"})
    fs::copy(root() + "/shapes/val/" + name, few + "/val/" + name, fs::copy_options::recursive);
  EXPECT_EQ(row_of(evaluated(few, exported())), row_of(evaluated(few, root() + "/run")));
  // As many classes, and other labels.
  fs::copy(root() + "/shapes/val", others + "/val", fs::copy_options::recursive);
  fs::rename(others + "/val/arrow", others + "/val/zebra");
  const Outcome refused = evaluated(others, exported());
  expect(refused, 1, {"'zebra'"});
  EXPECT_EQ(refused.text.find("Finished evaluation"), std::string::npos) << refused.text;
}

TEST_F(ModelFileAsWeights, IsEvaluatedAlikeBySeveralRanks) {
  const std::string results = root() + "/results";
  expect(run("launch --ranks=2 --results=" + results + " -- evaluate --label_smoothing=0 --data_dir=" + root() +
             "/shapes --weights=" + exported()),
         0, {});
  Outcome log;
  log.code = 0;
  log.text = read_file(results + "/2p/0/train_0.log");
  EXPECT_EQ(row_of(log), row_of(evaluated(root() + "/shapes", root() + "/run")));
}

TEST_F(ModelFileAsWeights, PredictsAndIsExportedAsItself) {
  const std::string image = glob_files(root() + "/shapes/val/*/*").front(), again = root() + "/again.rdgm";
  const Outcome alone = run("predict " + exported() + " " + image);
  expect(alone, 0, {" %  "});
  EXPECT_EQ(run("predict --weights=" + exported() + " " + image).text, alone.text);
  expect(run("export --weights=" + exported() + " --out=" + again), 0, {"10 class names"});
  EXPECT_TRUE(read_file(again) == read_file(exported()));
}

TEST_F(ModelFileAsWeights, KeepsTheLastLayerThatItWasTrainedWith) {
  const std::string folder = root() + "/alexnet", shapes = root() + "/shapes";
  expect(run("train --model=alexnet --final_relu=False --image_size=64 --batch_size=10 --max_train_steps=1 "
             "--warmup_epochs=0 --lr=0.001 --mode=train --data_dir=" +
             shapes + " --log_dir=" + folder),
         0, {});
  expect(run("export --checkpoint_dir=" + folder + " --out=" + folder + ".rdgm"), 0, {});
  EXPECT_EQ(row_of(evaluated(shapes, folder + ".rdgm")), row_of(evaluated(shapes, folder)));
}

}  // namespace
}  // namespace ridgeline
