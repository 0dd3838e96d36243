#include <cmath>

#include <gtest/gtest.h>

#include "ridgeline/core/error.h"
#include "ridgeline/image/geometry.h"

namespace ridgeline::image {
namespace {

SampleRandom crop_draws(std::uint64_t sample) { return SampleRandom(philox_key(11, "crop"), 0, sample); }

TEST(RandomResizedCrop, FollowsTorchvisionsRule) {
  const Size image{375, 500};
  const CropRule rule;
  double area = 0, log_ratio = 0, top = 0, left = 0;
  int last_row = 0, last_column = 0;
  constexpr int n = 100000;
  for (int i = 0; i < n; ++i) {
    SampleRandom random = crop_draws(static_cast<std::uint64_t>(i));
    const Box box = random_resized_crop(image, rule, random);
    ASSERT_GT(box.height, 0);
    ASSERT_GT(box.width, 0);
    ASSERT_GE(box.top, 0);
    ASSERT_GE(box.left, 0);
    ASSERT_LE(box.top + box.height, image.height);
    ASSERT_LE(box.left + box.width, image.width);
    const double share = static_cast<double>(box.height) * box.width / (375.0 * 500.0);
    ASSERT_GT(share, 0.078);
    const double ratio = static_cast<double>(box.width) / box.height;
    ASSERT_GT(ratio, 0.73);
    ASSERT_LT(ratio, 1.37);
    area += share;
    log_ratio += std::log(ratio);
    if (box.height < image.height) top += static_cast<double>(box.top) / (image.height - box.height);
    if (box.width < image.width) left += static_cast<double>(box.left) / (image.width - box.width);
    last_row += box.top + box.height == image.height;
    last_column += box.left + box.width == image.width;
  }
  EXPECT_NEAR(area / n, 0.433, 0.005);  // 500x375, simulated with torchvision
  EXPECT_NEAR(log_ratio / n, 0.03, 0.03);
  EXPECT_NEAR(top / n, 0.5, 0.01);
  EXPECT_NEAR(left / n, 0.5, 0.01);
  EXPECT_GT(last_row, 0);  // both ends are possible
  EXPECT_GT(last_column, 0);
}

TEST(RandomResizedCrop, IsAPureFunctionOfItsDraws) {
  for (std::uint64_t i = 0; i < 100; ++i) {
    SampleRandom a = crop_draws(i), b = crop_draws(i);
    EXPECT_EQ(random_resized_crop({300, 200}, {}, a), random_resized_crop({300, 200}, {}, b));
  }
}

TEST(RandomResizedCrop, DrawsRatioAfterAreaAndRowBeforeColumn) {
  const Size image{1000, 1000};
  SampleRandom random = crop_draws(5), replay = crop_draws(5);
  const Box box = random_resized_crop(image, {}, random);
  const double target = 1e6 * replay.uniform(0.08, 1.0);
  const double ratio = std::exp(replay.uniform(std::log(0.75), std::log(4.0 / 3.0)));
  ASSERT_EQ(box.width, std::lround(std::sqrt(target * ratio)));
  ASSERT_EQ(box.height, std::lround(std::sqrt(target / ratio)));
  EXPECT_EQ(box.top, replay.integer(0, 1000 - box.height));
  EXPECT_EQ(box.left, replay.integer(0, 1000 - box.width));
}

TEST(RandomResizedCrop, FallsBackToTheLargestCentredBoxWithinTheRatios) {
  CropRule whole;
  whole.scale_low = whole.scale_high = 1.0;  // no crop with the whole area has an allowed ratio
  SampleRandom random = crop_draws(0);
  EXPECT_EQ(random_resized_crop({100, 1000}, whole, random), (Box{0, 433, 100, 133}));
  EXPECT_EQ(random_resized_crop({1000, 100}, whole, random), (Box{433, 0, 133, 100}));
  EXPECT_EQ(random_resized_crop({1, 1}, whole, random), (Box{0, 0, 1, 1}));
}

TEST(RandomResizedCrop, CoversPartOfAnObjectOrTakesTheWholeImage) {
  const std::vector<ObjectBox> objects = {{0.9f, 0.9f, 1.0f, 1.0f}};
  int whole = 0;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    SampleRandom random = crop_draws(i);
    const Box box = random_resized_crop({200, 300}, {}, random, objects);
    const double height = std::max(0.0, box.top + box.height - 180.0),
                 width = std::max(0.0, box.left + box.width - 270.0);
    EXPECT_GE(height * width, 0.1 * 20 * 30 - 1e-3);
    whole += box == Box{0, 0, 200, 300};
  }
  EXPECT_LT(whole, 1200);  // about half find the corner in ten attempts
  EXPECT_GT(whole, 700);
  CropRule tiny;
  tiny.scale_low = tiny.scale_high = 0.001;
  tiny.min_object_covered = 1.0;
  SampleRandom random = crop_draws(1);
  EXPECT_EQ(random_resized_crop({200, 300}, tiny, random, objects), (Box{0, 0, 200, 300}));
  // An object smaller than a pixel is ignored.
  EXPECT_EQ(random_resized_crop({200, 300}, {}, random, std::vector<ObjectBox>{{0.5f, 0.5f, 0.5f, 0.9f}}),
            (Box{0, 0, 200, 300}));
}

TEST(RandomResizedCrop, RefusesRulesNoImageCanMeet) {
  CropRule reversed;
  reversed.scale_low = 0.9;
  reversed.scale_high = 0.5;
  EXPECT_THROW(check_crop_rule(reversed), Error);
  CropRule ratio;
  ratio.ratio_low = 0;
  EXPECT_THROW(check_crop_rule(ratio), Error);
  EXPECT_NO_THROW(check_crop_rule({}));
}

TEST(Resize, ShortSideIsTorchvisionsForEverySize) {
  for (int height = 1; height <= 300; ++height) {
    for (int width = 1; width <= 300; ++width) {
      const Size out = resized_short_side({height, width}, 232);
      const int shorter = std::min(height, width), longer = std::max(height, width);
      const int exact = 232 * longer / shorter;  // truncation of an exact quotient
      ASSERT_EQ(out, (width <= height ? Size{exact, 232} : Size{232, exact})) << height << "x" << width;
    }
  }
  EXPECT_EQ(resized_short_side({480, 116}, 232), (Size{960, 232}));
  EXPECT_EQ(resized_short_side({500, 375}, 256), (Size{341, 256}));
  EXPECT_THROW(resized_short_side({0, 5}, 256), Error);
}

TEST(Resize, MindDatasLongSideIsSometimesOnePixelShorter) {
  EXPECT_EQ(resized_short_side({480, 116}, 232, SizeRule::mindata), (Size{959, 232}));
  int differing = 0;
  for (int height = 1; height <= 300; ++height) {
    for (int width = 1; width <= 300; ++width) {
      const Size ours = resized_short_side({height, width}, 232, SizeRule::mindata);
      const Size exact = resized_short_side({height, width}, 232);
      const float ratio = static_cast<float>(std::max(height, width)) / static_cast<float>(std::min(height, width));
      ASSERT_EQ(std::max(ours.height, ours.width), static_cast<int>(std::floor(ratio * 232.0f)));
      ASSERT_EQ(std::min(ours.height, ours.width), 232);
      ASSERT_EQ(ours.height >= ours.width, exact.height >= exact.width);
      differing += ours != exact;
    }
  }
  EXPECT_GT(differing, 0);
  EXPECT_LT(differing, 200);
}

// The hashes are torchvision's (size_golden.py in this folder).
class Fnv {
 public:
  void add(int value) { hash_ = (hash_ ^ static_cast<std::uint32_t>(value)) * 0x100000001b3ull; }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325ull;
};

TEST(Resize, SizesAreTorchvisionsForAllHeightsAndWidthsUpTo600) {
  const std::pair<int, std::uint64_t> golden[] = {{64, 0x9ca74d399cd203f3ull},
                                                  {224, 0x33130d63aa314a0bull},
                                                  {232, 0x09762ddc9a329459ull},
                                                  {256, 0x9e66aa87ce488fe5ull},
                                                  {299, 0xcb70bfd83c475101ull}};
  for (const auto& [size, expected] : golden) {
    Fnv hash;
    for (int height = 1; height <= 600; ++height) {
      for (int width = 1; width <= 600; ++width) {
        const Size out = resized_short_side({height, width}, size);
        hash.add(out.height);
        hash.add(out.width);
      }
    }
    EXPECT_EQ(hash.value(), expected) << size;
  }
}

TEST(CenterCrop, OffsetsAreTorchvisionsForAllLengthsUpTo600) {
  const std::pair<int, std::uint64_t> golden[] = {{32, 0xdd0b2cfcbf3e51c5ull},
                                                  {64, 0x389f25965448cea5ull},
                                                  {224, 0xd5a0160ec38aed45ull},
                                                  {299, 0x9e5b6b1300b9a5dbull}};
  for (const auto& [size, expected] : golden) {
    Fnv hash;
    for (int length = 1; length <= 600; ++length) {
      for (const bool vertical : {true, false}) {
        const CenterCrop crop = center_crop(vertical ? Size{length, 1} : Size{1, length}, {size, size});
        const int begin = vertical ? crop.box.top - crop.pad_top : crop.box.left - crop.pad_left;
        for (int i = begin; i < begin + size; ++i) hash.add(i < 0 || i >= length ? -1 : i);
      }
    }
    EXPECT_EQ(hash.value(), expected) << size;
  }
}

TEST(CenterCrop, OffsetsRoundHalfToEven) {
  EXPECT_EQ(center_crop({227, 225}, {224, 224}).box, (Box{2, 0, 224, 224}));    // 1.5 -> 2, 0.5 -> 0
  EXPECT_EQ(center_crop({229, 231}, {224, 224}).box, (Box{2, 4, 224, 224}));    // 2.5 -> 2, 3.5 -> 4
  EXPECT_EQ(center_crop({256, 341}, {224, 224}).box, (Box{16, 58, 224, 224}));  // 58.5 -> 58
}

TEST(CenterCrop, PadsWhatIsTooSmall) {
  const CenterCrop both = center_crop({5, 4}, {8, 9});
  EXPECT_EQ(both.pad_top, 1);
  EXPECT_EQ(both.pad_bottom, 2);
  EXPECT_EQ(both.pad_left, 2);
  EXPECT_EQ(both.pad_right, 3);
  EXPECT_EQ(both.box, (Box{0, 0, 8, 9}));
  const CenterCrop rows = center_crop({5, 12}, {8, 9});
  EXPECT_EQ(rows.pad_left, 0);
  EXPECT_EQ(rows.box, (Box{0, 2, 8, 9}));
}

}  // namespace
}  // namespace ridgeline::image
