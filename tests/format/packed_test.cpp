#include "ridgeline/format/record/packed.h"

#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <thread>

#include "ridgeline/format/record/packed_layout.h"
#include "tests/support/files.h"

namespace ridgeline {
namespace {

const PackedSchema kSchema{
    {{"image", DType::bytes, {}}, {"pixels", DType::f32, {-1, 3}}, {"label", DType::i64, {}}, {"box", DType::f32, {4}}},
    {"cat", "dog"}};

template <class T>
std::span<const std::uint8_t> raw(const std::vector<T>& values) {
  return {reinterpret_cast<const std::uint8_t*>(values.data()), values.size() * sizeof(T)};
}

// Row i: an image of 10*i bytes, i rows of pixels.
void add_row(PackedWriter& writer, std::size_t i, bool at_the_end = false) {
  const std::string image(10 * i, static_cast<char>('a' + i));
  const std::vector<float> pixels(3 * i, static_cast<float>(i) + 0.5f);
  const std::vector<std::int64_t> label{static_cast<std::int64_t>(i)};
  const std::vector<float> box{0, 1, 2, static_cast<float>(i)};
  const std::array<std::int64_t, 2> extents{static_cast<std::int64_t>(i), 3};
  const std::array<PackedValue, 4> values{{{as_bytes(image)}, {raw(pixels), extents}, {raw(label)}, {raw(box)}}};
  if (at_the_end) {
    EXPECT_EQ(writer.add(values), i);
  } else {
    writer.add(i, values);
  }
}

void expect_row(const PackedFile& file, std::size_t i) {
  SCOPED_TRACE(i);
  const auto row = file.row(i);
  ASSERT_EQ(row.size(), 4u);
  EXPECT_EQ(as_text(row[0].bytes), std::string(10 * i, static_cast<char>('a' + i)));
  EXPECT_EQ(row[0].extents, Shape{});
  EXPECT_EQ(row[1].extents, (Shape{static_cast<std::int64_t>(i), 3}));
  ASSERT_EQ(row[1].bytes.size(), 12 * i);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(row[1].bytes.data()) % (12 * i >= 64 ? 64 : 4), 0u);
  for (std::size_t k = 0; k < 3 * i; ++k) {
    EXPECT_EQ(reinterpret_cast<const float*>(row[1].bytes.data())[k], static_cast<float>(i) + 0.5f);
  }
  ASSERT_EQ(row[2].bytes.size(), 8u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(row[2].bytes.data()) % 8, 0u);
  EXPECT_EQ(*reinterpret_cast<const std::int64_t*>(row[2].bytes.data()), static_cast<std::int64_t>(i));
  EXPECT_EQ(row[3].extents, Shape{4});
  EXPECT_EQ(reinterpret_cast<const float*>(row[3].bytes.data())[3], static_cast<float>(i));
  EXPECT_EQ(file.offset(i) % 64, 0u);
  EXPECT_EQ(as_text(file.row(i)[0].bytes), as_text(row[0].bytes));
}

std::string write_sample(const std::string& path, std::size_t rows = 8) {
  PackedWriter writer(path, kSchema, R"({"made": "by a test"})");
  for (std::size_t i = 0; i < rows; ++i) add_row(writer, i, true);
  EXPECT_EQ(writer.size(), rows);
  writer.finish();
  return read_file(path);
}

void read_all(const std::string& path, const PackedOptions& options = {}) {
  const PackedFile file(path, options);
  PackedRow row;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < file.size(); ++i) {
    if (!file.has(i)) continue;
    file.read(i, row);
    for (const PackedField& field : row.fields) {
      for (const std::uint8_t byte : field.bytes) sum += byte;
    }
  }
  EXPECT_GE(sum, 0u);
}

TEST(Packed, ReadsWhatItWrites) {
  const TempFolder folder;
  write_sample(folder.file("p"));
  const PackedFile file(folder.file("p"));
  EXPECT_EQ(file.size(), 8u);
  EXPECT_EQ(file.schema(), kSchema);
  EXPECT_EQ(file.metadata(), R"({"made": "by a test"})");
  EXPECT_EQ(file.schema().column("label"), 2u);
  for (std::size_t i = 0; i < 8; ++i) expect_row(file, i);
}

