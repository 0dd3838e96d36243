// Samples that cannot be made: raise, skip, replace, the budget and the quarantine list.
#include "helpers.h"
#include "ridgeline/format/text/json_lines.h"

namespace ridgeline::data::testing {
namespace {

// Twelve images; the given ones are truncated in the middle.
std::string folder_with_bad(const std::string& dir, const std::vector<int>& bad) {
  write_folders(dir, 1, 12);
  for (const int i : bad) {
    const std::string path = dir + "/class_a/" + std::to_string(100 + i) + ".jpg";
    std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  }
  return dir;
}

Dataset training(const std::string& dir) {
  return ImageFolder(dir).shuffle().map(RandomResizedCrop(12), RandomHorizontalFlip()).batch(4).with_seed(2);
}

std::uint64_t row_digest(const Batch& batch, std::int64_t row) {
  const std::size_t bytes = batch.image().byte_size() / static_cast<std::size_t>(batch.rows());
  return hash64({static_cast<const char*>(batch.image().raw()) + static_cast<std::size_t>(row) * bytes, bytes});
}

// {record, digest} of every row of three epochs; record -1 where mask is 0.
std::vector<std::pair<std::int64_t, std::uint64_t>> rows_of(const Dataset& data, const IteratorOptions& options) {
  Iterator it(data, options);
  std::vector<std::pair<std::int64_t, std::uint64_t>> rows;
  while (const auto batch = it.next()) {
    for (std::int64_t i = 0; i < batch->samples(); ++i) {
      const bool real = batch->mask().data<std::uint8_t>()[i] != 0;
      rows.emplace_back(real ? static_cast<std::int64_t>(batch->records()[static_cast<std::size_t>(i)]) : -1,
                        row_digest(*batch, i));
    }
  }
  return rows;
}

TEST(BadSamples, SkippedAndReplacedOnesMoveNoOther) {
  const TempDir dir;
  const Dataset good = training(folder_with_bad(dir / "good", {}));
  // A crop may lie above the point at which a file is cut: only what the decoder cannot decode is bad.
  const Dataset data = training(folder_with_bad(dir / "bad", {3, 7}));
  const auto expected = rows_of(good, {.epochs = 3, .pull = true});
  for (const BadSamplePolicy policy : {BadSamplePolicy::skip, BadSamplePolicy::replace}) {
    IteratorOptions options{.epochs = 3, .pull = true, .bad_samples = {.policy = policy}};
    const auto rows = rows_of(data, options);
    ASSERT_EQ(rows.size(), expected.size());
    int changed = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] == expected[i]) continue;
      ++changed;
      EXPECT_TRUE(expected[i].first == 3 || expected[i].first == 7) << expected[i].first;
      if (policy == BadSamplePolicy::skip) {
        EXPECT_EQ(rows[i].first, -1);
        EXPECT_EQ(rows[i].second, hash64(std::string(12 * 12 * 3, '\0')));
      } else {
        EXPECT_TRUE(rows[i].first >= 0 && rows[i].first != 3 && rows[i].first != 7);
      }
    }
    EXPECT_GE(changed, 2);
    for (const int workers : {1, 2, 7}) {
      options.pull = false;
      options.workers = workers;
      EXPECT_EQ(rows_of(data, options), rows);
    }
  }
  EXPECT_ERROR(rows_of(data, {.epochs = 3}), "/class_a/10");
}

