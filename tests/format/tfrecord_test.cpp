#include "ridgeline/format/record/tfrecord.h"

#include <thread>

#include "ridgeline/format/wire/index_cache.h"
#include "tests/support/files.h"

namespace ridgeline {
namespace {

const std::vector<std::string> kRecords{"first", "", std::string(300, 'x'), "last"};

std::string write_sample(const TempFolder& folder, const std::string& name, Compression kind = Compression::none) {
  const std::string path = folder.file(name);
  std::filesystem::remove(path);
  TFRecordWriter writer(path, kind);
  for (const std::string& r : kRecords) writer.write(r);
  EXPECT_FALSE(std::filesystem::exists(path));
  writer.close();
  EXPECT_EQ(writer.records(), kRecords.size());
  return path;
}

std::vector<std::string> read_all(const TFRecordFile& file) {
  std::vector<std::string> records;
  for (std::size_t i = 0; i < file.size(); ++i) records.push_back(record_of(file, i));
  return records;
}

// Opens and reads everything.
std::string error_of_file(const std::string& path) {
  return error_of([&] { read_all(TFRecordFile(path)); });
}

TEST(TFRecord, ReadsWhatItWritesPlainAndCompressed) {
  const TempFolder folder;
  for (const Compression kind : {Compression::none, Compression::gzip, Compression::zlib}) {
    const TFRecordFile file(write_sample(folder, "sample", kind));
    EXPECT_EQ(file.compression(), kind);
    EXPECT_EQ(read_all(file), kRecords);
    EXPECT_EQ(file.offset(1), 21u);
    EXPECT_EQ(file.length(2), 300u);
  }
}

TEST(TFRecord, EmptyFileHasNoRecords) {
  const TempFolder folder;
  TFRecordWriter(folder.file("empty")).close();
  EXPECT_EQ(TFRecordFile(folder.file("empty")).size(), 0u);
}

TEST(TFRecord, WriterThatIsNotClosedLeavesNothing) {
  const TempFolder folder;
  put_file(folder.file("kept"), "old");
  {
    TFRecordWriter writer(folder.file("kept"));
    writer.write("new");
  }
  EXPECT_EQ(read_file(folder.file("kept")), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(TFRecord, RecordStaysValidWhenTheFileMoves) {
  const TempFolder folder;
  for (const Compression kind : {Compression::none, Compression::gzip}) {
    TFRecordFile file(write_sample(folder, "sample", kind));
    std::string storage;
    const auto record = file.record(2, storage);
    const TFRecordFile moved = std::move(file);
    EXPECT_EQ(as_text(record), kRecords[2]);
    EXPECT_EQ(record_of(moved, 2), kRecords[2]);
  }
}

TEST(TFRecord, AnyThreadMayRead) {
  const TempFolder folder;
  const TFRecordFile file(write_sample(folder, "sample"));
  std::vector<std::thread> threads;
  std::array<bool, 4> right{};
  for (std::size_t t = 0; t < right.size(); ++t) {
    threads.emplace_back([&, t] { right[t] = read_all(file) == kRecords; });
  }
  for (auto& t : threads) t.join();
  for (const bool r : right) EXPECT_TRUE(r);
}

TEST(TFRecord, EveryTruncationIsNamedExceptBetweenRecords) {
  const TempFolder folder;
  const std::string whole = read_file(write_sample(folder, "sample"));
  const std::string path = folder.file("cut");
  const TFRecordFile intact(folder.file("sample"));
  for (std::size_t n = 0; n < whole.size(); ++n) {
    put_file(path, std::string_view(whole).substr(0, n));
    const std::string message = error_of_file(path);
    std::size_t record = 0;
    while (intact.offset(record) + 16 + intact.length(record) <= n) ++record;
    if (intact.offset(record) == n) {
      ASSERT_EQ(message, "") << n;
      continue;
    }
    const std::string where = "[tfrecord] " + path + ": record " + std::to_string(record) + " at byte " +
                              std::to_string(intact.offset(record));
    ASSERT_TRUE(message.starts_with(where + " is cut short")) << n << ": " << message;
    // If only the readable part is requested, the same file gives the records before the damage.
    const TFRecordFile prefix(path, {.index_cache_directory = "", .keep_readable_prefix = true});
    ASSERT_EQ(prefix.size(), record);
    ASSERT_TRUE(prefix.damage().has_value());
    EXPECT_EQ(prefix.damage()->message, message);
    EXPECT_EQ(prefix.damage()->byte, intact.offset(record));
    EXPECT_TRUE(prefix.damage()->cut_short);
  }
}

TEST(TFRecord, EveryFlippedByteIsNoticedAndNamed) {
  const TempFolder folder;
  const std::string whole = read_file(write_sample(folder, "sample"));
  const std::string path = folder.file("flipped");
  const TFRecordFile intact(folder.file("sample"));
  for (std::size_t n = 0; n < whole.size(); ++n) {
    std::string bad = whole;
    bad[n] = static_cast<char>(bad[n] ^ 0x10);
    put_file(path, bad);
    std::size_t record = 0;
    while (intact.offset(record) + 16 + intact.length(record) <= n) ++record;
    const bool in_header = n - intact.offset(record) < 12;
    const std::string message = error_of_file(path);
    const std::string where = "[tfrecord] " + path + ": record " + std::to_string(record) + " at byte " +
                              std::to_string(intact.offset(record));
    ASSERT_TRUE(message.starts_with(where + " has a wrong checksum of its " + (in_header ? "length" : "data")))
        << n << ": " << message;
  }
}

TEST(TFRecord, DamagedDataLeavesTheOtherRecordsReadable) {
  const TempFolder folder;
  std::string bytes = read_file(write_sample(folder, "sample"));
  bytes[12] = 'F';  // inside "first"
  put_file(folder.file("bad"), bytes);
  const TFRecordFile file(folder.file("bad"));
  EXPECT_TRUE(contains(error_of([&] { record_of(file, 0); }), "record 0 at byte 0 has a wrong checksum of its data"));
  EXPECT_EQ(record_of(file, 3), "last");
}

TEST(TFRecord, OtherFilesAreRefused) {
  const TempFolder folder;
  put_file(folder.file("text"), "this is a text file and no record file");
  EXPECT_TRUE(contains(error_of_file(folder.file("text")), "is this a TFRecord file?"));
  EXPECT_TRUE(contains(error_of_file(folder.file("missing")), "cannot open"));
}

TEST(TFRecord, ALengthThatLooksLikeGzipIsPlain) {
  const TempFolder folder;
  const std::string path = folder.file("plain");
  TFRecordWriter writer(path);
  writer.write(std::string(0x088b1f, 'a'));  // little endian: 1f 8b 08
  writer.close();
  const TFRecordFile file(path);
  EXPECT_EQ(file.compression(), Compression::none);
  EXPECT_EQ(record_of(file, 0).size(), 0x088b1fu);
}

TEST(TFRecord, TruncatedGzipIsNamedAndGivesItsPrefixWhenAsked) {
  const TempFolder folder;
  const std::string path = folder.file("records.gz");
  TFRecordWriter writer(path, Compression::gzip);
  std::string record(5000, ' ');
  for (int i = 0; i < 100; ++i) {
    for (std::size_t k = 0; k < record.size(); ++k)
      record[k] = static_cast<char>((k * k + 31u * k * static_cast<unsigned>(i)) >> 3);
    writer.write(record);
  }
  writer.close();
  const std::string bytes = read_file(path);
  put_file(path, std::string_view(bytes).substr(0, bytes.size() / 2));
  EXPECT_TRUE(contains(error_of_file(path), "[gzip] " + path + ": the compressed data is cut short"));
  const TFRecordFile prefix(path, {.index_cache_directory = "", .keep_readable_prefix = true});
  EXPECT_GT(prefix.size(), 0u);
  EXPECT_LT(prefix.size(), 100u);
  read_all(prefix);
  EXPECT_TRUE(contains(prefix.damage()->message, "cut short"));
}

// 12 MB of content in blocks of 4: none, one and all are kept.
TEST(TFRecord, CompressedRecordsAreReadInAnyOrderInLittleMemory) {
  const TempFolder folder;
  for (const Compression kind : {Compression::gzip, Compression::zlib}) {
    const std::string path = folder.file("large");
    std::vector<std::string> records;
    std::uint32_t state = 1;
    TFRecordWriter writer(path, kind);
    for (int i = 0; i < 40; ++i) {
      records.emplace_back(300000 + i, ' ');
      for (char& c : records.back()) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 28);
      writer.write(records.back());
    }
    writer.close();
    for (const std::size_t limit : {std::size_t{0}, std::size_t{5} << 20, kInflateLimit}) {
      const auto inflated = std::make_shared<InflatedBlocks>(limit);
      const TFRecordFile file(path, {.inflated = inflated});
      ASSERT_EQ(file.size(), records.size());
      for (std::size_t i = 0; i < records.size(); ++i) {
        const std::size_t shuffled = i * 17 % records.size();
        EXPECT_EQ(record_of(file, shuffled), records[shuffled]) << shuffled;
        EXPECT_LE(inflated->bytes(), limit);
      }
    }
  }
}

TEST(TFRecord, ACompressedFileThatChangesWhileItIsReadIsAnErrorOfTheRecord) {
  const TempFolder folder;
  const std::string path = folder.file("gz");
  TFRecordWriter writer(path, Compression::gzip);
  writer.write(std::string(500, 'a'));
  writer.close();
  const TFRecordFile file(path, {.inflated = std::make_shared<InflatedBlocks>(0)});
  std::filesystem::resize_file(path, 20);
  std::string storage, fault;
  EXPECT_FALSE(file.record(0, storage, fault));
  EXPECT_TRUE(contains(fault, path + ": the file has changed since it was opened")) << fault;
}

TEST(TFRecord, ACompressedRecordThatIsCutSaysWhere) {
  const TempFolder folder;
  const std::string plain = read_file(write_sample(folder, "plain"));
  for (const std::size_t bytes : {std::size_t{5}, std::size_t{16}, plain.size() - 1}) {
    const std::string part = plain.substr(0, bytes);
    const std::vector<std::uint8_t> packed = deflate_bytes(as_bytes(part), Compression::gzip);
    put_file(folder.file("cut"), std::string(packed.begin(), packed.end()));
    put_file(folder.file("cut.plain"), part);
    std::string expected = error_of_file(folder.file("cut.plain"));
    expected.replace(expected.find("cut.plain"), 9, "cut");
    EXPECT_EQ(error_of_file(folder.file("cut")), expected);
  }
}

TEST(TFRecordIndex, SecondOpeningUsesTheCache) {
  const TempFolder folder;
  const std::string path = write_sample(folder, "sample");
  const TFRecordOptions options{.index_cache_directory = folder.file("cache/deep")};
  EXPECT_FALSE(TFRecordFile(path, options).index_was_cached());
  const TFRecordFile again(path, options);
  EXPECT_TRUE(again.index_was_cached());
  EXPECT_EQ(read_all(again), kRecords);
  EXPECT_FALSE(TFRecordFile(path).index_was_cached());
}

TEST(TFRecordIndex, ChangedFileIsIndexedAgain) {
  const TempFolder folder;
  const std::string path = write_sample(folder, "sample");
  const TFRecordOptions options{.index_cache_directory = folder.file("cache")};
  TFRecordFile(path, options);
  const auto time = std::filesystem::last_write_time(path);
  std::filesystem::last_write_time(path, time + std::chrono::seconds(1));
  EXPECT_FALSE(TFRecordFile(path, options).index_was_cached());
  EXPECT_TRUE(TFRecordFile(path, options).index_was_cached());
  TFRecordWriter writer(path);
  writer.write("another size");
  writer.close();
  std::filesystem::last_write_time(path, time + std::chrono::seconds(1));
  EXPECT_FALSE(TFRecordFile(path, options).index_was_cached());
}

TEST(TFRecordIndex, FileChangedUnderItsOldTimeIsNoticedWhenRead) {
  const TempFolder folder;
  const std::string path = folder.file("sample");
  const auto write = [&](std::string_view a, std::string_view b) {
    TFRecordWriter writer(path);
    writer.write(a);
    writer.write(b);
    writer.close();
  };
  write("12345", "123");
  const auto time = std::filesystem::last_write_time(path);
  const TFRecordOptions options{.index_cache_directory = folder.file("cache")};
  TFRecordFile(path, options);
  write("123", "12345");
  std::filesystem::last_write_time(path, time);
  const TFRecordFile file(path, options);
  ASSERT_TRUE(file.index_was_cached());
  EXPECT_TRUE(contains(error_of([&] { record_of(file, 0); }), "the file has changed"));
}

TEST(TFRecordIndex, DamagedCacheIsIgnored) {
  const TempFolder folder;
  const std::string path = write_sample(folder, "sample");
  const TFRecordOptions options{.index_cache_directory = folder.file("cache")};
  TFRecordFile(path, options);
  const auto cached = glob_files(folder.file("cache") + "/*");
  ASSERT_EQ(cached.size(), 1u);
  const std::string bytes = read_file(cached[0]);
  for (std::size_t n = 0; n < bytes.size(); n += 3) {  // each opening writes and syncs a new cache
    std::string bad = bytes;
    bad[n] = static_cast<char>(bad[n] ^ 1);
    put_file(cached[0], n % 2 == 0 ? bad : bytes.substr(0, n));
    const TFRecordFile file(path, options);
    ASSERT_FALSE(file.index_was_cached()) << n;
    ASSERT_EQ(read_all(file), kRecords);
  }
}

TEST(TFRecordIndex, WhatLiesInTheCachesPlaceIsNotReadWhole) {
  const TempFolder folder;
  const std::string path = write_sample(folder, "sample");
  const TFRecordOptions options{.index_cache_directory = folder.file("cache")};
  TFRecordFile(path, options);
  const std::string cached = glob_files(folder.file("cache") + "/*").at(0);
  std::filesystem::resize_file(cached, std::uintmax_t{1} << 42);  // a sparse file of 4 TiB, more than any memory
  EXPECT_EQ(read_all(TFRecordFile(path, options)), kRecords);
  std::filesystem::remove(cached);
  std::filesystem::create_directory(cached);
  EXPECT_EQ(read_all(TFRecordFile(path, options)), kRecords);
}

TEST(TFRecordIndex, OfTooManyThoseThatWereUsedLastLongestAgoAreRemoved) {
  const TempFolder folder;
  const std::string cache = folder.file("cache");
  const TFRecordOptions options{.index_cache_directory = cache};
  std::vector<std::string> paths, indexes;
  const auto long_ago = [](int days) {
    return std::filesystem::file_time_type::clock::now() - std::chrono::hours(24 * days);
  };
  for (int i = 0; i < 4; ++i) {
    paths.push_back(write_sample(folder, "sample" + std::to_string(i)));
    TFRecordFile(paths.back(), options);
    for (const std::string& file : glob_files(cache + "/*.tfrecord-index")) {
      if (std::find(indexes.begin(), indexes.end(), file) == indexes.end()) indexes.push_back(file);
    }
    ASSERT_EQ(indexes.size(), paths.size());
  }
  for (int i = 0; i < 4; ++i) std::filesystem::last_write_time(indexes[static_cast<std::size_t>(i)], long_ago(10 - i));
  for (const char* other : {"kernel_times.txt", "0123456789abcde.tfrecord-index", "0123456789abcdefg.txt"})
    put_file(cache + "/" + other, std::string(5000, 'x'));
  EXPECT_TRUE(TFRecordFile(paths[0], options).index_was_cached());  // used now
  const std::uint64_t bytes = std::filesystem::file_size(indexes[0]);
  prune_index_cache(cache, 4 * bytes);
  EXPECT_EQ(glob_files(cache + "/*").size(), 7u);
  prune_index_cache(cache, 2 * bytes + 1);
  for (const int gone : {1, 2}) EXPECT_FALSE(std::filesystem::exists(indexes[static_cast<std::size_t>(gone)])) << gone;
  EXPECT_TRUE(TFRecordFile(paths[0], options).index_was_cached());
  EXPECT_TRUE(TFRecordFile(paths[3], options).index_was_cached());
  EXPECT_FALSE(TFRecordFile(paths[1], options).index_was_cached());  // rebuilt
  prune_index_cache(cache, 0);
  EXPECT_EQ(glob_files(cache + "/*").size(), 3u);
  prune_index_cache(folder.file("nothing"), 0);
}

TEST(TFRecordIndex, CacheThatCannotBeWrittenIsNoError) {
  const TempFolder folder;
  const std::string path = write_sample(folder, "sample");
  put_file(folder.file("occupied"), "a file, not a directory");
  EXPECT_EQ(TFRecordFile(path, {.index_cache_directory = folder.file("occupied")}).size(), kRecords.size());
}

}  // namespace
}  // namespace ridgeline
