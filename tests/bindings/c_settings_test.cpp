// Iterator settings without a field in the C interface can be given by name.
#include <string>

#include "bindings/c/ridgeline_data.h"
#include "tests/data/helpers.h"

namespace ridgeline::data::testing {
namespace {

struct CSettings : ::testing::Test {
  ~CSettings() override { EXPECT_EQ(ridgeline_dataset_free(dataset), RIDGELINE_OK); }

  // The number of batches until the end; -1 without an iterator (see ridgeline_last_error()).
  int batches_with(const std::string& settings) const {
    ridgeline_options options;
    EXPECT_EQ(ridgeline_options_init(&options), RIDGELINE_OK);
    options.settings = settings.empty() ? nullptr : settings.c_str();
    ridgeline_iterator* it = nullptr;
    if (ridgeline_iterator_create(dataset, &options, &it) != RIDGELINE_OK) return -1;
    int batches = 0;
    ridgeline_batch* batch = nullptr;
    for (; ridgeline_iterator_next(it, -1, &batch) == RIDGELINE_OK; ++batches)
      EXPECT_EQ(ridgeline_batch_free(batch), RIDGELINE_OK);
    EXPECT_EQ(ridgeline_iterator_free(it), RIDGELINE_OK);
    return batches;
  }
  static ridgeline_dataset* made(const std::string& json) {
    ridgeline_dataset* dataset = nullptr;
    EXPECT_EQ(ridgeline_dataset_from_json(json.c_str(), &dataset), RIDGELINE_OK) << ridgeline_last_error();
    return dataset;
  }

  TempDir dir;
  ridgeline_dataset* dataset =
      made(ImageFolder(write_folders(dir / "train", 2, 6)).shuffle().map(RandomResizedCrop(16)).batch(4).to_json());
};

TEST_F(CSettings, ComeAsJsonAndCountInThePlaceOfFields) {
  EXPECT_EQ(batches_with(""), 3);
  EXPECT_EQ(batches_with(R"({"epochs": 2, "workers": 2, "seed": null})"), 6);
  const std::string indices = dir / "indices";
  EXPECT_EQ(batches_with(R"({"epochs": 2, "jpeg_index_directory": ")" + indices + R"("})"), 6);
  EXPECT_TRUE(std::filesystem::is_directory(indices)) << "the setting reached the engine";
}

TEST_F(CSettings, WhatDoesNotFitIsAWrongCallThatSaysWhy) {
  const auto refused = [&](const std::string& settings, const std::string& part) {
    EXPECT_EQ(batches_with(settings), -1) << settings;
    EXPECT_NE(std::string(ridgeline_last_error()).find(part), std::string::npos) << ridgeline_last_error();
  };
  refused(R"({"jpeg_index_disc": 0})", "did you mean 'jpeg_index_disk'");
  refused(R"({"slots": "many"})", "slots must be a whole number");
  refused(R"({"slots": -1})", "slots is -1");
  refused(R"({"workers": 1.5})", "workers cannot be 1.5");
  refused("[]", "options.settings is no JSON object");
}

TEST_F(CSettings, AreAllToldWithTheirDefaults) {
  std::size_t size = 0;
  EXPECT_EQ(ridgeline_iterator_settings(nullptr, 0, &size), RIDGELINE_OK);
  std::string all(size + 1, ' ');
  EXPECT_EQ(ridgeline_iterator_settings(all.data(), all.size(), &size), RIDGELINE_OK);
  for (const char* name : {"jpeg_index_directory", "jpeg_index_disk", "workers", "start", "bad_samples"})
    EXPECT_NE(all.find("{\"name\":\"" + std::string(name) + "\""), std::string::npos) << name;
  EXPECT_NE(all.find("\"default\":\"raise\""), std::string::npos);
}

}  // namespace
}  // namespace ridgeline::data::testing
