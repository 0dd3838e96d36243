// The tools of `ridgeline dataset` from the command line: output, files, exit codes and errors.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "ridgeline/core/file.h"
#include "ridgeline/data/make/make_shapes.h"
#include "ridgeline/data/make/make_tfrecord.h"
#include "ridgeline/data/standard/data_dir.h"
#include "ridgeline/data/tool/bench.h"
#include "ridgeline/format/record/packed.h"
#include "ridgeline/image/decode.h"
#include "ridgeline/train/recipe/datasets.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;

using nlohmann::json;
using testing::expect;
using testing::Outcome;

// `ridgeline dataset ARGUMENTS`.
Outcome dataset(const std::string& arguments) {
  return testing::run_shell(testing::program() + " dataset " + arguments);
}

const std::string& tools_root() {
  static const std::string path = [] {
    const std::string p = testing::temporary_directory() + "/tools";
    fs::create_directories(p);
    data::make_shapes(p + "/shapes", {.seed = 1, .train = 40, .val = 20});
    data::make_tfrecord(p + "/shapes", p + "/records", {.train_shards = 2, .validation_shards = 1});
    return p;
  }();
  return path;
}

// Shapes with one training image cut short.
std::string corrupt(const std::string& name) {
  const std::string directory = tools_root() + "/" + name;
  fs::remove_all(directory);
  fs::copy(tools_root() + "/shapes", directory, fs::copy_options::recursive);
  const std::string victim = fs::directory_iterator(directory + "/train/circle")->path();
  write_file_atomically(victim, read_file(victim).substr(0, 700));
  return directory;
}

TEST(DatasetTools, ClassFoldersWithoutPartsArePackedAsTrainingImages) {
  expect(dataset("make tfrecord --from=" + tools_root() + "/shapes/train --out=" + tools_root() + "/of_classes"), 0,
         {"40"});
  expect(dataset("inspect --data_dir=" + tools_root() + "/of_classes"), 0, {"train: 40 images in 1 file"});
}

TEST(DatasetTools, HelpNamesThemAndTheirFlags) {
  expect(dataset("make tfrecord --help"), 0, {"Usage: ridgeline dataset make tfrecord [OPTIONS]"});
  expect(dataset("--data_dir=x"), 2, {"ridgeline dataset: a subcommand is needed: make, ", "inspect"});
  expect(dataset(""), 2, {"ridgeline dataset: a subcommand is needed: make, "});
  expect(dataset("--help"), 0, {"make", "inspect", "preview", "bench", "pack", "export-json"});
  expect(dataset("bench --help"), 0, {"--data_dir", "--graph", "--hash", "--bad_samples", "--warmup"});
  expect(dataset("inspct --data_dir=x"), 2, {"unknown subcommand 'inspct' (did you mean inspect?)"});
  expect(dataset("inspect --data_dirr=x"), 2, {"unknown flag --data_dirr (did you mean --data_dir?)"});
}

TEST(DatasetTools, InspectEndsWithOneIfSomethingIsBroken) {
  const Outcome good = dataset("inspect --deep --json --data_dir=" + tools_root() + "/shapes");
  ASSERT_EQ(good.code, 0) << good.text;
  const json report = json::parse(good.text);
  EXPECT_EQ(report["broken"], 0);
  EXPECT_EQ(report["parts"][0]["records"], 40);
  EXPECT_EQ(report["parts"][1]["records"], 20);
  EXPECT_EQ(report["parts"][0]["classes"].size(), 10u);
  expect(dataset("inspect --data_dir=" + tools_root() + "/records"), 0, {"train: 40 images in 2 files (TFRecords"});

  const std::string broken = corrupt("inspected");
  const std::string list = tools_root() + "/broken.txt";
  expect(dataset("inspect --deep --data_dir=" + broken + " --list=" + list), 1,
         {"broken: 1", "train/circle/", "Premature end", "val: 20 images"});
  const std::string lines = read_file(list);
  EXPECT_TRUE(lines.starts_with("train/circle/")) << lines;
  EXPECT_NE(lines.find('\t'), std::string::npos) << lines;
  expect(dataset("inspect --data_dir=" + tools_root() + "/nowhere --list=" + list), 1, {"no such directory"});
  EXPECT_EQ(read_file(list), lines) << "a call that failed left the list as it was";
  expect(dataset("inspect --split=tset --data_dir=" + tools_root() + "/shapes"), 2, {"unknown split 'tset'"});
  expect(dataset("inspect --list=" + tools_root() + "/no/such/list --data_dir=" + tools_root() + "/shapes"), 1,
         {"/no/such"});
}

