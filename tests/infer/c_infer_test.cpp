// Inference from C: the predictions of the predictor; status and message for every mistake.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "bindings/c/ridgeline_infer.h"
#include "ridgeline/core/bytes.h"
#include "ridgeline/core/file.h"
#include "ridgeline/data/make/make_shapes.h"
#include "ridgeline/infer/model_file.h"
#include "ridgeline/infer/predictor.h"
#include "tests/infer/support.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::infer {
namespace {

class CInfer : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string root = testing::temporary_directory() + "/c_infer";
    data::make_shapes(root, {.seed = 4, .train = 10, .val = 10});
    files_ = glob_files(root + "/val/*/*");
    model_ = drawn_model("resnet20", 3, 32);
    model_.class_names = {"one", "two"};
    path_ = root + "/m.rdgm";
    write_model(path_, model_);
    ASSERT_EQ(ridgeline_model_load(path_.c_str(), nullptr, &handle_), RIDGELINE_OK) << ridgeline_infer_last_error();
  }
  void TearDown() override { ridgeline_model_free(handle_); }

  Model model_;
  std::string path_;
  std::vector<std::string> files_;
  ridgeline_model* handle_ = nullptr;
};

TEST_F(CInfer, GivesThePredictorsNumbers) {
  ridgeline_model_info info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(ridgeline_model_describe(handle_, &info), RIDGELINE_OK);
  EXPECT_EQ(info.batch_size, 1);
  EXPECT_EQ(info.height, 32);
  EXPECT_EQ(info.channels, 3);
  EXPECT_EQ(info.classes, 3);
  EXPECT_EQ(info.dtype, RIDGELINE_U8);
  EXPECT_EQ(info.encoded, 1);

  Predictor predictor(model_);
  const Tensor pixels = drawn_pixels({5, 32, 32, 3});
  const Prediction expected = predictor.predict(pixels);
  std::vector<float> probabilities(15), logits(15);
  ASSERT_EQ(ridgeline_model_predict(handle_, pixels.raw(), 5, probabilities.data(), logits.data()), RIDGELINE_OK);
  EXPECT_EQ(std::memcmp(logits.data(), expected.logits.raw(), 60), 0);
  EXPECT_EQ(std::memcmp(probabilities.data(), expected.probabilities.raw(), 60), 0);

  std::vector<std::string> bytes;
  std::vector<const void*> images;
  std::vector<std::size_t> sizes;
  std::vector<std::span<const std::uint8_t>> spans;
  for (const std::string& file : files_) bytes.push_back(read_file(file));
  for (const std::string& one : bytes) images.push_back(one.data()), sizes.push_back(one.size());
  for (const std::string& one : bytes) spans.push_back(as_bytes(one));
  std::vector<float> encoded(30);
  ASSERT_EQ(ridgeline_model_predict_encoded(handle_, images.data(), sizes.data(), 10, nullptr, encoded.data()),
            RIDGELINE_OK);
  EXPECT_EQ(std::memcmp(encoded.data(), predictor.predict(spans).logits.raw(), 120), 0);

  char name[8];
  size_t size = 0;
  EXPECT_EQ(ridgeline_model_class_name(handle_, 1, name, sizeof name, &size), RIDGELINE_OK);
  EXPECT_STREQ(name, "two");
  EXPECT_EQ(ridgeline_model_class_name(handle_, 2, name, sizeof name, &size), RIDGELINE_OK);
  EXPECT_STREQ(name, "");
}