TEST(Packed, ClassNamesOfAnyBytesComeBack) {
  const TempFolder folder;
  PackedSchema schema{{{"label", DType::i64, {}}}, {"cat", "fl\xe9urs", "two\nlines", "\xff\xfe", "caf\u00e9", ""}};
  PackedWriter(folder.file("file"), schema).finish();
  EXPECT_EQ(PackedFile(folder.file("file")).schema(), schema);
  const std::string text = R"({"columns":[{"name":"x","dtype":"f32"}],"class_names":[{"bytes":[300]}]})";
  EXPECT_TRUE(contains(error_of([&] { parse_packed_schema(text, "F:"); }), "holds what is no byte"));
}

TEST(Packed, EqualRowsInEqualOrderGiveEqualBytesAndAnEmptyFileIsOne) {
  const TempFolder folder;
  EXPECT_EQ(write_sample(folder.file("a")), write_sample(folder.file("b")));
  write_sample(folder.file("none"), 0);
  EXPECT_EQ(PackedFile(folder.file("none")).size(), 0u);
}

// The bytes of docs/format.md one by one, so that the page and the code agree.
TEST(Packed, TheLayoutIsTheDocumentedOne) {
  const TempFolder folder;
  PackedWriter writer(folder.file("p"), {{{"x", DType::u8, {2}}, {"s", DType::bytes, {}}}, {}}, "[1]");
  const std::string text = "hello";
  writer.add(std::array<PackedValue, 2>{{{as_bytes("\x07\x08")}, {as_bytes(text)}}});
  writer.finish();
  const std::string file = read_file(folder.file("p"));
  const std::string schema = R"({"columns":[{"name":"x","dtype":"u8","extents":[2]},{"name":"s","dtype":"bytes"}]})";
  const auto u64 = [&](std::size_t at) {
    std::uint64_t value = 0;
    std::memcpy(&value, file.data() + at, 8);
    return value;
  };
  EXPECT_EQ(file.substr(0, 8), "RDGPACK\x01");
  EXPECT_EQ(u64(8), 1u);  // version 1, flags 0
  EXPECT_EQ(u64(16), schema.size());
  EXPECT_EQ(u64(24), 3u);
  EXPECT_EQ(u64(32), 1u);
  EXPECT_EQ(file.substr(64, schema.size() + 3), schema + "[1]");
  const std::size_t row = 192;  // 64 + 82 + 3, rounded up to a multiple of 64
  EXPECT_EQ(u64(40), row + 64);
  EXPECT_EQ(u64(row), 5u);  // the length of s
  EXPECT_EQ(file.substr(row + 8, 7), "\x07\x08hello");
  EXPECT_EQ(u64(row + 64), row);
  EXPECT_EQ(u64(row + 72), 15u);
  EXPECT_EQ(file.size(), row + 64 + 24);
}

TEST(Packed, RowsMayComeInAnyOrderFromAnyThread) {
  const TempFolder folder;
  constexpr std::size_t kRows = 64;
  PackedWriter writer(folder.file("p"), kSchema);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = kRows; i-- > 0;) {
        if (i % 4 == t) add_row(writer, i);
      }
    });
  }
  for (auto& t : threads) t.join();
  writer.finish(kRows);
  const PackedFile file(folder.file("p"));
  ASSERT_EQ(file.size(), kRows);
  for (std::size_t i = 0; i < kRows; ++i) expect_row(file, i);
  std::array<bool, 4> right{};
  threads.clear();
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      right[t] = true;
      for (std::size_t i = 0; i < kRows; ++i) right[t] = right[t] && file.row(i)[0].bytes.size() == 10 * i;
    });
  }
  for (auto& t : threads) t.join();
  for (const bool r : right) EXPECT_TRUE(r);
}

TEST(Packed, RowsAtTheEndFromManyThreadsAllArrive) {
  const TempFolder folder;
  PackedWriter writer(folder.file("p"), {{{"x", DType::i64, {}}}, {}});
  std::vector<std::thread> threads;
  for (std::int64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::int64_t k = 0; k < 50; ++k) {
        const std::vector<std::int64_t> value{50 * t + k};
        writer.add(std::array<PackedValue, 1>{{{raw(value)}}});
      }
    });
  }
  for (auto& t : threads) t.join();
  writer.finish();
  const PackedFile file(folder.file("p"));
  std::vector<bool> seen(200);
  for (std::size_t i = 0; i < file.size(); ++i) {
    std::int64_t value = 0;
    std::memcpy(&value, file.row(i)[0].bytes.data(), 8);
    seen.at(static_cast<std::size_t>(value)) = true;
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 200);
}

