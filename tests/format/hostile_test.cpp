// Files that are wrong on purpose: every checksum is correct, but the numbers are not. They may be refused or read, but
// nothing outside the file may be accessed (sanitizers check it) and no memory allocated that the file cannot fill.
#include <cstdio>
#include <cstring>

#include "ridgeline/core/random.h"
#include "ridgeline/format/record/packed.h"
#include "ridgeline/format/record/packed_layout.h"
#include "ridgeline/format/record/tar_header.h"
#include "ridgeline/format/record/tar_samples.h"
#include "ridgeline/format/wire/crc32c.h"
#include "tests/support/files.h"

namespace ridgeline {
namespace {

constexpr int kFiles = 4000;

// Values that are worth trying for lengths and positions.
std::uint64_t liar(SampleRandom& random, std::uint64_t file_bytes) {
  const std::uint64_t one = 1;
  const std::array<std::uint64_t, 12> bases{0,         64,        file_bytes, file_bytes / 2, 1u << 16, one << 31,
                                            one << 32, one << 40, one << 62,  one << 63,      ~one + 2, 24};
  const std::uint64_t base = bases.at(static_cast<std::size_t>(random.integer(0, 11)));
  return base + static_cast<std::uint64_t>(random.integer(-2, 2)) * static_cast<std::uint64_t>(random.integer(1, 64));
}

template <class T>
T get(const std::string& bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

template <class T>
void set(std::string& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof(T));
}

void sign_header(std::string& file) { set(file, 60, crc32c(as_bytes(file).first(packed_layout::kHeaderChecked))); }

std::string packed_sample(const std::string& path) {
  PackedWriter writer(path, {{{"a", DType::bytes, {}}, {"b", DType::f32, {-1, 2, -1}}, {"c", DType::i64, {}}}, {"x"}});
  const std::vector<float> numbers(24, 1.0f);
  const std::int64_t label = 3;
  const std::array<std::int64_t, 3> extents{4, 2, 3};
  for (std::size_t i = 0; i < 5; ++i) {
    const std::string text(40 * i, 'a');
    writer.add(std::array<PackedValue, 3>{{{as_bytes(text)},
                                           {{reinterpret_cast<const std::uint8_t*>(numbers.data()), 96}, extents},
                                           {{reinterpret_cast<const std::uint8_t*>(&label), 8}}}});
  }
  writer.finish();
  return read_file(path);
}

void read_packed(const std::string& path) {
  const PackedFile file(path, {.verify_rows = false});
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < file.size(); ++i) {
    if (!file.has(i)) continue;
    const PackedRow row = file.row(i);
    for (const PackedField& field : row.fields) {
      for (const std::uint8_t byte : field.bytes) sum += byte;
    }
  }
  EXPECT_LT(sum, std::uint64_t{1} << 40);
}

TEST(Hostile, PackedHeadersAndTablesThatLieAreSurvived) {
  const TempFolder folder;
  const std::string whole = packed_sample(folder.file("whole"));
  const auto table = static_cast<std::size_t>(get<std::uint64_t>(whole, 40));
  const std::string path = folder.file("p");
  int refused = 0;
  for (int k = 0; k < kFiles; ++k) {
    SampleRandom random(philox_key(1, "packed"), 0, static_cast<std::uint64_t>(k));
    std::string bad = whole;
    for (std::int64_t n = random.integer(1, 2); n > 0; --n) {
      const std::uint64_t value = liar(random, whole.size());
      const auto row = static_cast<std::size_t>(random.integer(0, 4));
      const auto place = static_cast<std::size_t>(get<std::uint64_t>(whole, table + 24 * row));
      switch (random.integer(0, 3)) {
        case 0: set(bad, static_cast<std::size_t>(16 + 8 * random.integer(0, 3)), value); break;
        case 1: set(bad, table + 24 * row + (random.integer(0, 1) != 0 ? 8u : 0u), value); break;
        default: set(bad, place + 8 * static_cast<std::size_t>(random.integer(0, 2)), value);  // a row's words
      }
    }
    set(bad, 52, crc32c(as_bytes(bad).subspan(table)));
    sign_header(bad);
    put_file(path, bad);
    const std::string message = error_of([&] { read_packed(path); });
    EXPECT_TRUE(message.empty() || message.starts_with("[packed] " + path + ": ")) << message;
    refused += message.empty() ? 0 : 1;
  }
  EXPECT_GT(refused, kFiles / 2);
}

TEST(Hostile, PackedSchemasThatLieAreSurvived) {
  const TempFolder folder;
  const std::string whole = packed_sample(folder.file("whole"));
  const auto schema = static_cast<std::size_t>(get<std::uint64_t>(whole, 16));
  const std::string path = folder.file("p");
  int refused = 0;
  for (int k = 0; k < kFiles; ++k) {
    SampleRandom random(philox_key(2, "packed"), 0, static_cast<std::uint64_t>(k));
    std::string bad = whole;
    for (std::int64_t n = random.integer(1, 3); n > 0; --n) {
      // Mostly characters of JSON, so that many texts are still valid.
      constexpr std::string_view kLikely = "0123456789-,.[]{}\":ef";
      bad[64 + static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(schema) - 1))] =
          kLikely[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(kLikely.size()) - 1))];
    }
    set(bad, 48, crc32c(as_bytes(bad).subspan(64, schema)));
    sign_header(bad);
    put_file(path, bad);
    const std::string message = error_of([&] { read_packed(path); });
    EXPECT_TRUE(message.empty() || message.starts_with("[packed] ")) << message;
    refused += message.empty() ? 0 : 1;
  }
  EXPECT_GT(refused, kFiles / 2);
  EXPECT_LT(refused, kFiles);
}