TEST_F(CInfer, CallersTakeTurns) {
  const Tensor pixels = drawn_pixels({4, 32, 32, 3});
  std::vector<float> expected(12);
  ASSERT_EQ(ridgeline_model_predict(handle_, pixels.raw(), 4, nullptr, expected.data()), RIDGELINE_OK);
  std::vector<std::vector<float>> found(3, std::vector<float>(12));
  std::vector<std::thread> threads;
  for (auto& mine : found) {
    threads.emplace_back([&] { ridgeline_model_predict(handle_, pixels.raw(), 4, nullptr, mine.data()); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& mine : found) EXPECT_EQ(mine, expected);
}

TEST_F(CInfer, WhatIsWrongIsSaid) {
  const auto said = [](ridgeline_status status, ridgeline_status wanted, const std::string& words) {
    EXPECT_EQ(status, wanted) << words;
    EXPECT_NE(std::string(ridgeline_infer_last_error()).find(words), std::string::npos) << ridgeline_infer_last_error();
  };
  ridgeline_model* other = nullptr;
  said(ridgeline_model_load("/nowhere.rdgm", nullptr, &other), RIDGELINE_FAILURE, "/nowhere.rdgm");
  said(ridgeline_model_load(nullptr, nullptr, &other), RIDGELINE_USAGE, "path is NULL");
  ridgeline_model_options options;
  ASSERT_EQ(ridgeline_model_options_init(&options), RIDGELINE_OK);
  options.batch_size = -1;
  said(ridgeline_model_load(path_.c_str(), &options, &other), RIDGELINE_USAGE, "batch_size");
  options.struct_size = 0;
  said(ridgeline_model_load(path_.c_str(), &options, &other), RIDGELINE_USAGE, "ridgeline_model_options_init");
  EXPECT_EQ(other, nullptr);
  const char text[] = "no image";
  const void* images[] = {text};
  const std::size_t sizes[] = {sizeof text};
  float numbers[3];
  said(ridgeline_model_predict_encoded(handle_, images, sizes, 1, numbers, nullptr), RIDGELINE_FAILURE, "image 0: ");
  said(ridgeline_model_predict_encoded(handle_, nullptr, sizes, 1, numbers, nullptr), RIDGELINE_USAGE,
       "images is NULL");
  said(ridgeline_model_predict(handle_, nullptr, 1, numbers, nullptr), RIDGELINE_USAGE, "images is NULL");
  said(ridgeline_model_predict(handle_, text, -1, numbers, nullptr), RIDGELINE_USAGE, "rows is -1");
  said(ridgeline_model_class_name(handle_, 3, nullptr, 0, nullptr), RIDGELINE_USAGE, "no class has the label 3");
  ASSERT_EQ(ridgeline_model_load(path_.c_str(), nullptr, &other), RIDGELINE_OK);
  ASSERT_EQ(ridgeline_model_free(other), RIDGELINE_OK);
  said(ridgeline_model_free(other), RIDGELINE_USAGE, "the model has been freed");
  said(ridgeline_model_predict(reinterpret_cast<ridgeline_model*>(8), text, 1, numbers, nullptr), RIDGELINE_USAGE,
       "no handle that this library gave");
}

TEST_F(CInfer, ADamagedFileIsRefusedByItsName) {
  const std::string whole = read_file(path_), damaged = path_ + ".damaged";
  const auto refused = [&](const std::string& bytes) {
    write_file_atomically(damaged, bytes);
    ridgeline_model* model = nullptr;
    const ridgeline_status status = ridgeline_model_load(damaged.c_str(), nullptr, &model);
    if (status == RIDGELINE_OK) return ridgeline_model_free(model), false;
    EXPECT_EQ(status, RIDGELINE_FAILURE);
    EXPECT_EQ(model, nullptr);
    const std::string text = ridgeline_infer_last_error();
    EXPECT_NE(text.find(damaged), std::string::npos) << text;
    return true;
  };
  EXPECT_FALSE(refused(whole));
  SampleRandom random(philox_key(5, "damage"), 0, 0);
  const auto below = [&](std::size_t n) {
    return static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(n) - 1));
  };
  for (int i = 0; i < 60; ++i) {
    const std::size_t size = below(whole.size());
    EXPECT_TRUE(refused(whole.substr(0, size))) << "the first " << size << " of " << whole.size() << " bytes";
    const std::size_t byte = i % 2 == 0 ? below(4096) : below(whole.size());
    std::string flipped = whole;
    flipped[byte] = static_cast<char>(flipped[byte] ^ (1 << below(8)));
    if (refused(flipped)) continue;
    // Bytes that only fill a page belong to nothing.
    EXPECT_EQ(whole[byte], 0) << "byte " << byte;
  }
}

TEST_F(CInfer, TheExampleNamesWhatItSees) {
  const testing::Outcome outcome =
      testing::run_shell(std::string(RIDGELINE_C_CLASSIFY) + " " + path_ + " " + files_[0] + " " + files_[1]);
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  Predictor predictor(model_);
  const ClassProbability best = predictor.predict_file(files_[0]).front();
  char probability[16];
  std::snprintf(probability, sizeof probability, "%.4f", best.probability);
  EXPECT_EQ(outcome.text.rfind(
                files_[0] + "\t" + std::to_string(best.label) + "\t" + best.name + "\t" + probability + "\n", 0),
            0u)
      << outcome.text;
  EXPECT_NE(outcome.text.find(files_[1] + "\t"), std::string::npos);
  EXPECT_EQ(testing::run_shell(std::string(RIDGELINE_C_CLASSIFY) + " " + files_[0] + " " + files_[1]).code, 1);
}

}  // namespace
}  // namespace ridgeline::infer
