// Cached rows: the same rows, computed once; in memory, then in a file that later runs use.
#include <sys/resource.h>

#include <atomic>
#include <csignal>

#include "helpers.h"
#include "ridgeline/core/file.h"
#include "ridgeline/format/record/packed.h"

namespace ridgeline::data::testing {
namespace {

std::atomic<int>& calls() {
  static std::atomic<int> count{0};
  static const bool registered = [] {
    const auto counted = [](const Tensor& x) {
      ++count;
      return x.clone();
    };
    register_function("counted", counted, 1);
    return true;
  }();
  (void)registered;
  return count;
}

Dataset counted(const std::string& dir, CacheOptions options, bool cached = true) {
  Dataset data = ImageFolder(dir).map(Resize({12, 10})).map(Function("counted"));
  if (cached) data = data.cache(std::move(options));
  return data.shuffle().map(RandomHorizontalFlip()).batch(4).with_seed(3);
}

TEST(Cache, GivesTheSameSamplesAndMakesEachRowOnce) {
  const TempDir dir;
  const std::string folder = write_folders(dir / "train", 2, 7);
  calls() = 0;
  Iterator plain(counted(folder, {}, false), {.epochs = 3, .pull = true});
  const std::uint64_t expected = digest(plain);
  for (const int workers : {1, 3}) {
    calls() = 0;
    Iterator it(counted(folder, {}), {.workers = workers, .epochs = 3});
    EXPECT_EQ(digest(it), expected);
    EXPECT_EQ(calls(), 14);
  }
}

TEST(Cache, WorkersThatNeedOneRowAtOnceMakeItOnce) {
  static const bool registered = [] {
    register_function("slowly counted", [](const Tensor& x) {
      ++calls();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      return x.clone();
    });
    return true;
  }();
  (void)registered;
  const Dataset rows = rows_in_memory(3).map(Function("slowly counted")).cache();
  const Dataset data = rows.sample(SubsetSampler({1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2})).batch(16);
  calls() = 0;
  Iterator it(data, {.workers = 8});
  EXPECT_TRUE(it.next());
  EXPECT_EQ(calls(), 2);
}

TEST(Cache, BeyondTheMemoryRowsAreMadeAnewOrReadFromTheFile) {
  const TempDir dir;
  const std::string folder = write_folders(dir / "train", 2, 7);
  calls() = 0;
  Iterator plain(counted(folder, {}, false), {.epochs = 3, .pull = true});
  const std::uint64_t expected = digest(plain);
  calls() = 0;
  Iterator little(counted(folder, {.memory_limit = 2000}), {.workers = 2, .epochs = 3});
  EXPECT_EQ(digest(little), expected);
  EXPECT_GT(calls(), 14);
  EXPECT_LT(calls(), 3 * 14);
  const CacheOptions filed{.memory_limit = 0, .directory = dir / "cache"};
  calls() = 0;
  {
    Iterator first(counted(folder, filed), {.workers = 2, .epochs = 3});
    EXPECT_EQ(digest(first), expected);
    EXPECT_GE(calls(), 14);  // later epochs begin before the last row of the first one is written
  }
  calls() = 0;
  Iterator later(counted(folder, filed), {.workers = 1, .epochs = 3});
  EXPECT_EQ(digest(later), expected);
  EXPECT_EQ(calls(), 0);
}

TEST(Cache, TheFileBelongsToTheGraphAndToTheData) {
  const TempDir dir;
  const std::string folder = write_folders(dir / "train", 1, 3);
  const auto files = [&] {
    return std::distance(std::filesystem::directory_iterator(dir / "cache"), std::filesystem::directory_iterator());
  };
  const auto run = [&](std::int64_t side) {
    Iterator it(
        ImageFolder(folder).map(Resize({side, side})).cache({.memory_limit = 0, .directory = dir / "cache"}).batch(3));
    return digest(it);
  };
  const std::uint64_t first = run(8);
  EXPECT_EQ(files(), 1);
  EXPECT_EQ(run(8), first);
  EXPECT_EQ(files(), 1);
  run(9);
  EXPECT_EQ(files(), 2);
  const std::vector<std::uint8_t> other = image::encode_jpeg(picture(30, 30, 99), 90);
  write_bytes(folder + "/class_a/100.jpg", other.data(), other.size());
  EXPECT_NE(run(8), first);
  EXPECT_EQ(files(), 3);
}

// Graphs refer to code by name: the version registered with it tells whether rows of an earlier run are still valid.
TEST(Cache, RowsThatTheUsersCodeMadeAreKeptByItsVersion) {
  const TempDir dir;
  static std::uint64_t edition = 1;
  const auto version = [] { return edition; };
  const auto scaled = [](const Tensor& x) { return Tensor::scalar(x.at(0) * static_cast<double>(edition)); };
  register_function("edited", scaled, CodeVersion(version));
  const Generator rows{
      .schema = {{"x", DType::f64, Shape{}}},
      .rows = 3,
      .row = [=](std::int64_t i) { return std::vector<Tensor>{scaled(Tensor::scalar(static_cast<double>(i)))}; },
      .version = CodeVersion(version)};
  register_generator("edited", rows);
  const Dataset numbers = InMemory({{"x", Tensor::of<double>({0, 1, 2}, Shape{3})}});
  const std::vector<Dataset> all{numbers.map_columns({"x"}, {Function("edited")}),
                                 numbers.map_columns({"x"}, {Compose({Function("edited"), Function("edited")})}),
                                 FromGenerator("edited")};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const CacheOptions kept{.directory = dir / std::to_string(i)};
    const auto last = [&] {
      Iterator it(all[i].cache(kept).batch(3), {.pull = true});
      return it.next()->column("x").at(2);
    };
    edition = 1;
    EXPECT_EQ(last(), 2);
    edition = 5;
    EXPECT_EQ(last(), i == 1 ? 50 : 10);
    edition = 1;
    EXPECT_EQ(last(), 2);
  }