TEST(BadSamples, AreCountedAndListedInTheOrderOfDelivery) {
  const TempDir dir;
  const Dataset data = ImageFolder(folder_with_bad(dir / "bad", {1, 6, 10})).map(Resize({8, 8})).batch(4);
  Iterator it(data, {.workers = 3,
                     .epochs = 2,
                     .bad_samples = {.policy = BadSamplePolicy::skip, .quarantine = dir / "quarantine.jsonl"}});
  std::vector<std::int64_t> counts;
  while (it.next()) counts.push_back(it.bad_samples());
  EXPECT_EQ(counts, (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(it.stats().bad_samples, 6);
  const auto lines = read_json_lines(dir / "quarantine.jsonl");
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(std::get<std::int64_t>(lines[1].at("batch")), 1);
  EXPECT_EQ(std::get<std::int64_t>(lines[1].at("row")), 2);
  EXPECT_EQ(std::get<std::int64_t>(lines[4].at("epoch")), 1);
  EXPECT_NE(std::get<std::string>(lines[1].at("origin")).find("/class_a/106.jpg"), std::string::npos);
  EXPECT_EQ(std::get<std::string>(lines[1].at("op")), "decode");
  EXPECT_NE(std::get<std::string>(lines[1].at("reason")).find("106.jpg"), std::string::npos);
}

TEST(BadSamples, BeyondTheBudgetTheyEndTheRunAtTheSamePlace) {
  const TempDir dir;
  const Dataset data = ImageFolder(folder_with_bad(dir / "bad", {1, 6, 10})).map(Resize({8, 8})).batch(4);
  for (const int workers : {1, 4}) {
    Iterator it(data, {.workers = workers, .bad_samples = {.policy = BadSamplePolicy::skip, .budget = 2}});
    EXPECT_TRUE(it.next() && it.next());
    EXPECT_ERROR(it.next(), "more than 2 bad samples, the last one: ");
    EXPECT_ERROR(it.next(), "more than 2 bad samples, the last one: ");
  }
}

TEST(BadSamples, WhereNothingIsGoodReplacingGivesUp) {
  const TempDir dir;
  const Dataset data =
      ImageFolder(folder_with_bad(dir / "bad", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})).map(Resize({8, 8})).batch(4);
  Iterator it(data, {.bad_samples = {.policy = BadSamplePolicy::replace}});
  EXPECT_ERROR(it.next(), ".jpg");
  EXPECT_EQ(parse_bad_sample_policy("skip"), BadSamplePolicy::skip);
  EXPECT_ERROR(parse_bad_sample_policy("skipp"), "unknown bad_samples 'skipp': did you mean 'skip'?");
}

TEST(BadSamples, ThatFailAFilterAreMetWhereTheyAreMade) {
  const TempDir dir;
  const Dataset data = ImageFolder(folder_with_bad(dir / "bad", {5})).map(Resize({8, 8}));
  register_predicate("any image", [](const Tensor&) { return true; });
  Iterator it(data.filter(passes("image", "any image")).batch(12), {.bad_samples = {.policy = BadSamplePolicy::skip}});
  const auto batch = it.next();
  EXPECT_EQ(batch->samples(), 12);
  EXPECT_EQ(batch->mask().data<std::uint8_t>()[5], 0);
  EXPECT_EQ(it.bad_samples(), 1);
}

TEST(BadSamples, AreReplacedBelowAFilterToo) {
  const TempDir dir;
  const Dataset data = ImageFolder(folder_with_bad(dir / "bad", {5})).map(Resize({8, 8}));
  register_predicate("any image at all", [](const Tensor&) { return true; });
  Iterator it(data.filter(passes("image", "any image at all")).batch(12),
              {.bad_samples = {.policy = BadSamplePolicy::replace}});
  const auto batch = it.next();
  for (int i = 0; i < 12; ++i) EXPECT_EQ(batch->mask().data<std::uint8_t>()[i], 1);
  EXPECT_EQ(it.bad_samples(), 1);
}

TEST(BadSamples, WhereNothingCanTakeThePlaceTheErrorSaysHowOftenItWasTried) {
  const TempDir dir;
  const Dataset data = training(folder_with_bad(dir / "bad", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  Iterator it(data, {.workers = 1, .bad_samples = {.policy = BadSamplePolicy::replace}});
  EXPECT_ERROR(it.next(), "16 attempts failed to find a sample in the place of a bad one, the last: ");
}

}  // namespace
}  // namespace ridgeline::data::testing