TEST(DatasetTools, BenchGivesTheNumbersAndTheSameDigestByEveryWay) {
  const std::string words = "bench --json --hash --image_size=32 --batch_size=8 --epochs=2 --data_dir=" + tools_root();
  const Outcome outcome = dataset(words + "/shapes --workers=2");
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  const json report = json::parse(outcome.text);
  EXPECT_EQ(report["batches"], 10);
  EXPECT_EQ(report["samples"], 80);
  EXPECT_EQ(report["workers"], 2);
  EXPECT_GT(report["images_per_second"], 0);
  EXPECT_EQ(report["hash"].get<std::string>().size(), 16u);
  for (const char* key : {"peak_bytes", "peak_rss_bytes", "seconds", "consumer_wait_seconds", "advice", "bad_samples",
                          "jpeg_indices", "jpeg_index_bytes"})
    EXPECT_TRUE(report.contains(key)) << key;
  ASSERT_FALSE(report["stages"].empty());
  for (const char* key : {"name", "busy_seconds", "samples", "us_per_sample", "bytes_per_second"})
    EXPECT_TRUE(report["stages"][0].contains(key)) << key;
  const auto digest = [](const Outcome& o) { return json::parse(o.text)["hash"]; };
  EXPECT_EQ(digest(dataset(words + "/shapes --pull")), report["hash"]);
  EXPECT_EQ(digest(dataset(words + "/shapes --workers=3 --memory_limit=200000")), report["hash"]);
  EXPECT_EQ(digest(dataset(words + "/shapes --autotune")), report["hash"]);
  EXPECT_NE(digest(dataset(words + "/shapes --seed=5")), report["hash"]);
  EXPECT_NE(digest(dataset(words + "/shapes --no_normalize")), report["hash"]);
  EXPECT_NE(digest(dataset(words + "/shapes --raw")), report["hash"]);
  EXPECT_NE(digest(dataset(words + "/shapes --eval")), report["hash"]);

  // The exported graph is the same graph.
  const std::string graph = tools_root() + "/graph.json";
  expect(dataset("export-json --image_size=32 --batch_size=8 --data_dir=" + tools_root() + "/shapes --out=" + graph), 0,
         {});
  EXPECT_EQ(digest(dataset("bench --json --hash --epochs=2 --graph=" + graph)), report["hash"]);
  EXPECT_EQ(digest(dataset("bench --json --hash --epochs=2 --split=train --graph=" + graph +
                           " --data_dir=" + tools_root() + "/shapes")),
            report["hash"]);
  EXPECT_NE(
      digest(dataset("bench --json --hash --epochs=2 --graph=" + graph + " --data_dir=" + tools_root() + "/records")),
      report["hash"]);
  expect(dataset("bench --image_size=32 --batch_size=8 --data_dir=" + tools_root() + "/shapes"), 0,
         {"images/s: 40 images in 5 batches", "us/sample", "memory:"});
}

