#include "ridgeline/image/png/inflate.h"

#include <zlib.h>

#include <vector>

#include <gtest/gtest.h>

#include "every_target.h"
#include "ridgeline/core/random.h"

namespace ridgeline::image {
namespace {

using Bytes = std::vector<std::uint8_t>;

// Noise of a few or all values, runs, and repetitions at any distance.
Bytes content(SampleRandom& random, std::size_t size) {
  Bytes bytes;
  while (bytes.size() < size) {
    const auto more = std::min<std::size_t>(size - bytes.size(), static_cast<std::size_t>(random.integer(1, 900)));
    const auto kind = random.integer(0, 3);
    const auto few = static_cast<int>(random.integer(0, 255)), same = static_cast<int>(random.integer(0, 255));
    const auto back = bytes.empty() ? 0 : static_cast<std::size_t>(random.integer(1, static_cast<int>(bytes.size())));
    for (std::size_t i = 0; i < more; ++i) {
      const bool repeat = kind == 0 && back > 0;
      bytes.push_back(static_cast<std::uint8_t>(repeat      ? bytes[bytes.size() - back]
                                                : kind == 1 ? same
                                                : kind == 2 ? random.integer(0, few)
                                                            : random.integer(0, 255)));
    }
  }
  return bytes;
}

// Flushed at some places, so that there are several blocks, also empty ones.
Bytes deflated(SampleRandom& random, const Bytes& bytes) {
  constexpr int strategies[] = {Z_DEFAULT_STRATEGY, Z_FILTERED, Z_HUFFMAN_ONLY, Z_RLE, Z_FIXED};
  constexpr int flushes[] = {Z_NO_FLUSH, Z_PARTIAL_FLUSH, Z_SYNC_FLUSH, Z_FULL_FLUSH, Z_BLOCK};
  z_stream stream{};
  deflateInit2(&stream, static_cast<int>(random.integer(0, 9)), Z_DEFLATED, static_cast<int>(random.integer(9, 15)),
               static_cast<int>(random.integer(1, 9)), strategies[random.integer(0, 4)]);
  Bytes out(2 * bytes.size() + 10000);
  stream.next_in = const_cast<Bytef*>(bytes.data());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  for (int part = 0; part < 4; ++part) {
    stream.avail_in = static_cast<uInt>(part < 3 ? bytes.size() / 4 : bytes.data() + bytes.size() - stream.next_in);
    deflate(&stream, part < 3 ? flushes[random.integer(0, 4)] : Z_FINISH);
    EXPECT_EQ(stream.avail_in, 0u);
  }
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

struct Ours {
  std::optional<InflatedEnds> ends;
  Bytes bytes;
};

Ours ours(Bytes stream, std::size_t size, std::uint8_t behind = 0) {
  const std::size_t given = stream.size();
  stream.resize(given + kInflateSlack, behind);
  Ours result{{}, Bytes(size + kInflateSlack)};
  result.ends = inflate_whole({stream.data(), given}, {result.bytes.data(), size});
  result.bytes.resize(size);
  return result;
}

// What zlib returns for a whole stream of this size.
std::optional<Bytes> zlibs(const Bytes& stream, std::size_t size) {
  Bytes bytes(size);
  uLongf length = static_cast<uLongf>(size);
  uLong given = static_cast<uLong>(stream.size());
  if (uncompress2(bytes.data(), &length, stream.data(), &given) != Z_OK || length != size) return std::nullopt;
  return bytes;
}

TEST(PngInflate, EveryKindOfStreamGivesItsBytes) {
  SampleRandom random(philox_key(1, "inflate"), 0, 0);
  for (int i = 0; i < 300; ++i) {
    const Bytes bytes = content(random, static_cast<std::size_t>(random.integer(1, i % 10 == 0 ? 300000 : 3000)));
    Bytes stream = deflated(random, bytes);
    const std::size_t whole = stream.size();
    for (int k = 0; k < i % 3; ++k) stream.push_back(static_cast<std::uint8_t>(i));  // what comes after does not matter
    test::on_every_target([&] {
      const Ours got = ours(stream, bytes.size(), static_cast<std::uint8_t>(i));
      if (!got.ends) {
        // The end is an empty block, so the position of the last data symbol is not visible.
        ASSERT_TRUE(zlibs(stream, bytes.size())) << i;
        return;
      }
      ASSERT_EQ(got.bytes, bytes) << i;
      EXPECT_EQ(got.ends->end, whole) << i;
      EXPECT_LE(got.ends->symbol, whole) << i;
    });
  }
}

TEST(PngInflate, StreamsOfAnEncoderAreTakenAtEveryLevel) {
  SampleRandom random(philox_key(2, "inflate"), 0, 0);
  for (int level = 0; level <= 9; ++level) {
    const Bytes bytes = content(random, 200000);
    Bytes stream(compressBound(bytes.size()));
    uLongf length = stream.size();
    ASSERT_EQ(compress2(stream.data(), &length, bytes.data(), bytes.size(), level), Z_OK);
    stream.resize(length);
    test::on_every_target([&] {
      const Ours got = ours(stream, bytes.size());
      ASSERT_TRUE(got.ends) << level;
      EXPECT_EQ(got.bytes, bytes);
      EXPECT_EQ(got.ends->end, length);
      EXPECT_FALSE(ours(stream, bytes.size() - 1).ends);
      EXPECT_FALSE(ours(stream, bytes.size() + 1).ends);
    });
  }
}

// zlib fills the data from this many bytes of the stream, and not from fewer than `symbol` says.
TEST(PngInflate, TheLastSymbolEndsWhereItSays) {
  SampleRandom random(philox_key(3, "inflate"), 0, 0);
  for (int i = 0; i < 100; ++i) {
    const Bytes bytes = content(random, static_cast<std::size_t>(random.integer(1, 2000)));
    const Bytes stream = deflated(random, bytes);
    const Ours got = ours(stream, bytes.size());
    if (!got.ends || got.ends->symbol == 0) continue;
    z_stream zlib{};
    ASSERT_EQ(inflateInit(&zlib), Z_OK);
    Bytes out(bytes.size());
    zlib.next_in = const_cast<Bytef*>(stream.data());
    zlib.avail_in = static_cast<uInt>(got.ends->symbol - 1);
    zlib.next_out = out.data();
    zlib.avail_out = static_cast<uInt>(out.size());
    inflate(&zlib, Z_NO_FLUSH);
    EXPECT_GT(zlib.avail_out, 0u) << i;
    inflateEnd(&zlib);
  }
}

// For a damaged stream, computes the checksum of what zlib returns, if that is long enough, and stores it at the
// expected place.
void mend_checksum(Bytes& stream, std::size_t size) {
  if (stream.size() < 6) return;
  Bytes out(size);
  z_stream zlib{};
  ASSERT_EQ(inflateInit2(&zlib, -15), Z_OK);
  zlib.next_in = stream.data() + 2;
  zlib.avail_in = static_cast<uInt>(stream.size() - 6);
  zlib.next_out = out.data();
  zlib.avail_out = static_cast<uInt>(size);
  if (inflate(&zlib, Z_FINISH) == Z_STREAM_END && zlib.avail_out == 0) {
    const uLong sum = adler32(1, out.data(), static_cast<uInt>(size));
    for (int k = 0; k < 4; ++k) stream[2 + zlib.total_in + static_cast<std::size_t>(k)] = (sum >> (24 - 8 * k)) & 255;
  }
  inflateEnd(&zlib);
}

TEST(PngInflate, WhatZlibRefusesIsNeverTaken) {
  SampleRandom random(philox_key(4, "inflate"), 0, 0);
  int good = 0;
  for (int i = 0; i < 4000; ++i) {
    const Bytes bytes = content(random, static_cast<std::size_t>(random.integer(1, 600)));
    Bytes stream = deflated(random, bytes);
    // Mostly headers of blocks; if the damage keeps the size, the checksum is corrected.
    for (auto n = random.integer(1, 3); n > 0; --n) {
      const auto most =
          static_cast<int>(random.integer(0, 1) ? stream.size() : std::min<std::size_t>(stream.size(), 60));
      stream[static_cast<std::size_t>(random.integer(0, most - 1))] ^=
          static_cast<std::uint8_t>(1 << random.integer(0, 7));
    }
    if (i % 5 == 0) stream.resize(static_cast<std::size_t>(random.integer(0, static_cast<int>(stream.size()))));
    mend_checksum(stream, bytes.size());
    const std::optional<Bytes> expected = zlibs(stream, bytes.size());
    test::on_every_target([&] {
      const Ours got = ours(stream, bytes.size());
      if (!got.ends) return;
      ASSERT_TRUE(expected) << i;
      ASSERT_EQ(got.bytes, *expected) << i;
      ++good;
    });
  }
  EXPECT_GT(good, 100);
}

}  // namespace
}  // namespace ridgeline::image