TEST(Packed, ARowTwiceAndMissingRowsAreErrors) {
  const TempFolder folder;
  const std::string path = folder.file("p");
  PackedWriter writer(path, kSchema);
  add_row(writer, 3);
  EXPECT_EQ(error_of([&] { add_row(writer, 3); }), "[packed] " + path + ": row 3 was added before");
  add_row(writer, 0);
  EXPECT_EQ(error_of([&] { writer.finish(5); }), "[packed] " + path + ": row 1 was never added (3 of 5 are missing)");
  EXPECT_TRUE(contains(error_of([&] { writer.finish(2); }), "row 3 was added, but the file is to have 2 rows"));
  writer.finish(5, PackedWriter::Missing::allowed);
  const PackedFile file(path);
  EXPECT_EQ(file.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(file.has(i), i == 0 || i == 3) << i;
  expect_row(file, 0);
  expect_row(file, 3);
  EXPECT_EQ(error_of([&] { file.row(1); }), "[packed] " + path + ": row 1 was never written");
}

TEST(Packed, WrongValuesAreNamedAndHarmNothing) {
  const TempFolder folder;
  const std::string path = folder.file("p");
  PackedWriter writer(path, {{{"a", DType::f32, {-1, 2}}, {"b", DType::u8, {3}}}, {}});
  const std::vector<float> two{1, 2};
  const std::array<std::int64_t, 2> extents{1, 2}, wrong{2, 1}, huge{std::int64_t{1} << 61, 2}, negative{-1, 2};
  const auto error = [&](std::vector<PackedValue> values) { return error_of([&] { writer.add(7, values); }); };
  const std::string where = "[packed] " + path + ": row 7";
  EXPECT_EQ(error({{raw(two), extents}}), where + " has 1 values, the schema has 2 columns");
  EXPECT_EQ(error({{raw(two), extents}, {as_bytes("ab")}}),
            where + ", column 'b': 2 bytes are given, its extents and type make 3");
  EXPECT_EQ(error({{raw(two)}, {as_bytes("abc")}}), where + ", column 'a': 0 extents are given, the schema has [-1,2]");
  EXPECT_TRUE(contains(error({{raw(two), wrong}, {as_bytes("abc")}}), "column 'a': extent 1 is 1"));
  EXPECT_TRUE(contains(error({{raw(two), huge}, {as_bytes("abc")}}), "column 'a': the product of its extents"));
  EXPECT_TRUE(contains(error({{raw(two), negative}, {as_bytes("abc")}}), "column 'a': extent 0 is -1"));
  writer.add(0, std::array<PackedValue, 2>{{{raw(two), extents}, {as_bytes("abc")}}});
  writer.finish();
  EXPECT_EQ(as_text(PackedFile(path).row(0)[1].bytes), "abc");
}

TEST(Packed, SchemasThatCannotBeAreRefused) {
  const TempFolder folder;
  const auto error = [&](const PackedSchema& schema) {
    return error_of([&] { PackedWriter(folder.file("p"), schema); });
  };
  EXPECT_TRUE(contains(error({}), "at least one column"));
  EXPECT_TRUE(contains(error({{{"a", DType::u8, {}}, {"a", DType::u8, {}}}, {}}), "column 'a' is there twice"));
  EXPECT_TRUE(contains(error({{{"", DType::u8, {}}}, {}}), "has no name"));
  EXPECT_TRUE(contains(error({{{"a", DType::bytes, {2}}}, {}}), "bytes are one string a row"));
  EXPECT_TRUE(contains(error({{{"a", DType::u8, {-2}}}, {}}), "an extent of -2"));
  EXPECT_TRUE(contains(error({{{"a", DType::f32, {1 << 30, 1 << 30}}}, {}}), "more than a row can hold"));
  EXPECT_TRUE(contains(error_of([&] { PackedWriter(folder.file("p"), kSchema, "{no json"); }), "metadata is no valid"));
  EXPECT_TRUE(contains(error_of([&] { static_cast<void>(kSchema.column("labl")); }), "did you mean 'label'?"));
}

TEST(Packed, WithoutFinishAnOldFileStays) {
  const TempFolder folder;
  put_file(folder.file("p"), "old");
  {
    PackedWriter writer(folder.file("p"), kSchema);
    add_row(writer, 0);
  }
  EXPECT_EQ(read_file(folder.file("p")), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(Packed, ADiskThatTakesNoMoreFailsTheRowAndTheFile) {
  const TempFolder folder;
  const std::string path = folder.file("p");
  put_file(path, "old");
  {
    PackedWriter writer(path, {{{"x", DType::bytes, {}}}, {}});
    const std::string row(100'000, 'x');
    const auto add = [&] { writer.add(std::array<PackedValue, 1>{{{as_bytes(row)}}}); };
    // A limit of 250,000 bytes on file sizes imitates a full disk.
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{250'000, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    add();
    add();
    const std::string error = error_of(add);
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    EXPECT_TRUE(error.starts_with("cannot write " + path + ": ")) << error;
    EXPECT_EQ(error_of([&] { writer.finish(); }), "[packed] " + path + ": 1 rows could not be written");
  }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_TRUE(contains(error_of([] { PackedWriter("/nowhere/p", kSchema); }), "cannot create /nowhere/p"));
}

TEST(Packed, EveryCutIsNamed) {
  const TempFolder folder;
  const std::string whole = write_sample(folder.file("whole"), 3);
  const std::string path = folder.file("p");
  expect_cuts_are_errors(
      path, whole, "[packed] " + path + ": the file is cut short", [&] { read_all(path); },
      [](std::size_t) { return false; });
  put_file(path, whole + "x");
  EXPECT_TRUE(contains(error_of([&] { read_all(path); }),
                       "unexpected bytes after the table, at byte " + std::to_string(whole.size())));
  put_file(path, std::string(whole.size(), '\0'));
  EXPECT_TRUE(contains(error_of([&] { read_all(path); }), "byte 0: the file was never finished"));
}

TEST(Packed, EveryChangedByteIsNoticedWhereChecksumsReach) {
  const TempFolder folder;
  const std::string whole = write_sample(folder.file("whole"), 4);
  const PackedFile intact(folder.file("whole"));
  const std::string path = folder.file("p");
  for (std::size_t n = 0; n < whole.size(); ++n) {
    std::string bad = whole;
    bad[n] = static_cast<char>(bad[n] ^ 0x10);
    put_file(path, bad);
    const std::string message = error_of([&] { read_all(path); });
    bool covered = n < 64 || n >= whole.size() - 4 * sizeof(packed_layout::TableEntry);
    std::uint64_t texts = 0, more = 0;
    std::memcpy(&texts, whole.data() + 16, 8);
    std::memcpy(&more, whole.data() + 24, 8);
    covered = covered || n < 64 + texts + more;
    for (std::size_t i = 0; i < intact.size(); ++i) {
      if (n < intact.offset(i) || n >= intact.offset(i) + intact.length(i)) continue;
      covered = true;
      EXPECT_TRUE(message.starts_with("[packed] " + path + ": row " + std::to_string(i) + " at byte " +
                                      std::to_string(intact.offset(i)) + " has a wrong checksum"))
          << n << ": " << message;
    }
    EXPECT_EQ(message.empty(), !covered) << n << ": " << message;  // only zeros between rows are not covered
  }
}

// Without the rows' checksums, a hostile file may contain any numbers: they must not lead outside the file.
TEST(Packed, UncheckedRowsCannotLeadOutside) {
  const TempFolder folder;
  const std::string whole = write_sample(folder.file("whole"), 4);
  const PackedFile intact(folder.file("whole"));
  const std::string path = folder.file("p");
  int refused = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t n = 0; n < 16; ++n) {
      for (const int value : {0, 1, 0x3f, 0x7f, 0xff}) {
        std::string bad = whole;
        bad[intact.offset(i) + n] = static_cast<char>(value);
        put_file(path, bad);
        const std::string message = error_of([&] { read_all(path, {.verify_rows = false}); });
        EXPECT_TRUE(message.empty() || contains(message, ": row " + std::to_string(i) + " at byte ")) << message;
        refused += message.empty() ? 0 : 1;
      }
    }
  }
  EXPECT_GT(refused, 200);
  EXPECT_GT(expect_flips_are_survived(path, whole, [&] { read_all(path, {.verify_rows = false}); }), 100);
}

}  // namespace
}  // namespace ridgeline