TEST(DatasetTools, ExportWritesWhatTheApiWrites) {
  const std::string dir = tools_root() + "/shapes";
  const std::string words = "export-json --image_size=64 --batch_size=16 --data_dir=" + dir;
  EXPECT_EQ(dataset(words).text,
            data::ImageFolder(dir + "/train")
                    .with_seed(1)
                    .shuffle()
                    .map(data::RandomResizedCrop(64), data::RandomHorizontalFlip(), data::Normalize::imagenet())
                    .batch(16, {.drop_remainder = true})
                    .to_json(2) +
                "\n");
  EXPECT_EQ(dataset(words + " --eval").text,
            data::ImageFolder(dir + "/val")
                    .map(data::Resize(73), data::CenterCrop(64), data::Normalize::imagenet())
                    .batch(16)
                    .to_json(2) +
                "\n");
  // With a model, the graph is that of `ridgeline train`.
  train::Recipe recipe;
  recipe.data_dir = dir;
  recipe.model = "resnet20";
  recipe.batch_size = 8;
  recipe.seed = 4;
  recipe.min_area = 0.25;
  const train::RunData run = train::open_data(recipe, {.training = true, .validation = true});
  const std::string flags = " --model=resnet20 --batch_size=8 --data_dir=" + dir;
  EXPECT_EQ(dataset("export-json --seed=4 --min_area=0.25" + flags).text, run.training->to_json(2) + "\n");
  EXPECT_EQ(dataset("export-json --eval" + flags).text, run.validation->to_json(2) + "\n");
  // Shifts instead of crops.
  recipe.min_area = 0.08;
  recipe.crop_padding = 4;
  const std::string shifted = train::open_data(recipe, {.training = true}).training->to_json(2);
  EXPECT_EQ(dataset("export-json --seed=4 --crop_padding=4" + flags).text, shifted + "\n");
  EXPECT_NE(shifted.find("\"random_crop\""), std::string::npos) << shifted;
  EXPECT_EQ(shifted.find("random_resized_crop"), std::string::npos) << shifted;
  expect(dataset("export-json --eval --crop_padding=4" + flags), 2, {"--crop_padding has no effect with --eval"});
  // A policy between the crop and the flip; the step may still do the flip.
  recipe.augment = "trivial_augment_wide";
  const std::string augmented = train::open_data(recipe, {.training = true}).training->to_json(2);
  EXPECT_EQ(dataset("export-json --seed=4 --crop_padding=4 --augment=trivial_augment_wide" + flags).text,
            augmented + "\n");
  EXPECT_LT(augmented.find("\"random_crop\""), augmented.find("\"trivial_augment_wide\""));
  EXPECT_LT(augmented.find("\"trivial_augment_wide\""), augmented.find("\"random_horizontal_flip\""));
  // A rectangle erased after that, and mixed batches.
  recipe.random_erasing = 0.25;
  recipe.mixup = 0.2;
  recipe.cutmix = 1;
  const std::string mixed = train::open_data(recipe, {.training = true}).training->to_json(2);
  EXPECT_EQ(dataset("export-json --seed=4 --crop_padding=4 --augment=trivial_augment_wide --random_erasing=0.25 "
                    "--mixup=0.2 --cutmix=1" +
                    flags)
                .text,
            mixed + "\n");
  EXPECT_LT(mixed.find("\"trivial_augment_wide\""), mixed.find("\"random_erasing\""));
  EXPECT_LT(mixed.find("\"random_erasing\""), mixed.find("\"random_horizontal_flip\""));
  EXPECT_LT(mixed.find("\"one_hot\""), mixed.find("\"mixup\""));
  expect(dataset("export-json --eval --mixup=0.2" + flags), 2, {"--mixup has no effect with --eval"});
  expect(dataset("export-json --augment=randaugmen" + flags), 2,
         {"unknown augment 'randaugmen' (allowed: autoaugment"});
  expect(dataset("export-json --eval --augment=randaugment" + flags), 2, {"--augment has no effect with --eval"});
  // A model's own rule: exact resize, its own mean.
  expect(dataset("export-json --model=alexnet --eval --data_dir=" + dir), 0, {"\"size\": 128", "\"center_crop\""});
  expect(dataset("export-json --model=alexnett --data_dir=" + dir), 2, {"alexnett"});
  expect(dataset("export-json --data_dir=" + dir + " --out=" + tools_root() + "/no/such/g.json"), 1, {"/no/such"});
  expect(dataset("export-json"), 2, {"--data_dir is needed"});
  expect(dataset("export-json --batch_size=0 --data_dir=" + dir), 2, {"--batch_size=0", "1 or more"});
}