  register_function("without version", [](const Tensor& x) { return x.clone(); });
  register_generator("without version", {.schema = rows.schema, .rows = 3, .row = rows.row});
  for (const Dataset& code :
       {numbers.map_columns({"x"}, {Function("without version")}), FromGenerator("without version")}) {
    EXPECT_ERROR(Iterator(code.cache({.directory = dir / "none"}).batch(3)),
                 "was registered without a version: give one");
    EXPECT_EQ(Iterator(code.cache().batch(3), {.pull = true}).next()->rows(), 3) << "in memory nothing outlives a run";
  }
}

TEST(Cache, EveryRankReadsItsOwnRows) {
  const TempDir dir;
  const Dataset folder = ImageFolder(write_folders(dir / "train", 2, 5));
  const auto part = [&](bool sampler, std::int64_t rank) {
    return sampler ? folder.sample(DistributedSampler(2, rank, {.shuffle = false})) : folder.shard(2, rank);
  };
  for (const bool sampler : {false, true}) {
    for (const std::int64_t rank : {0, 1, 0}) {
      const Dataset rows = part(sampler, rank).map(Resize({8, 8}));
      Iterator plain(rows.batch(4), {.pull = true});
      Iterator cached(rows.cache({.memory_limit = 0, .directory = dir / "cache"}).batch(4), {.pull = true});
      EXPECT_EQ(digest(cached), digest(plain)) << rank;
    }
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir / "cache"), {}), 4);
}

TEST(Cache, ABatchInTheMiddleOfTheFirstEpochLeavesNoFile) {
  const TempDir dir;
  const std::string folder = write_folders(dir / "train", 2, 8);
  {
    Iterator it(ImageFolder(folder).map(Resize({8, 8})).cache({.directory = dir / "cache"}).batch(2), {.pull = true});
    EXPECT_TRUE(it.next().has_value());
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir / "cache"));
  EXPECT_ERROR(Iterator(rows_in_memory(5).repeat().cache().batch(2)), "[cache]");
  EXPECT_ERROR(Iterator(rows_in_memory(5).map(RandomInvert()).cache().batch(2)),
               "'random_invert' of 'map_1' draws random numbers");
  EXPECT_ERROR(Iterator(rows_in_memory(5).map(Compose({RandomInvert()})).take(3).cache().batch(2)),
               "'compose' of 'map_1' draws random numbers");
  EXPECT_ERROR(Iterator(rows_in_memory(5).shuffle().cache().batch(2)),
               "'shuffle_1' (shuffle) gives other rows in every epoch");
  EXPECT_EQ(rows_in_memory(5).map(Compose({Invert()})).cache().batch(2).size(), 3);
}

std::string only_file(const std::string& directory) {
  const std::vector<std::string> files = glob_files(directory + "/cache-*.ridge");
  EXPECT_EQ(files.size(), 1u);
  return files.empty() ? "" : files[0];
}

// The rows of one run, how many of them it computes, and its warnings.
struct CachedRun {
  std::uint64_t digest = 0;
  int made = 0;
  std::string warnings;
};

