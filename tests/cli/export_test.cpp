// A trained model in one file: `export` writes it, `predict` reads it, and the accuracy is that of the evaluation.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "ridgeline/core/file.h"
#include "ridgeline/data/make/make_shapes.h"
#include "ridgeline/format/tensor/safetensors.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

using testing::expect;
using testing::Outcome;
using testing::run;

class Export : public ::testing::Test {
 protected:
  static const std::string& root() {
    static const std::string path = [] {
      const std::string p = testing::temporary_directory() + "/export";
      data::make_shapes(p + "/shapes", {.seed = 1, .train = 200, .val = 50});
      expect(
          run("train --model=resnet20 --mode=train --max_epochs=3 --warmup_epochs=0 --batch_size=20 --lr=0.1 --ema=0.5 "
              "--data_dir=" +
              p + "/shapes --log_dir=" + p + "/log"),
          0, {});
      return p;
    }();
    return path;
  }
  static std::string model() {
    const std::string path = root() + "/m.rdgm";
    expect(run("export --checkpoint_dir=" + root() + "/log --out=" + path), 0, {"m.rdgm: resnet20", "10 class names"});
    return path;
  }
};

TEST_F(Export, InfoListsTheFileTheCheckpointAndItsFolder) {
  expect(run("info " + model()), 0, {"model: resnet20\n", "class 3: ", "conv1.weight", " tensors, "});
  expect(run("info " + root() + "/log"), 0, {"/log/model.ckpt-30.safetensors\n", "ridgeline: {", "conv1.weight"});
  expect(run("info " + root() + "/shapes"), 1, {"no checkpoint model.ckpt-<step>.safetensors in "});
}

TEST_F(Export, TheFileAloneGivesTheAccuracyOfTheEvaluation) {
  const std::string file = model();
  const Outcome evaluated =
      run("evaluate --model=resnet20 --data_dir=" + root() + "/shapes --checkpoint_dir=" + root() + "/log");
  ASSERT_EQ(evaluated.code, 0) << evaluated.text;
  const std::vector<std::string> images = glob_files(root() + "/shapes/val/*/*");
  ASSERT_EQ(images.size(), 50u);
  std::string words;
  for (const std::string& image : images) words += " " + image;
  const Outcome predicted = run("predict --format=csv --top=1 " + file + words);
  ASSERT_EQ(predicted.code, 0) << predicted.text;
  std::istringstream lines(predicted.text);
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(line, "image,rank,label,name,probability");
  int hits = 0, rows = 0;
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::string image, rank, label, name;
    std::getline(fields, image, ',');
    std::getline(fields, rank, ',');
    std::getline(fields, label, ',');
    std::getline(fields, name, ',');
    ASSERT_LT(rows, 50);
    EXPECT_EQ(image, images[static_cast<std::size_t>(rows)]);
    EXPECT_EQ(rank, "1");
    hits += std::filesystem::path(image).parent_path().filename() == name;
    ++rows;
  }
  EXPECT_EQ(rows, 50);
  EXPECT_GT(hits, 5) << "the model has learned something";
  char accuracy[32];
  std::snprintf(accuracy, sizeof accuracy, "%.3f", 2.0 * hits);
  EXPECT_NE(evaluated.text.find(accuracy), std::string::npos) << accuracy << " in " << evaluated.text;
}

TEST_F(Export, AFileAndItsCheckpointPredictTheSame) {
  const std::string file = model();
  const std::string image = glob_files(root() + "/shapes/val/*/*").front();
  const Outcome from_file = run("predict --format=json " + file + " " + image);
  const Outcome from_checkpoint = run("predict --format=json --checkpoint_dir=" + root() + "/log " + image);
  EXPECT_EQ(from_file.code, 0);
  EXPECT_EQ(from_file.text, from_checkpoint.text);
  EXPECT_EQ(from_file.text.rfind("{\"image\":\"" + image + "\",\"classes\":[{\"label\":", 0), 0u) << from_file.text;
  const Outcome logits = run("predict --logits --format=json " + file + " " + image);
  EXPECT_NE(logits.text.find("\"logits\":["), std::string::npos);
  // The batch size of the file does not matter.
  expect(run("export --batch_size=4 --checkpoint_dir=" + root() + "/log --out=" + root() + "/four.rdgm"), 0, {});
  EXPECT_EQ(run("predict --format=json " + root() + "/four.rdgm " + image).text, from_file.text);
}

TEST_F(Export, WrongCallsSayWhatIsMeant) {
  const std::string file = model();
  const std::string image = glob_files(root() + "/shapes/val/*/*").front();
  expect(run("predict --image_size=8 " + file + " " + image), 2, {"--image_size has no effect with the model file"});
  expect(run("predict " + file), 2, {"no image given after the model file"});
  expect(run("predict --format=xml " + file + " " + image), 2, {"allowed: text, csv, json"});
  write_safetensors(root() + "/plain.safetensors", {{"w", Tensor::of<float>({1}, {1})}});
  expect(run("predict --weights=" + root() + "/plain.safetensors " + image), 2, {"--model is needed with --weights"});
  expect(run("export --out=" + root() + "/x.rdgm --checkpoint_dir=" + root() + "/nowhere"), 1, {"no checkpoint"});
  expect(run("export --checkpoint_dir=" + root() + "/log"), 2, {"--out"});
  expect(run("export --batch_size=0 --checkpoint_dir=" + root() + "/log --out=" + root() + "/x.rdgm"), 2,
         {"--batch_size=0"});
  expect(run("export --checkpoint_dir=" + root() + "/log --out=" + root() + "/x.onx"), 2,
         {"must end in .rdgm or .onnx"});
  expect(run("predict " + root() + "/none.rdgm " + image), 1, {"no such file: " + root() + "/none.rdgm"});
  std::filesystem::copy_file(image, root() + "/image.rdgm");
  expect(run("predict " + root() + "/image.rdgm " + image), 1, {"image.rdgm is not a model file"});
  const std::string bytes = read_file(file);
  const std::string cut = root() + "/cut.rdgm";
  write_file_atomically(cut, bytes.substr(0, bytes.size() / 2));
  expect(run("predict " + cut + " " + image), 1, {"cut.rdgm", "cut short"});
}

}  // namespace
}  // namespace ridgeline