TEST(DatasetTools, GraphFilesAreCheckedAndFlagsWithoutEffectRefused) {
  const std::string graph = tools_root() + "/checked.json";
  write_file_atomically(graph, R"({"schema":"data-graph","version":1,"seed":0,"nodes":[],"outputz":[]})");
  expect(dataset("bench --graph=" + graph), 1, {"checked.json", "outputz", "outputs"});
  expect(dataset("bench --graph=" + tools_root() + "/none.json"), 1, {"none.json"});
  expect(dataset("bench --image_size=9 --graph=" + graph), 2, {"--image_size has no effect with --graph"});
  expect(dataset("bench --split=val --graph=" + graph), 2, {"--split", "--data_dir"});
  expect(dataset("bench"), 2, {"--data_dir or --graph is needed"});
  const std::string good = "bench --image_size=16 --batch_size=8 --data_dir=" + tools_root() + "/shapes";
  expect(dataset(good + " --pull --workers=2"), 2, {"--pull runs without workers"});
  expect(dataset(good + " --quarantine=x"), 2, {"--quarantine needs --bad_samples=skip or replace"});
  expect(dataset(good + " --bad_samples=ignore"), 2, {"ignore", "raise, skip, replace"});
  for (const std::string epochs : {"0", "-1"})
    expect(dataset(good + " --epochs=" + epochs), 2, {"--epochs=" + epochs, "1 or more"});
  const Outcome help = dataset("bench --help");
  EXPECT_NE(help.text.find("number of passes over the data"), std::string::npos) << help.text;
  EXPECT_EQ(help.text.find("endless"), std::string::npos) << help.text;
  expect(dataset(good + " --memory_limit=10"), 1, {"memory_limit"});
}

TEST(DatasetTools, BenchGoesOnWithoutBadSamplesOnDemand) {
  const std::string list = tools_root() + "/quarantine.jsonl";
  const std::string words =
      "bench --json --eval --split=train --image_size=16 --batch_size=8 --data_dir=" + corrupt("benched");
  expect(dataset(words), 1, {"Premature end", "circle"});
  const Outcome skipped = dataset(words + " --bad_samples=skip --quarantine=" + list);
  ASSERT_EQ(skipped.code, 0) << skipped.text;
  const json report = json::parse(skipped.text.substr(skipped.text.find('{')));
  EXPECT_EQ(report["samples"], 39);
  EXPECT_EQ(report["bad_samples"], 1);
  EXPECT_NE(read_file(list).find("train/circle/"), std::string::npos);
  expect(dataset(words + " --bad_samples=replace --bad_sample_budget=0"), 1, {"more than 0 bad samples"});
  expect(dataset(words + " --bad_samples=skip --quarantine=" + tools_root() + "/no/such/list"), 1,
         {"cannot write", "list"});
}

