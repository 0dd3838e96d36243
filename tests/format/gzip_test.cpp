#include "ridgeline/format/wire/gzip.h"

#include "ridgeline/core/random.h"
#include "tests/support/files.h"

namespace ridgeline {
namespace {

std::vector<std::uint8_t> some_bytes(std::size_t n) {
  SampleRandom random(philox_key(2, "gzip"), 0, 0);
  std::vector<std::uint8_t> bytes(n);
  for (auto& b : bytes) b = static_cast<std::uint8_t>(random.bits() & 15u);
  return bytes;
}

TEST(Gzip, RoundTripsBothContainersAndIsRecognised) {
  for (const Compression kind : {Compression::gzip, Compression::zlib}) {
    for (const std::size_t n : {0u, 1u, 1000u, 200000u}) {
      const auto bytes = some_bytes(n);
      const auto packed = deflate_bytes(bytes, kind);
      EXPECT_EQ(guess_compression(packed), kind);
      const auto inflated = inflate_bytes(packed, kind, "here");
      EXPECT_EQ(inflated, bytes);
      EXPECT_EQ(inflated.capacity(), n);
    }
  }
  EXPECT_EQ(guess_compression(as_bytes("plain text")), Compression::none);
  EXPECT_EQ(guess_compression({}), Compression::none);
}

TEST(Gzip, ReadsAllMembersOfAFile) {
  auto file = deflate_bytes(as_bytes("first "), Compression::gzip);
  const auto second = deflate_bytes(as_bytes("second"), Compression::gzip);
  file.insert(file.end(), second.begin(), second.end());
  EXPECT_EQ(as_text(inflate_bytes(file, Compression::gzip, "here")), "first second");
}

TEST(Gzip, RefusesEveryTruncation) {
  const auto packed = deflate_bytes(some_bytes(500), Compression::gzip);
  for (std::size_t n = 0; n < packed.size(); ++n) {
    const auto cut = std::span<const std::uint8_t>(packed).first(n);
    const std::string message = error_of([&] { inflate_bytes(cut, Compression::gzip, "f.gz"); });
    ASSERT_TRUE(contains(message, "[gzip] f.gz: the compressed data is cut short")) << n << ": " << message;
  }
}

TEST(Gzip, ReturnsWhatCameBeforeTheDamageWhenAsked) {
  const auto bytes = some_bytes(100000);
  auto packed = deflate_bytes(bytes, Compression::gzip);
  packed.resize(packed.size() / 2);
  std::optional<std::string> damage;
  const auto part = inflate_bytes(packed, Compression::gzip, "f.gz", kInflateLimit, &damage);
  ASSERT_TRUE(damage.has_value());
  EXPECT_GT(part.size(), 10000u);
  EXPECT_EQ(part.capacity(), part.size());
  EXPECT_TRUE(std::equal(part.begin(), part.end(), bytes.begin()));
}

TEST(Gzip, HoldsTheLimitToTheByte) {
  const auto bytes = some_bytes(5000);
  const auto packed = deflate_bytes(bytes, Compression::zlib);
  EXPECT_EQ(inflate_bytes(packed, Compression::zlib, "f", 5000), bytes);
  const std::string message = error_of([&] { inflate_bytes(packed, Compression::zlib, "f", 4999); });
  EXPECT_TRUE(contains(message, "larger than the limit of 4999 bytes")) << message;
}

TEST(Gzip, NamesTrailingBytesAndDamage) {
  auto packed = deflate_bytes(some_bytes(5000), Compression::gzip);
  packed.push_back(7);
  EXPECT_TRUE(contains(error_of([&] { inflate_bytes(packed, Compression::gzip, "f"); }), "unexpected bytes after"));
  packed.pop_back();
  packed[packed.size() - 6] ^= 1;  // the checksum of the content
  EXPECT_TRUE(contains(error_of([&] { inflate_bytes(packed, Compression::gzip, "f"); }), "damaged compressed data"));
}

}  // namespace
}  // namespace ridgeline
