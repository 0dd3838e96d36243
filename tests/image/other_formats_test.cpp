// WebP and BMP: which files are accepted, and their pixels, both as in Pillow.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <optional>

#include "bmp_samples.h"
#include "pillow_files.h"
#include "ridgeline/core/bytes.h"
#include "ridgeline/core/error.h"
#include "ridgeline/image/decode.h"
#include "ridgeline/image/pixels.h"
#include "support.h"
#include "tests/support/error_of.h"
#include "webp_samples.h"

namespace ridgeline::image {
namespace {

struct Family {
  const char* name;
  int kinds;
  std::string (*make)(int kind, SampleRandom& random);
};
const Family kFamilies[] = {{"webp", test::webp_kinds(), test::make_webp}, {"bmp", test::bmp_kinds(), test::make_bmp}};

std::string sample_of(const Family& family, int kind, int number) {
  SampleRandom random(philox_key(23, family.name), static_cast<std::uint64_t>(kind),
                      static_cast<std::uint64_t>(number));
  return family.make(kind, random);
}

std::size_t number_below(SampleRandom& random, std::size_t count) {
  return static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(count) - 1));
}

std::string damaged(std::string bytes, SampleRandom& random) {
  switch (random.integer(0, 5)) {
    case 0: bytes.resize(number_below(random, bytes.size())); break;
    case 1: bytes.resize(bytes.size() - std::min<std::size_t>(bytes.size(), number_below(random, 12))); break;
    case 2: bytes.erase(number_below(random, bytes.size()), 1 + number_below(random, 3)); break;
    case 3:
      bytes.insert(number_below(random, bytes.size()), 1 + number_below(random, 3), static_cast<char>(random.bits()));
      break;
    default: {
      const std::size_t within = random.integer(0, 1) == 0 ? std::min<std::size_t>(60, bytes.size()) : bytes.size();
      for (std::int64_t k = random.integer(1, 3); k > 0; --k)
        bytes[number_below(random, within)] = static_cast<char>(random.bits());
    }
  }
  return bytes;
}

struct Reading {
  std::string error;
  Image image;
};
Reading read_here(const std::string& bytes) {
  Reading outcome;
  outcome.error = ridgeline::error_of([&] { outcome.image = decode(as_bytes(bytes)); });
  return outcome;
}

class OtherFormats : public ::testing::TestWithParam<Family> {
 protected:
  const std::string python_ = test::python_with_pillow();
};

TEST_P(OtherFormats, HaveThePixelsOfPillow) {
  if (python_.empty()) GTEST_SKIP() << "no Python with a Pillow older than 13 (set RIDGELINE_PYTHON to one)";
  const Family family = GetParam();
  std::vector<std::string> files;
  for (int kind = 0; kind < family.kinds; ++kind) {
    for (int i = 0; i < 20; ++i) files.push_back(sample_of(family, kind, i));
  }
  const auto pillow = test::read_by_pillow(python_, files);
  for (std::size_t i = 0; i < files.size(); ++i) {
    SCOPED_TRACE("kind " + std::to_string(i / 20) + ", file " + std::to_string(i % 20));
    ASSERT_TRUE(pillow[i].has_value());
    const Reading outcome = read_here(files[i]);
    ASSERT_EQ(outcome.error, "");
    ASSERT_EQ(outcome.image, *pillow[i]);
    const Header header = read_header(as_bytes(files[i]));
    EXPECT_EQ(header.size(), (Size{outcome.image.height(), outcome.image.width()}));
    SampleRandom random(philox_key(5, "box"), i, 0);
    const int height = static_cast<int>(random.integer(1, header.height));
    const int width = static_cast<int>(random.integer(1, header.width));
    const Box box{static_cast<int>(random.integer(0, header.height - height)),
                  static_cast<int>(random.integer(0, header.width - width)), height, width};
    EXPECT_EQ(decode_region(as_bytes(files[i]), box), copy(crop(outcome.image, box)));
  }
}

// In a damaged BMP, runs and palettes are read where Pillow loses its position; docs/image.md says how.
bool read_better(const std::string& bytes, int kind) {
  constexpr std::size_t kBits = 28;
  return test::has_runs(kind) || bytes.size() <= kBits || static_cast<std::uint8_t>(bytes[kBits]) <= 8;
}