TEST(DatasetTools, PreviewDrawsTheSamePictureAgain) {
  const std::string words =
      "preview --image_size=48 --rows=2 --columns=3 --data_dir=" + tools_root() + "/shapes --out=";
  const std::string a = tools_root() + "/a.png", b = tools_root() + "/b.png", c = tools_root() + "/c.png",
                    d = tools_root() + "/d.jpg";
  expect(dataset(words + a), 0, {"a.png: 6 samples from 0 of epoch 0"});
  expect(dataset(words + b), 0, {});
  expect(dataset(words + c + " --epoch=1 --start=7"), 0, {"from 7 of epoch 1"});
  EXPECT_EQ(read_file(a), read_file(b));
  EXPECT_NE(read_file(a), read_file(c));
  expect(dataset(words + d + " --original"), 0, {});
  const auto size = [](const std::string& path) {
    const std::string bytes = read_file(path);
    const image::Image image = image::decode({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    return std::pair(image.height(), image.width());
  };
  EXPECT_EQ(size(a), std::pair(4 + 2 * (48 + 11 + 4), 4 + 3 * (48 + 4)));
  EXPECT_EQ(size(d), std::pair(4 + 2 * (48 + 11 + 4), 4 + 3 * (97 + 4)));
  expect(dataset(words + tools_root() + "/x.gif"), 2, {".png or .jpg"});
  expect(dataset(words + tools_root() + "/no/such/x.png"), 1, {"/no/such"});
  expect(dataset(words + a + " --start=40"), 1, {"there is no sample 40"});
  expect(dataset(words + a + " --rows=0"), 2, {"--rows=0"});
  // A small split, and one with a broken image, which is reported.
  expect(dataset("preview --eval --split=train --rows=5 --image_size=16 --data_dir=" + corrupt("previewed") +
                 " --out=" + a),
         0, {"40 samples", "1 broken", "Premature end"});
}

TEST(DatasetTools, AFullDiskBehindStandardOutputIsAFailure) {
  for (const char* tool : {"export-json", "show", "inspect"}) {
    const std::string words = std::string(" dataset ") + tool + " --data_dir=" + tools_root() + "/shapes > /dev/full";
    expect(testing::run_shell("bash -c '" + testing::program() + words + "'"), 1, {"cannot write to standard output"});
  }
}

TEST(DatasetTools, TrainingReadsWhatPackWrites) {
  const std::string dir = tools_root() + "/packed_parts";
  fs::create_directories(dir);
  const std::string train = testing::program() + " train --model=resnet20 --max_epochs=1 --batch_size=8 " +
                            "--epochs_between_evals=1 --log_dir=" + dir + "/log --data_dir=";
  expect(dataset("pack --data_dir=" + tools_root() + "/shapes --out=" + dir + "/train.ridge"), 0, {"40 images"});
  expect(dataset("show --data_dir=" + dir), 0, {"packed("});
  expect(testing::run_shell(train + dir + " --mode=train_and_evaluate"), 1,
         {"has no part 'val' (there: train as packed file)"});
  expect(dataset("pack --split=val --data_dir=" + tools_root() + "/shapes --out=" + dir + "/val.ridge"), 0,
         {"20 images"});
  expect(testing::run_shell(train + dir + " --mode=train_and_evaluate"), 0,
         {"num_training_sampels: 40", "num_evaluating_sampels: 20", "step:     5"});
  // The same samples in the same order as from the folders.
  train::Recipe recipe;
  recipe.model = "resnet20";
  recipe.batch_size = 8;
  const auto digest = [&](const std::string& from) {
    recipe.data_dir = from;
    const train::RunData run = train::open_data(recipe, {.training = true, .validation = true});
    EXPECT_EQ(run.num_classes, 10);
    EXPECT_EQ(run.classes.names.size(), 10u);
    return data::bench(*run.training, {.hash = true}).hash + data::bench(*run.validation, {.hash = true}).hash;
  };
  EXPECT_EQ(digest(dir), digest(tools_root() + "/shapes"));
}

TEST(DatasetTools, PackWritesOneFile) {
  const std::string out = tools_root() + "/train.ridge";
  const std::string words = "pack --data_dir=" + corrupt("packed") + " --out=";
  expect(dataset(words + out + " --short_side=64 --quality=90"), 0, {"39 images", "1 left out", "Premature end"});
  EXPECT_EQ(PackedFile(out).size(), 39u);
  expect(dataset(words + out), 1, {"is there already"});
  expect(dataset(words + tools_root() + "/x.ridge --quality=90"), 2, {"--quality has no effect without --short_side"});
  expect(dataset(words + tools_root() + "/x.bin"), 2, {".ridge"});
  expect(dataset("inspect --data_dir=" + tools_root()), 0, {"train: 39 images in 1 file (packed file"});
}

}  // namespace
}  // namespace ridgeline
