// Checkpoints: equal runs give equal bytes, damaged files are skipped and reported, a failed save loses nothing.
#include "ridgeline/train/checkpoint/checkpoint.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"

namespace ridgeline::train {
namespace {

namespace fs = std::filesystem;

class Checkpoint : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "/ridgeline_checkpoint_" +
                 ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }

  static CheckpointInfo information(std::int64_t step) {
    CheckpointInfo info;
    info.model = "alexnet";
    info.classifier = ClassifierInfo{.num_classes = 10, .image_size = 64, .class_names = {"cat", "dog"}};
    info.step = step;
    info.steps_per_epoch = 4;
    info.seed = 1;
    info.settings = RunSettings{
        .values = {{"data", std::string("class folders")}, {"records", std::int64_t{40}}, {"lr", 0.1}, {"flip", true}}};
    return info;
  }
  std::string save(std::int64_t step, std::int64_t keep = 5) const {
    return save_checkpoint(directory_, information(step), {{"w", Tensor::of<float>({1, 2, 3}, {3})}}, {.newest = keep});
  }

  std::string directory_;
};

TEST_F(Checkpoint, RoundTripsWithEverythingThatDefinesTheRun) {
  save(8);
  const LoadedCheckpoint loaded = load_checkpoint(list_checkpoints(directory_).front());
  EXPECT_EQ(loaded.info.model, "alexnet");
  EXPECT_EQ(loaded.info.step, 8);
  EXPECT_EQ(loaded.info.epoch(), 2.0);
  EXPECT_EQ(loaded.info.classifier->class_names, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(loaded.tensors.tensor("w").at(2), 3.0);
  ASSERT_TRUE(loaded.info.settings.has_value());
  EXPECT_EQ(*loaded.info.settings, *information(8).settings);
  EXPECT_EQ(read_file(directory_ + "/checkpoint"), "model_checkpoint_path: \"model.ckpt-8.safetensors\"\n");
}

TEST_F(Checkpoint, EqualRunsGiveEqualBytes) {
  const std::string first = read_file(save(3));
  EXPECT_EQ(read_file(save(3)), first);
}

TEST_F(Checkpoint, KeepsTheNewestAndListsThemByStep) {
  for (std::int64_t step : {2, 4, 6, 10, 100}) save(step, 3);
  std::vector<std::int64_t> steps;
  for (const CheckpointFile& file : list_checkpoints(directory_)) steps.push_back(file.step);
  EXPECT_EQ(steps, (std::vector<std::int64_t>{6, 10, 100}));
  EXPECT_FALSE(fs::exists(directory_ + "/model.ckpt-2.json"));
}

TEST_F(Checkpoint, FallsBackToTheNewestWholeFileAndSaysSo) {
  save(2);
  const std::string newest = save(4);
  const std::string whole = read_file(newest);
  for (std::size_t size : {std::size_t{0}, std::size_t{7}, whole.size() / 2, whole.size() - 1}) {
    std::ofstream(newest, std::ios::binary | std::ios::trunc).write(whole.data(), static_cast<std::streamsize>(size));
    std::vector<std::string> warnings;
    const auto loaded = load_newest(directory_, [&](std::string text) { warnings.push_back(std::move(text)); });
    ASSERT_TRUE(loaded.has_value());
    EXPECT_EQ(loaded->info.step, 2);
    ASSERT_EQ(warnings.size(), 1u) << size;
    EXPECT_NE(warnings[0].find("model.ckpt-4"), std::string::npos);
  }
}

TEST_F(Checkpoint, AFlippedBitAnywhereIsFound) {
  const std::string path = save(2);
  const std::string whole = read_file(path);
  const CheckpointFile file = list_checkpoints(directory_).front();
  const std::size_t data = whole.size() - 3 * sizeof(float);
  const std::size_t padding = whole.rfind('}', data) + 1;  // spaces before the data, which have no meaning
  for (std::size_t byte = 0; byte < whole.size(); ++byte) {
    if (byte >= padding && byte < data) continue;
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = whole;
      flipped[byte] = static_cast<char>(flipped[byte] ^ (1 << bit));
      std::ofstream(path, std::ios::binary | std::ios::trunc) << flipped;
      EXPECT_THROW(load_checkpoint(file), Error) << "bit " << bit << " of byte " << byte;
    }
  }
}

TEST_F(Checkpoint, ADamagedTensorIsPassedOverLikeAFileCutShort) {
  save(2);
  const std::string newest = save(4);
  std::string bytes = read_file(newest);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  std::ofstream(newest, std::ios::binary | std::ios::trunc) << bytes;
  std::string warning;
  EXPECT_EQ(load_newest(directory_, [&](const std::string& text) { warning = text; })->info.step, 2);
  EXPECT_NE(warning.find("model.ckpt-4"), std::string::npos) << warning;
  EXPECT_NE(warning.find("checksum"), std::string::npos) << warning;
}

TEST_F(Checkpoint, BracketsWithoutEndAreRefused) {
  std::string text = information(1).to_json();
  const std::string empty = "\"data_state\":null";
  text.replace(text.find(empty) + empty.size() - 4, 4, std::string(1'000'000, '[') + std::string(1'000'000, ']'));
  try {
    CheckpointInfo::from_json(text, "x.safetensors");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).rfind("[checkpoint] x.safetensors: its metadata nests deeper than", 0), 0u)
        << error.what();
  }
}