CachedRun run_cached(const std::string& folder, const std::string& directory, std::int64_t memory_limit = 0) {
  CachedRun run;
  Log log;
  calls() = 0;
  ::testing::internal::CaptureStderr();
  {
    Iterator it(counted(folder, {.memory_limit = memory_limit, .directory = directory}),
                {.workers = 1, .epochs = 2, .log = &log});
    run.digest = digest(it);
  }
  run.warnings = ::testing::internal::GetCapturedStderr();
  run.made = calls();
  return run;
}

TEST(Cache, ADamagedFileIsMadeAnewWithAWarning) {
  const TempDir dir;
  const std::string folder = write_folders(dir / "train", 2, 7);
  const std::uint64_t expected = run_cached(folder, dir / "cache").digest;
  const std::string path = only_file(dir / "cache"), whole = read_file(path);
  std::string flipped = whole;
  flipped[70] ^= 1;  // in the schema
  for (const std::string& damaged :
       {flipped, whole.substr(0, whole.size() / 2), std::string(), std::string(2000, '\0'), whole + "more"}) {
    write_file_atomically(path, damaged);
    const CachedRun again = run_cached(folder, dir / "cache");
    EXPECT_EQ(again.digest, expected);
    EXPECT_GE(again.made, 14);
    EXPECT_NE(again.warnings.find("the cache makes its file anew: [packed] " + path), std::string::npos)
        << again.warnings;
    EXPECT_EQ(only_file(dir / "cache"), path);
    const CachedRun last = run_cached(folder, dir / "cache");
    EXPECT_EQ(last.digest, expected);
    EXPECT_EQ(last.made, 0) << "the new file is whole";
    EXPECT_EQ(last.warnings, "");
  }
}

TEST(Cache, ADamagedRowIsMadeAgainAndTheNextRunMakesTheFile) {
  const TempDir dir;
  const std::string folder = write_folders(dir / "train", 2, 7);
  const std::uint64_t expected = run_cached(folder, dir / "cache").digest;
  const std::string path = only_file(dir / "cache"), whole = read_file(path);
  for (const std::int64_t memory : {0, 1 << 20}) {
    write_file_atomically(path, whole);
    const PackedFile file(path);
    std::string damaged = whole;
    damaged[file.offset(3) + 100] ^= 1;
    damaged[file.offset(9) + 100] ^= 1;
    write_file_atomically(path, damaged);
    const CachedRun again = run_cached(folder, dir / "cache", memory);
    EXPECT_EQ(again.digest, expected);
    EXPECT_EQ(again.made, memory > 0 ? 2 : 4) << "two rows, in both epochs where no memory keeps them";
    EXPECT_NE(again.warnings.find("the cache removes its file"), std::string::npos) << again.warnings;
    EXPECT_EQ(again.warnings.find("the cache"), again.warnings.rfind("the cache")) << "said once: " << again.warnings;
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_EQ(run_cached(folder, dir / "cache").warnings, "");
    EXPECT_EQ(run_cached(folder, dir / "cache").made, 0);
  }
}

TEST(Cache, AFolderThatCannotBeMadeIsAnError) {
  calls() = 0;
  const TempDir dir;
  write_file_atomically(dir / "file", "");
  const std::string folder = write_folders(dir / "train", 1, 3);
  EXPECT_ERROR(Iterator(counted(folder, {.directory = dir / "file"})),
               "cannot make the directory " + (dir / "file") + ": Not a directory");
}

TEST(Cache, WithoutRoomForItsFileLosesNoRow) {
  calls() = 0;
  const TempDir dir;
  const std::string folder = write_folders(dir / "train", 2, 7);
  Iterator plain(counted(folder, {}, false), {.epochs = 2, .pull = true});
  const std::uint64_t expected = digest(plain);
  // A limit of 1,500 bytes on file sizes imitates a full disk.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1'500, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  calls() = 0;
  std::uint64_t got = 0;
  std::string log;
  {
    Log warnings;
    ::testing::internal::CaptureStderr();
    Iterator it(counted(folder, {.directory = dir / "cache"}),
                {.workers = 1, .epochs = 2, .bad_samples = {.policy = BadSamplePolicy::skip}, .log = &warnings});
    got = digest(it);
    EXPECT_EQ(it.bad_samples(), 0);
    log = ::testing::internal::GetCapturedStderr();
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(got, expected);
  EXPECT_EQ(calls(), 14) << "the memory keeps them";
  EXPECT_NE(log.find("the cache goes on without its file: cannot write "), std::string::npos) << log;
  EXPECT_TRUE(std::filesystem::is_empty(dir / "cache"));
}

}  // namespace
}  // namespace ridgeline::data::testing
