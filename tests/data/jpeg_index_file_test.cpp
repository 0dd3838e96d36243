// JPEG indices that one run stores for the next.
#include "ridgeline/data/sample/jpeg_index_file.h"

#include "helpers.h"
#include "ridgeline/core/file.h"
#include "ridgeline/data/sample/jpeg_indices.h"

namespace ridgeline::data::testing {
namespace {

Dataset crops(const std::string& folder) {
  return ImageFolder(folder).shuffle().map(RandomResizedCrop(24), RandomHorizontalFlip()).batch(5).with_seed(4);
}

struct Ran {
  std::uint64_t digest = 0;
  RunStats stats;
  std::string log;
};

Ran run(const Dataset& data, const std::string& directory, IteratorOptions options = {.workers = 2, .epochs = 2}) {
  ::testing::internal::CaptureStderr();
  Log log;
  options.jpeg_index_directory = directory;
  options.log = &log;
  Ran ran;
  {
    Iterator it(data, options);
    ran.digest = digest(it);
    ran.stats = it.stats();
  }
  ran.log = ::testing::internal::GetCapturedStderr();
  return ran;
}

std::vector<std::string> files_in(const std::string& directory) {
  std::vector<std::string> files;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(directory, none)) files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

TEST(JpegIndexFile, ASecondRunFindsTheIndicesOfTheFirst) {
  const TempDir dir;
  const std::string folder = write_folders(dir / "train", 2, 9), cache = dir / "cache";
  const Dataset data = crops(folder);
  const Ran without = run(data, "");
  EXPECT_TRUE(files_in(cache).empty());
  const Ran first = run(data, cache);
  EXPECT_EQ(first.stats.jpeg_indices_on_disk, 0);
  ASSERT_EQ(files_in(cache).size(), 1U);
  const Ran second = run(data, cache);
  EXPECT_EQ(second.stats.jpeg_indices_on_disk, 18);
  EXPECT_EQ(first.digest, without.digest);
  EXPECT_EQ(second.digest, without.digest);
  // Other transforms of the same files, in one epoch: indices with too few rows are extended.
  const Dataset whole = ImageFolder(folder).map(Resize({9, 9})).batch(4);
  const IteratorOptions once{.workers = 1, .epochs = 1};
  EXPECT_EQ(run(whole, cache, once).stats.jpeg_indices_on_disk, 18);
  EXPECT_EQ(files_in(cache).size(), 1U);
  EXPECT_EQ(run(whole, cache, once).stats.jpeg_indices, 0) << "all rows are known by now";
  EXPECT_EQ(run(whole, cache, once).digest, run(whole, "", once).digest);
}

TEST(JpegIndexFile, ADamagedFileIsRemovedAndMadeAnewWithOneWarning) {
  const TempDir dir;
  const Dataset data = crops(write_folders(dir / "train", 2, 9));
  const std::string cache = dir / "cache";
  const Ran first = run(data, cache);
  EXPECT_EQ(first.log, "");
  const std::string file = files_in(cache).at(0), good = read_file(file);
  for (const std::size_t byte : {std::size_t{3}, good.size() / 2, good.size() * 3 / 4, good.size() - 3}) {
    std::string bad = good;
    bad[byte] = static_cast<char>(bad[byte] ^ 0x55);
    write_bytes(file, bad.data(), bad.size());
    const Ran again = run(data, cache);
    EXPECT_EQ(again.digest, first.digest) << byte;
    EXPECT_NE(again.log.find(file), std::string::npos) << byte << again.log;
    // Indices read before the damage are not rewritten by this run, but by the next.
    EXPECT_EQ(run(data, cache).log, "") << byte;
    EXPECT_EQ(JpegIndexFile(file).size(), 18U) << byte;
  }
  write_bytes(file, good.data(), good.size() / 2);
  EXPECT_EQ(run(data, cache).digest, first.digest);
  run(data, cache);
  EXPECT_EQ(JpegIndexFile(file).size(), 18U);
}

TEST(JpegIndexFile, ChangedPicturesUnderTheSameNamesAreNotMistaken) {
  const TempDir dir;
  const std::string folder = write_folders(dir / "train", 1, 6, 1), cache = dir / "cache";
  run(crops(folder), cache);
  write_folders(folder, 1, 6, 77);
  EXPECT_EQ(run(crops(folder), cache).digest, run(crops(folder), "").digest);
}

TEST(JpegIndexFile, StaysWithinItsLimitAndPushesOutTheOldest) {
  const TempDir dir;
  const std::string cache = dir / "cache", a = cache + "/jpeg-a.ridge", b = cache + "/jpeg-b.ridge";
  std::vector<JpegIndexEntry> entries;
  for (std::uint64_t key = 0; key < 50; ++key) entries.emplace_back(key, std::vector<std::uint8_t>(936));
  write_jpeg_index_file({a, 20000}, entries, nullptr);
  EXPECT_EQ(JpegIndexFile(a).size(), 20U) << "1,000 bytes each";
  write_jpeg_index_file({a, 30000}, {{90, std::vector<std::uint8_t>(936)}}, nullptr);
  EXPECT_EQ(JpegIndexFile(a).size(), 21U) << "what was there stays";
  EXPECT_TRUE(JpegIndexFile(a).has(90));
  write_jpeg_index_file({b, 30000}, entries, nullptr);
  EXPECT_EQ(files_in(cache), std::vector<std::string>{b}) << "both together are too large";
}

TEST(JpegIndexFile, KeepsTheLongestIndexOfAPicture) {
  const TempDir dir;
  const std::string path = dir / "jpeg-a.ridge";
  const auto entry = [](std::uint8_t value, std::size_t size) {
    return JpegIndexEntry{7, std::vector<std::uint8_t>(size, value)};
  };
  write_jpeg_index_file({path, 30000}, {entry(1, 10), entry(2, 30), entry(3, 20)}, nullptr);
  const JpegIndexFile file(path);
  std::vector<std::uint8_t> bytes;
  ASSERT_TRUE(file.read(7, bytes));
  EXPECT_EQ(bytes, entry(2, 30).second);
  EXPECT_FALSE(file.read(8, bytes));
}

TEST(JpegIndexFile, SmallRunsLeaveNothingInTheUsersCache) {
  const TempDir dir;
  const std::string before = ::getenv("XDG_CACHE_HOME") ? ::getenv("XDG_CACHE_HOME") : "";
  ::setenv("XDG_CACHE_HOME", (dir / "cache").c_str(), 1);
  {
    Iterator it(crops(write_folders(dir / "train", 1, 6)), {.workers = 1, .epochs = 2});
    digest(it);
  }
  EXPECT_FALSE(std::filesystem::exists(dir / "cache"));
  if (before.empty())
    ::unsetenv("XDG_CACHE_HOME");
  else
    ::setenv("XDG_CACHE_HOME", before.c_str(), 1);
}

TEST(JpegIndexFile, ARunWithoutRoomOnTheDiskGoesOnAndSaysSo) {
  const TempDir dir;
  const Dataset data = crops(write_folders(dir / "train", 1, 6));
  write_bytes(dir / "file", "x", 1);
  const Ran ran = run(data, dir / "file/below");
  EXPECT_EQ(ran.digest, run(data, "").digest);
  EXPECT_NE(ran.log.find("JPEG indices are not kept for the next run"), std::string::npos) << ran.log;
}

}  // namespace
}  // namespace ridgeline::data::testing