TEST_F(Checkpoint, WhereNoneIsWholeNobodyBeginsAnew) {
  for (std::int64_t step : {2, 4}) fs::resize_file(save(step), 100);
  int warnings = 0;
  try {
    load_newest(directory_, [&](const std::string&) { ++warnings; });
    FAIL() << "no error";
  } catch (const Error& error) {
    const std::string message = error.what();
    for (const char* word : {"no checkpoint in", "2 there", "model.ckpt-4", "cut short", "To start anew"})
      EXPECT_NE(message.find(word), std::string::npos) << message;
  }
  EXPECT_EQ(warnings, 0) << "nothing is fallen back to";
  fs::remove_all(directory_);
  EXPECT_FALSE(load_newest(directory_, [](const std::string&) {}).has_value());
}

TEST_F(Checkpoint, ALinkToNowhereIsACheckpointThatCannotBeRead) {
  fs::create_directories(directory_);
  fs::create_symlink(directory_ + "/gone", directory_ + "/model.ckpt-7.safetensors");
  EXPECT_THROW(load_newest(directory_, [](const std::string&) {}), Error);
}

TEST_F(Checkpoint, AFileUnderTheNameOfAnotherStepIsNotTaken) {
  save_checkpoint(directory_, information(3), {{"w", Tensor::of<float>({1}, {1})}}, {});
  const std::string copy = directory_ + "/" + checkpoint_name(7);
  fs::copy_file(directory_ + "/" + checkpoint_name(3), copy);
  std::string warning;
  const auto loaded = load_newest(directory_, [&](const std::string& text) { warning = text; });
  EXPECT_EQ(loaded->info.step, 3);
  EXPECT_EQ(warning, "[checkpoint] " + copy +
                         ": holds step 3, not the step of its name; falling back to the checkpoint before it");
  // A name without a step says nothing about it.
  fs::rename(copy, directory_ + "/mine.safetensors");
  EXPECT_EQ(load_checkpoint({.path = directory_ + "/mine.safetensors"}).info.step, 3);
}

TEST_F(Checkpoint, NamesThatAreNoUtf8ComeBackAsTheyWere) {
  CheckpointInfo info = information(3);
  info.classifier->class_names = {"caf\xe9", "dog", std::string("a\nb\x1b[31m\0c", 9), "\xff\xfe",
                                  "{\"base64\": \"x\"}"};
  info.classifier->class_ids = {"n1", "\xc0", "n3", "n4", "n5"};
  save_checkpoint(directory_, info, {{"w", Tensor::of<float>({1}, {1})}}, {});
  const LoadedCheckpoint loaded = load_checkpoint(list_checkpoints(directory_).front());
  EXPECT_EQ(loaded.info.classifier->class_names, info.classifier->class_names);
  EXPECT_EQ(loaded.info.classifier->class_ids, info.classifier->class_ids);
}

// The exact bytes of version 1 of the format.
TEST_F(Checkpoint, FilesWithoutChecksumAndSettingsLoad) {
  fs::create_directories(directory_);
  const std::string old =
      R"({"class_names":["cat"],"data_state":null,"final_relu":true,"format_version":1,"image_size":64,"init":"xavier",)"
      R"("label_base":1,"model":"alexnet","num_classes":10,"plan":"default","seed":7,"step":5,"steps_per_epoch":2})";
  write_safetensors(directory_ + "/model.ckpt-5.safetensors", {{"w", Tensor::of<float>({1}, {1})}},
                    {{"ridgeline", old}});
  const auto loaded = load_newest(directory_, [](const std::string&) {});
  ASSERT_TRUE(loaded.has_value());
  EXPECT_EQ(loaded->info.classifier->init, "xavier");
  EXPECT_EQ(loaded->info.classifier->label_base, 1);
  EXPECT_FALSE(loaded->info.settings.has_value());
}

TEST_F(Checkpoint, AFormatOfTheFutureIsSaid) {
  fs::create_directories(directory_);
  write_safetensors(directory_ + "/model.ckpt-5.safetensors", {{"w", Tensor::of<float>({1}, {1})}},
                    {{"ridgeline", R"({"format_version":3})"}});
  try {
    load_checkpoint(list_checkpoints(directory_).front());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("format version 3, this program reads 1 to 2"), std::string::npos)
        << error.what();
  }
}

TEST_F(Checkpoint, AFullDiskLeavesTheOldOnesAndNoTemporaryFile) {
  save(2);
  const std::string before = read_file(directory_ + "/model.ckpt-2.safetensors");
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  const rlimit small{64, old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  std::string message;
  try {
    save(4);
  } catch (const Error& error) {
    message = error.what();
  }
  setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_NE(message.find("model.ckpt-4.safetensors"), std::string::npos) << message;
  EXPECT_EQ(read_file(directory_ + "/model.ckpt-2.safetensors"), before);
  EXPECT_EQ(read_file(directory_ + "/checkpoint"), "model_checkpoint_path: \"model.ckpt-2.safetensors\"\n");
  EXPECT_EQ(list_checkpoints(directory_).size(), 1u);
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_), fs::directory_iterator()),
            3);  // file, information, pointer
}

TEST_F(Checkpoint, WeightsOfAnotherProgramAreNoCheckpoint) {
  fs::create_directories(directory_);
  write_safetensors(directory_ + "/model.ckpt-1.safetensors", {{"w", Tensor::of<float>({1}, {1})}});
  EXPECT_THROW(load_checkpoint(list_checkpoints(directory_).front()), Error);
}

}  // namespace
}  // namespace ridgeline::train
