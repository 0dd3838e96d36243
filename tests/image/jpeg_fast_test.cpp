// Our JPEG decoder compared with libjpeg: pixels, errors and warnings, whole images and regions, under every
// instruction set.
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/random.h"
#include "ridgeline/image/jpeg/jpeg.h"
#include "ridgeline/image/pixels.h"
#include "support.h"

namespace ridgeline::image {
namespace {

using test::detailed_image;
using test::on_every_target;
using test::plain_encode;
using test::PlainEncoding;
using Bytes = std::vector<std::uint8_t>;

struct Outcome {
  std::string error;
  Image image;
  int warnings = 0;
  friend bool operator==(const Outcome&, const Outcome&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Outcome& o) {
    return out << o.image.height() << "x" << o.image.width() << " pixels, " << o.warnings << " warnings " << o.error;
  }
};

Outcome outcome(JpegDecoder& decoder, const Bytes& bytes, const Box* box, const JpegIndex* known = nullptr,
                JpegIndex* made = nullptr) {
  Outcome result;
  try {
    result.image = copy(box ? decoder.decode_region(bytes, *box, known, made) : decoder.decode(bytes, known, made));
    result.warnings = decoder.warnings();
  } catch (const Error& error) {
    result.error = error.what();
  }
  return result;
}

Box random_box(SampleRandom& random, int height, int width) {
  Box box;
  box.height = static_cast<int>(random.integer(1, height));
  box.width = static_cast<int>(random.integer(1, width));
  if (random.integer(0, 3) == 0) box.height = std::min(box.height, 3);
  if (random.integer(0, 3) == 0) box.width = std::min(box.width, 3);
  box.top = static_cast<int>(random.integer(0, height - box.height));
  box.left = static_cast<int>(random.integer(0, width - box.width));
  return box;
}

std::string text(const Box& b) {
  return std::to_string(b.top) + " " + std::to_string(b.left) + " " + std::to_string(b.height) + " " +
         std::to_string(b.width);
}

Bytes encode(int height, int width, std::pair<int, int> sampling, int quality, int restart, bool own_tables,
             std::uint64_t seed = 0) {
  PlainEncoding e;
  const bool grey = sampling.first == 0;
  if (!grey) std::tie(e.h, e.v) = sampling;
  e.quality = quality;
  e.restart = restart;
  e.own_tables = own_tables;
  return plain_encode(detailed_image(height, width, grey ? 1 : 3, seed), e);
}

class Compared {
 public:
  // The whole image and one region; with `index` also with an index.
  void operator()(const Bytes& bytes, const Box& box) {
    const Outcome whole = outcome(libjpeg_, bytes, nullptr), part = outcome(libjpeg_, bytes, &box);
    on_every_target([&] {
      JpegIndex early, index;
      ASSERT_EQ(outcome(own_, bytes, nullptr), whole);
      by_own += !own_.decoded_by_libjpeg();
      ASSERT_EQ(outcome(own_, bytes, &box, nullptr, &early), part) << text(box);
      ASSERT_EQ(outcome(own_, bytes, &box, &early, &early), part) << text(box);
      ASSERT_EQ(outcome(own_, bytes, nullptr, &early, &index), whole);
      if (index.empty()) return;
      ++indexed;
      ASSERT_EQ(outcome(own_, bytes, &box, &index), part) << text(box);
      ASSERT_EQ(outcome(own_, bytes, nullptr, &index), whole);
    });
  }
  int by_own = 0, indexed = 0;

