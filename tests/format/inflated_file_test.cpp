// Compressed content read at any position.
#include "ridgeline/format/wire/inflated_file.h"

#include <algorithm>
#include <thread>

#include "ridgeline/core/bytes.h"
#include "tests/support/files.h"

namespace ridgeline {
namespace {

constexpr std::size_t kSmall = 40000;  // a block

// Letters with near and far repetitions, so that blocks depend on their windows.
std::string text(std::size_t size, std::uint32_t seed) {
  std::string text;
  while (text.size() < size) {
    seed = seed * 1664525 + 1013904223;
    if (seed >> 26 == 0 && text.size() > 30000)
      text += text.substr(text.size() - 20000 - (seed >> 16) % 10000, 200);
    else
      text += static_cast<char>('a' + (seed >> 20) % 7);
  }
  text.resize(size);
  return text;
}

std::string packed(const std::string& content, Compression kind, int level = 6) {
  const std::vector<std::uint8_t> bytes = deflate_bytes(as_bytes(content), kind, level);
  return {bytes.begin(), bytes.end()};
}

struct Opened {
  std::string seen;
  std::shared_ptr<InflatedBlocks> blocks;
  std::unique_ptr<InflatedFile> file;
};
Opened open(const std::string& path, Compression kind, std::size_t limit,
            std::optional<std::string>* damage = nullptr) {
  Opened opened{{}, std::make_shared<InflatedBlocks>(limit), nullptr};
  opened.file = std::make_unique<InflatedFile>(
      path, kind, opened.blocks, [&](std::span<const std::uint8_t> bytes) { opened.seen += as_text(bytes); }, damage,
      kSmall);
  return opened;
}

std::string read(const InflatedFile& file, std::size_t at, std::size_t size) {
  std::string out(size, '\0');
  file.read(at, {reinterpret_cast<std::uint8_t*>(out.data()), size});
  return out;
}

void expect_content(const InflatedFile& file, const std::string& content) {
  ASSERT_EQ(file.size(), content.size());
  std::uint32_t seed = 5;
  for (int i = 0; i < 60; ++i) {
    seed = seed * 1664525 + 1013904223;
    const std::size_t at = (seed >> 4) % content.size();
    const std::size_t size = std::min<std::size_t>(content.size() - at, (seed >> 8) % 90000);
    EXPECT_TRUE(read(file, at, size) == content.substr(at, size)) << at << " " << size;
  }
}

TEST(InflatedFile, GivesEveryPlaceOfTheContentWhateverIsKept) {
  const TempFolder folder;
  const std::string content = text(700000, 3);
  for (const Compression kind : {Compression::gzip, Compression::zlib}) {
    for (const int level : {0, 1, 9}) {
      put_file(folder.file("packed"), packed(content, kind, level));
      for (const std::size_t limit : {std::size_t{0}, std::size_t{100000}, std::size_t{1} << 30}) {
        const Opened opened = open(folder.file("packed"), kind, limit);
        EXPECT_TRUE(opened.seen == content);
        EXPECT_GT(opened.file->points(), 3U) << level;
        expect_content(*opened.file, content);
        EXPECT_LE(opened.blocks->bytes(), limit);
      }
    }
  }
}

TEST(InflatedFile, ReadsThroughTheMembersOfAGzipFile) {
  const TempFolder folder;
  std::string content, file;
  for (const std::size_t size : {10UL, 200000UL, 0UL, 39990UL, 1UL, 90000UL, 5UL}) {
    const std::string part = text(size, static_cast<std::uint32_t>(size));
    content += part;
    file += packed(part, Compression::gzip);
  }
  put_file(folder.file("members"), file);
  const Opened opened = open(folder.file("members"), Compression::gzip, 0);
  EXPECT_TRUE(opened.seen == content);
  expect_content(*opened.file, content);
}

TEST(InflatedFile, DamageNamesTheByteAndLeavesWhatComesBefore) {
  const TempFolder folder;
  const std::string content = text(400000, 9), path = folder.file("damaged");
  std::string bytes = packed(content, Compression::gzip);
  const std::size_t bad = bytes.size() / 2;
  for (std::size_t i = bad; i < bad + 40; ++i) bytes[i] = static_cast<char>(0xff);
  put_file(path, bytes);
  const std::string message = error_of([&] { open(path, Compression::gzip, 0); });
  ASSERT_TRUE(contains(message, "[gzip] " + path + ": damaged compressed data")) << message;
  const auto byte = static_cast<std::size_t>(std::stoul(message.substr(message.rfind(' '))));
  EXPECT_GE(byte, bad);
  EXPECT_LE(byte, bytes.size());
  std::optional<std::string> damage;
  const Opened opened = open(path, Compression::gzip, 0, &damage);
  EXPECT_EQ(damage, message);
  EXPECT_GT(opened.file->size(), 100000U);
  expect_content(*opened.file, opened.seen);

  put_file(path, packed(content, Compression::zlib).substr(0, 5000));
  EXPECT_TRUE(contains(error_of([&] { open(path, Compression::zlib, 0); }), "is cut short at byte 5000"));
  put_file(path, packed(content, Compression::zlib) + "x");
  EXPECT_TRUE(contains(error_of([&] { open(path, Compression::zlib, 0); }), "unexpected bytes after"));
}

TEST(InflatedFile, ThreadsShareBlocks) {
  const TempFolder folder;
  const std::string content = text(500000, 4);
  put_file(folder.file("packed"), packed(content, Compression::gzip));
  const Opened opened = open(folder.file("packed"), Compression::gzip, 150000);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { expect_content(*opened.file, content); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(opened.blocks->bytes(), 150000U);
}

TEST(InflatedFile, BlocksOfAFileGoWithIt) {
  const TempFolder folder;
  put_file(folder.file("packed"), packed(text(200000, 4), Compression::gzip));
  Opened opened = open(folder.file("packed"), Compression::gzip, 1 << 30);
  EXPECT_EQ(opened.blocks->bytes(), 200000U);
  opened.file.reset();
  EXPECT_EQ(opened.blocks->bytes(), 0U);
}

}  // namespace
}  // namespace ridgeline