TEST_P(OtherFormats, DamagedAreReadOrRefusedAsByPillow) {
  if (python_.empty()) GTEST_SKIP() << "no Python with a Pillow older than 13 (set RIDGELINE_PYTHON to one)";
  const Family family = GetParam();
  const char* count = std::getenv("RIDGELINE_MUTATIONS");
  const int each = count ? std::atoi(count) / family.kinds : 60;
  std::vector<std::string> files;
  for (int kind = 0; kind < family.kinds; ++kind) {
    for (int i = 0; i < each; ++i) {
      SampleRandom random(philox_key(29, family.name), static_cast<std::uint64_t>(kind), static_cast<std::uint64_t>(i));
      // Headers with large sizes are not worth more cases than small ones.
      std::string bytes = damaged(sample_of(family, kind, i), random);
      std::int64_t pixels = 0;
      ridgeline::error_of([&] {
        const Header header = read_header(as_bytes(bytes));
        pixels = static_cast<std::int64_t>(header.height) * header.width;
      });
      files.push_back(pixels > 100'000 ? sample_of(family, kind, i) : std::move(bytes));
    }
  }
  const auto pillow = test::read_by_pillow(python_, files);
  int good = 0, refused = 0, better = 0, wrong = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const int kind = static_cast<int>(i) / each;
    const Reading outcome = read_here(files[i]);
    if (!pillow[i] && !outcome.error.empty()) {
      ++refused;
    } else if (pillow[i] && outcome.error.empty() && *pillow[i] == outcome.image) {
      ++good;
    } else if (family.make == test::make_bmp && read_better(files[i], kind)) {
      ++better;
    } else if (++wrong <= 10) {
      ADD_FAILURE() << "file " << i << " (kind " << kind << "): Pillow " << (pillow[i] ? "reads it" : "refuses it")
                    << ", we say: "
                    << (outcome.error.empty() ? "read, with other pixels or a size of our own" : outcome.error);
    }
  }
  const int all = static_cast<int>(files.size());
  EXPECT_EQ(wrong, 0) << "of " << all << " files";
  EXPECT_GT(good, all / 10);
  EXPECT_GT(refused, all / 10);
  EXPECT_LT(better, all / 10);
}

// For any bytes: an Error or an image.
TEST_P(OtherFormats, HostileFilesNeverCrash) {
  const Family family = GetParam();
  int errors = 0;
  for (int kind = 0; kind < family.kinds; ++kind) {
    for (int i = 0; i < 40; ++i) {
      SampleRandom random(philox_key(31, family.name), static_cast<std::uint64_t>(kind), static_cast<std::uint64_t>(i));
      std::string bytes = sample_of(family, kind, i);
      for (std::int64_t k = random.integer(1, 4); k > 0; --k) bytes = damaged(bytes.empty() ? "BM" : bytes, random);
      Decoder decoder({1 << 20, 10});
      errors += !ridgeline::error_of([&] { decoder.decode(as_bytes(bytes)); }).empty();
      errors += !ridgeline::error_of([&] { read_header(as_bytes(bytes)); }).empty();
    }
  }
  EXPECT_GT(errors, family.kinds * 10);
}

INSTANTIATE_TEST_SUITE_P(All, OtherFormats, ::testing::ValuesIn(kFamilies),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Bmp, AnAbsurdHeaderIsRefusedBeforeMemoryIsTaken) {
  SampleRandom random(philox_key(1, "bmp"), 0, 0);
  std::string bytes = test::make_bmp(13, random);
  bytes.replace(18, 8, std::string("\0\0\1\0\0\0\1\0", 8));  // 65,536 pixels a side
  EXPECT_EQ(ridgeline::error_of([&] { decode(as_bytes(bytes)); }),
            "[bmp] 65536x65536 pixels are more than the limit of 268435456");
  bytes.replace(18, 8, std::string("\0\x20\0\0\0\x20\0\0", 8));
  EXPECT_EQ(ridgeline::error_of([&] { decode(as_bytes(bytes)); }), "[bmp] the file ends inside its pixels");
}

TEST(WebP, ItsLimitIsAskedBeforeMemoryIsTaken) {
  SampleRandom random(philox_key(1, "webp"), 0, 0);
  const std::string bytes = test::webp_with_exif(test::detailed_image(30, 40, 3), "");
  Decoder decoder({1199, 10});
  EXPECT_EQ(ridgeline::error_of([&] { decoder.decode(as_bytes(bytes)); }),
            "[webp] 30x40 pixels are more than the limit of 1199");
}

TEST(WebP, AnAnimationIsCalledOneInItsHeader) {
  SampleRandom random(philox_key(1, "webp"), 0, 0);
  EXPECT_TRUE(read_header(as_bytes(test::make_webp(5, random))).animated);
  EXPECT_FALSE(read_header(as_bytes(test::make_webp(0, random))).animated);
}

}  // namespace
}  // namespace ridgeline::image