 private:
  JpegDecoder own_{{}, JpegPath::own}, libjpeg_{{}, JpegPath::libjpeg};
};

TEST(JpegFast, EqualsLibjpegForAllSmallSizesAndSamplings) {
  Compared compare;
  SampleRandom random(philox_key(1, "sizes"), 0, 0);
  int files = 0;
  for (int height = 1; height <= 40; ++height) {
    for (int width = 1; width <= 40; width += height % 3 + 1) {
      for (const auto& sampling : test::kLumaSamplings) {
        const int quality = 1 + files * 37 % 100;
        ++files;
        SCOPED_TRACE(std::to_string(height) + "x" + std::to_string(width) + " sampling " +
                     std::to_string(sampling.first) + "x" + std::to_string(sampling.second) + " quality " +
                     std::to_string(quality));
        compare(encode(height, width, sampling, quality, files % 4 == 0 ? 1 + files % 3 : 0, files % 2 == 0),
                random_box(random, height, width));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
#if defined(__x86_64__)
  const int least = files;  // on several targets; very narrow files use libjpeg
#else
  const int least = files / 2;  // on one
#endif
  EXPECT_GT(compare.by_own, least);
  EXPECT_GT(compare.indexed, least);
}

TEST(JpegFast, EqualsLibjpegForEveryQuality) {
  Compared compare;
  SampleRandom random(philox_key(2, "qualities"), 0, 0);
  for (int quality = 1; quality <= 100; ++quality) {
    for (const auto& sampling : test::kLumaSamplings) {
      const int height = static_cast<int>(random.integer(1, 200)), width = static_cast<int>(random.integer(6, 300));
      SCOPED_TRACE(std::to_string(height) + "x" + std::to_string(width) + " sampling " +
                   std::to_string(sampling.first) + "x" + std::to_string(sampling.second) + " quality " +
                   std::to_string(quality));
      compare(encode(height, width, sampling, quality, quality % 7 == 0 ? quality : 0, quality % 3 == 0),
              random_box(random, height, width));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(JpegFast, ARegionEqualsThatOfLibjpegWithEveryStateOfTheIndex) {
  JpegDecoder own({}, JpegPath::own), libjpeg({}, JpegPath::libjpeg);
  SampleRandom random(philox_key(3, "regions"), 0, 0);
  for (const auto& sampling : test::kLumaSamplings) {
    const int height = 150, width = 333;
    const Bytes bytes = encode(height, width, sampling, 90, 0, false);
    const Image whole = copy(libjpeg.decode(bytes));
    JpegIndex growing;
    for (int i = 0; i < 120; ++i) {
      if (i % 20 == 0) growing = JpegIndex();
      const Box box = random_box(random, height, width);
      const int before = growing.known_rows();
      ASSERT_EQ(copy(own.decode_region(bytes, box, &growing, &growing)), copy(crop(whole, box))) << text(box);
      ASSERT_FALSE(own.decoded_by_libjpeg());
      ASSERT_GE(growing.known_rows(), before);
    }
    JpegIndex complete, extended = growing;
    own.decode(bytes, nullptr, &complete);
    ASSERT_EQ(copy(own.decode(bytes, &growing, &extended)), whole);
    EXPECT_EQ(extended, complete);
    const Bytes stored = complete.serialize();
    EXPECT_LT(stored.size(), std::size_t{4096});
    EXPECT_EQ(JpegIndex::parse(stored), complete);
  }
}

TEST(JpegFast, DamagedFilesGetLibjpegsVerdictOrPixels) {
  JpegDecoder own({1 << 20, 50}, JpegPath::own), libjpeg({1 << 20, 50}, JpegPath::libjpeg);
  SampleRandom random(philox_key(4, "damage"), 0, 0);
  int errors = 0, warnings = 0, by_own = 0;
  for (const auto& sampling : test::kLumaSamplings) {
    for (int restart : {0, 2}) {
      const int height = 50, width = 61;
      const Bytes good = encode(height, width, sampling, 80, restart, restart == 0);
      for (int i = 0; i < 1500; ++i) {
        Bytes bad = good;
        for (int k = 0; k <= i % 3; ++k) {
          const auto at = static_cast<std::size_t>(random.integer(2, static_cast<std::int64_t>(bad.size()) - 1));
          bad[at] = i % 2 ? static_cast<std::uint8_t>(random.integer(0, 255))
                          : static_cast<std::uint8_t>(bad[at] ^ 1 << random.integer(0, 7));
        }
        const Box box = random_box(random, height, width);
        const Outcome whole = outcome(libjpeg, bad, nullptr), part = outcome(libjpeg, bad, &box);
        errors += !whole.error.empty();
        warnings += whole.warnings;
        JpegIndex index;
        ASSERT_EQ(outcome(own, bad, nullptr, nullptr, &index), whole) << sampling.first << sampling.second << " " << i;
        by_own += whole.error.empty() && !own.decoded_by_libjpeg();
        ASSERT_EQ(outcome(own, bad, &box), part)
            << text(box) << " " << i << " " << sampling.first << sampling.second << " restart " << restart;
        if (index.empty()) continue;
        ASSERT_EQ(outcome(own, bad, &box, &index), part) << text(box) << " " << i;
      }
    }
  }
  EXPECT_GT(errors, 100);
  EXPECT_GT(warnings, 100);
  EXPECT_GT(by_own, 100);  // damage that changes only pixels
}

TEST(JpegFast, FilesCutAtEveryByteGetLibjpegsVerdict) {
  JpegDecoder own({}, JpegPath::own), libjpeg({}, JpegPath::libjpeg);
  for (const auto& sampling : test::kLumaSamplings) {
    for (int restart : {0, 1}) {
      const Bytes good = encode(37, 45, sampling, 70, restart, true);
      const Box boxes[] = {{0, 0, 5, 45}, {3, 4, 13, 20}, {0, 0, 16, 16}, {10, 3, 22, 30}, {30, 40, 7, 5}};
      for (std::size_t keep = 0; keep < good.size(); ++keep) {
        const Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(keep));
        ASSERT_EQ(outcome(own, cut, nullptr), outcome(libjpeg, cut, nullptr)) << keep;
        const Box& box = boxes[keep % std::size(boxes)];
        ASSERT_EQ(outcome(own, cut, &box), outcome(libjpeg, cut, &box)) << keep << " box " << text(box);
      }
      for (const Bytes& tail : {Bytes{0}, Bytes{0xff}, Bytes{0xff, 0xd9}, Bytes{1, 2, 3}, Bytes{0xff, 0xd0}}) {
        Bytes longer(good.begin(), good.end() - 2);
        longer.insert(longer.end(), tail.begin(), tail.end());
        longer.insert(longer.end(), {0xff, 0xd9});
        ASSERT_EQ(outcome(own, longer, nullptr), outcome(libjpeg, longer, nullptr));
        for (const Box& box : boxes) ASSERT_EQ(outcome(own, longer, &box), outcome(libjpeg, longer, &box)) << text(box);
      }
    }
  }
}

// With an index two rows are decoded alternately: here the first takes as long as many others.
TEST(JpegFast, ARowMuchLongerThanTheOthersChangesNothing) {
  JpegDecoder own({}, JpegPath::own), libjpeg({}, JpegPath::libjpeg);
  for (const auto& sampling : test::kLumaSamplings) {
    for (const int noisy : {0, 150, 391}) {
      PlainEncoding e;
      const bool grey = sampling.first == 0;
      if (!grey) std::tie(e.h, e.v) = sampling;
      e.quality = 98;
      Image image = detailed_image(400, 300, grey ? 1 : 3);
      std::fill(image.row(0), image.row(noisy), std::uint8_t{90});
      std::fill(image.row(noisy + 8), image.row(399) + image.stride(), std::uint8_t{40});
      const Bytes bytes = plain_encode(image, e);
      JpegIndex index;
      const Image whole = copy(own.decode(bytes, nullptr, &index));
      ASSERT_EQ(whole, copy(libjpeg.decode(bytes)));
      ASSERT_EQ(copy(own.decode(bytes, &index)), whole) << sampling.first << sampling.second << " " << noisy;
      ASSERT_FALSE(own.decoded_by_libjpeg());
      const Box box{3, 20, 390, 250};
      ASSERT_EQ(copy(own.decode_region(bytes, box, &index)), copy(crop(whole, box)));
    }
  }
}

// Little data after the region does not mean a truncated file if the end marker is there.
TEST(JpegFast, ARegionAboveAFlatBottomIsNotLeftToLibjpeg) {
  JpegDecoder own({}, JpegPath::own), libjpeg({}, JpegPath::libjpeg);
  for (const auto& sampling : test::kLumaSamplings) {
    for (int restart : {0, 2}) {
      PlainEncoding e;
      const bool grey = sampling.first == 0;
      if (!grey) std::tie(e.h, e.v) = sampling;
      e.restart = restart;
      Image image = detailed_image(64, 32, grey ? 1 : 3);
      std::fill(image.row(24), image.row(64), std::uint8_t{128});
      const Bytes bytes = plain_encode(image, e);
      const Box box{0, 3, 20, 25};
      JpegIndex index;
      const Outcome part = outcome(libjpeg, bytes, &box);
      ASSERT_EQ(outcome(own, bytes, &box, nullptr, &index), part);
      EXPECT_FALSE(own.decoded_by_libjpeg()) << sampling.first << sampling.second << " restart " << restart;
      EXPECT_EQ(index.empty(), restart > 0);
      ASSERT_EQ(outcome(own, bytes, &box, &index), part);
      EXPECT_FALSE(own.decoded_by_libjpeg());
    }
  }
}

TEST(JpegFast, AnIndexOfAnotherFileIsRefused) {
  JpegDecoder own({}, JpegPath::own);
  const Bytes one = encode(80, 90, {2, 2}, 80, 0, false, 1), other = encode(80, 90, {2, 2}, 80, 0, false, 2);
  JpegIndex of_one, of_other, none;
  const Image pixels = copy(own.decode(one, nullptr, &of_one));
  own.decode(other, nullptr, &of_other);
  ASSERT_FALSE(of_one == of_other);
  EXPECT_EQ(copy(own.decode(one, &of_other, &none)), pixels);
  EXPECT_EQ(none, of_one);
  const Box box{40, 33, 20, 31};
  EXPECT_EQ(copy(own.decode_region(one, box, &of_other)), copy(crop(pixels, box)));
}

TEST(JpegFast, ADamagedIndexNeverCrashesAndAWrongPlaceIsNoticedInAWholeDecode) {
  JpegDecoder own({}, JpegPath::own);
  SampleRandom random(philox_key(5, "index"), 0, 0);
  for (const auto& sampling : test::kLumaSamplings) {
    const Bytes bytes = encode(130, 210, sampling, 85, 0, false);
    JpegIndex index;
    const Image whole = copy(own.decode(bytes, nullptr, &index));
    const Bytes stored = index.serialize();
    int parsed = 0;
    for (int i = 0; i < 400; ++i) {
      Bytes bad = stored;
      const auto at = static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(bad.size()) - 1));
      bad[at] = static_cast<std::uint8_t>(random.integer(0, 255));
      if (i % 5 == 0) bad.resize(at);
      const std::optional<JpegIndex> read = JpegIndex::parse(bad);
      if (!read) continue;
      ++parsed;
      JpegIndex made;
      const ImageView again = own.decode(bytes, &*read, &made);
      ASSERT_EQ(copy(again), whole) << i;
      own.decode_region(bytes, random_box(random, 130, 210), &*read);
      ASSERT_FALSE(own.decoded_by_libjpeg());
    }
    EXPECT_GT(parsed, 50);
    EXPECT_EQ(copy(own.decode(bytes)), whole);
  }
  EXPECT_FALSE(JpegIndex::parse({}));
  EXPECT_FALSE(JpegIndex::parse(Bytes{'R', 'J', 'I', 1}));
}

TEST(JpegFast, FilesThatAreNotOursGoToLibjpeg) {
  JpegDecoder own({}, JpegPath::own), libjpeg({}, JpegPath::libjpeg);
  PlainEncoding progressive, arithmetic, separate, wide;
  progressive.progressive = true;
  arithmetic.arithmetic = true;
  separate.one_scan_each = true;
  wide.h = 4;
  for (const PlainEncoding& e : {progressive, arithmetic, separate, wide}) {
    const Bytes bytes = plain_encode(detailed_image(40, 50, 3), e);
    JpegIndex index;
    EXPECT_EQ(outcome(own, bytes, nullptr, nullptr, &index), outcome(libjpeg, bytes, nullptr));
    EXPECT_TRUE(own.decoded_by_libjpeg());
    EXPECT_TRUE(index.empty());
  }
  own.decode(plain_encode(detailed_image(40, 50, 3), {}));
  EXPECT_FALSE(own.decoded_by_libjpeg());
  libjpeg.decode(plain_encode(detailed_image(40, 50, 3), {}));
  EXPECT_TRUE(libjpeg.decoded_by_libjpeg());
}

TEST(JpegFast, TheEnvironmentChoosesThePath) {
  const char* before = std::getenv("RIDGELINE_JPEG");
  const std::string kept = before ? before : "";
  setenv("RIDGELINE_JPEG", "libjpeg", 1);
  EXPECT_EQ(jpeg_path_from_environment(), JpegPath::libjpeg);
  setenv("RIDGELINE_JPEG", "own", 1);
  EXPECT_EQ(jpeg_path_from_environment(), JpegPath::own);
  setenv("RIDGELINE_JPEG", "one_stream", 1);
  EXPECT_EQ(jpeg_path_from_environment(), JpegPath::one_stream);
  setenv("RIDGELINE_JPEG", "turbo", 1);
  EXPECT_THROW(jpeg_path_from_environment(), Error);
  unsetenv("RIDGELINE_JPEG");
  EXPECT_EQ(jpeg_path_from_environment(), JpegPath::own);
  if (before) setenv("RIDGELINE_JPEG", kept.c_str(), 1);
}

TEST(JpegFast, RealFilesEqualLibjpeg) {
  if (test::pack_a().empty()) GTEST_SKIP() << "RIDGELINE_TEST_DATA is not set";
  JpegDecoder own({}, JpegPath::own), libjpeg({}, JpegPath::libjpeg);
  SampleRandom random(philox_key(6, "files"), 0, 0);
  for (const char* folder : {"imagenet-fullsize", "imagenette224", "flowers12-224", "dali-jpeg-cc0", "awkward"}) {
    int files = 0, by_own = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(test::pack_a() + "/" + folder)) {
      if (!entry.is_regular_file()) continue;
      const Bytes bytes = test::as_bytes(read_file(entry.path().string()));
      if (bytes.size() < 3 || bytes[0] != 0xff || bytes[1] != 0xd8) continue;
      ++files;
      JpegIndex index;
      const Outcome whole = outcome(libjpeg, bytes, nullptr);
      ASSERT_EQ(outcome(own, bytes, nullptr, nullptr, &index), whole) << entry.path();
      by_own += whole.error.empty() && !own.decoded_by_libjpeg();
      for (int i = 0; i < 2 && whole.error.empty(); ++i) {
        const Box box = random_box(random, whole.image.height(), whole.image.width());
        const Outcome part = outcome(libjpeg, bytes, &box);
        ASSERT_EQ(outcome(own, bytes, &box), part) << entry.path() << " " << text(box);
        ASSERT_EQ(outcome(own, bytes, &box, &index), part) << entry.path() << " " << text(box);
      }
    }
    EXPECT_GT(files, 10) << folder;
    EXPECT_GT(by_own, std::string_view(folder) == "awkward" ? files / 10 : files * 9 / 10) << folder << " " << files;
  }
}

}  // namespace
}  // namespace ridgeline::image