TEST(Hostile, ArchiveHeadersThatLieAreSurvived) {
  const TempFolder folder;
  const std::string path = folder.file("t.tar");
  {
    TarWriter writer(path);
    writer.add("a.jpg", std::string(700, 'j'));
    writer.add(std::string(200, 'n') + ".cls", "7");
    writer.add("b.jpg", "");
    writer.finish();
  }
  const std::string whole = read_file(path);
  // The headers of a.jpg, the pax records, the long name and b.jpg.
  const std::array<std::size_t, 4> headers{0, 1536, 2560, 3584};
  for (const std::size_t at : headers) ASSERT_TRUE(tar_checksum_holds(as_bytes(whole).subspan(at, 512))) << at;
  int refused = 0;
  for (int k = 0; k < kFiles; ++k) {
    SampleRandom random(philox_key(3, "tar"), 0, static_cast<std::uint64_t>(k));
    std::string bad = whole;
    const std::size_t at = headers.at(static_cast<std::size_t>(random.integer(0, 3)));
    const std::uint64_t value = liar(random, whole.size());
    if (random.integer(0, 1) != 0) {  // the size, in base 256 or as octal digits
      bad[at + 124] = static_cast<char>(0x80);
      for (std::size_t i = 0; i < 11; ++i) bad[at + 135 - i] = i < 8 ? static_cast<char>(value >> (8 * i)) : '\0';
    } else {
      for (std::size_t i = 0; i < 11; ++i) bad[at + 134 - i] = static_cast<char>('0' + ((value >> (3 * i)) & 7));
    }
    constexpr std::string_view kTypes = "0123456789LKxgSVD\0";
    if (random.integer(0, 2) == 0) {
      bad[at + 156] = kTypes[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(kTypes.size()) - 1))];
    }
    if (random.integer(0, 3) == 0) {  // the pax records
      bad[2048 + static_cast<std::size_t>(random.integer(0, 40))] = static_cast<char>(random.integer('0', '9'));
    }
    unsigned sum = 8 * ' ';
    for (std::size_t i = 0; i < 512; ++i) sum += i >= 148 && i < 156 ? 0 : static_cast<unsigned char>(bad[at + i]);
    std::array<char, 8> text{};
    std::snprintf(text.data(), text.size(), "%06o", sum);
    bad.replace(at + 148, 7, std::string(text.data(), 7));
    put_file(path, bad);
    const std::string message = error_of([&] {
      const TarSamples samples(path, {.allow_missing_end = random.integer(0, 1) != 0});
      std::uint64_t bytes = 0;
      std::string storage;
      for (std::size_t i = 0; i < samples.size(); ++i) {
        for (const auto& field : samples.fields(i)) {
          for (const std::uint8_t byte : samples.archive().member(field.member, storage)) bytes += byte;
        }
      }
      EXPECT_LT(bytes, std::uint64_t{1} << 40);
    });
    EXPECT_TRUE(message.empty() || message.starts_with("[tar] " + path + ": ")) << message;
    refused += message.empty() ? 0 : 1;
  }
  EXPECT_GT(refused, kFiles / 2);
  EXPECT_LT(refused, kFiles);
}

}  // namespace
}  // namespace ridgeline
