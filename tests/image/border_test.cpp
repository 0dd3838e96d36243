#include <gtest/gtest.h>

#include "pixel_oracle.h"
#include "ridgeline/core/error.h"
#include "ridgeline/image/augment/border.h"
#include "ridgeline/image/pixels.h"
#include "support.h"

namespace ridgeline::image {
namespace {

constexpr BorderMode kModes[] = {BorderMode::constant, BorderMode::edge, BorderMode::reflect, BorderMode::symmetric};

TEST(Border, EveryModeEqualsPillowAndNumpy) {
  SampleRandom random(philox_key(1, "border"), 0, 0);
  test::PixelOracle oracle;
  for (int i = 0; i < 200; ++i) {
    const auto side = [&](int high) { return static_cast<int>(random.integer(1, high)); };
    const Image image = test::detailed_image(side(12), side(12), i % 3 == 0 ? 1 : 3);
    const BorderMode mode = kModes[i % 4];
    // numpy before 2.0 mirrors incorrectly if it has to mirror more than once and the borders differ.
    const bool mirrors = mode == BorderMode::reflect || mode == BorderMode::symmetric;
    const int high = mirrors ? image.height() : 30, wide = mirrors ? image.width() : 30;
    const Border border{side(high) - 1, side(wide) - 1, side(high) - 1, side(wide) - 1};
    const Size size = padded_size({image.height(), image.width()}, border);
    Image ours(size.height, size.width, image.channels());
    pad(image, border, mode, {9, 80, 200}, ours.data());
    oracle.add("pad", image,
               {double(i % 4), double(border.top), double(border.left), double(border.bottom), double(border.right), 9,
                80, 200},
               std::move(ours));
  }
  oracle.compare();
}

TEST(Border, MirrorsGoOnForAsLongAsNeeded) {
  const auto shown = [](BorderMode mode, int n) {
    std::string text;
    for (int i = -9; i < n + 9; ++i) text += static_cast<char>('a' + source_position(mode, i, n));
    return text;
  };
  EXPECT_EQ(shown(BorderMode::edge, 3), "aaaaaaaaaabcccccccccc");
  EXPECT_EQ(shown(BorderMode::reflect, 3),
            "babcbabcb"
            "abc"
            "babcbabcb");
  EXPECT_EQ(shown(BorderMode::symmetric, 3),
            "cbaabccba"
            "abc"
            "cbaabccba");
  EXPECT_EQ(shown(BorderMode::reflect, 1), std::string(19, 'a'));
  EXPECT_EQ(shown(BorderMode::symmetric, 1), std::string(19, 'a'));
}

TEST(Border, APartOfAnImageIsContinuedByItsOwnPixels) {
  const Image image = test::detailed_image(20, 20, 3);
  const ImageView part = crop(image, {4, 5, 6, 7});
  Image a(10, 11), b(10, 11);
  pad(part, {2, 2, 2, 2}, BorderMode::reflect, {}, a.data());
  pad(copy(part), {2, 2, 2, 2}, BorderMode::reflect, {}, b.data());
  EXPECT_EQ(a, b);
}

TEST(Border, ErrorsSayWhatIsAllowed) {
  EXPECT_THROW(padded_size({4, 4}, {-1, 0, 0, 0}), Error);
  try {
    parse_border_mode("mirror");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[pad] unknown mode 'mirror' (allowed: constant, edge, reflect, symmetric)");
    EXPECT_EQ(error.kind(), ErrorKind::usage);
  }
  for (const BorderMode mode : kModes) EXPECT_EQ(parse_border_mode(name_of(mode)), mode);
}

}  // namespace
}  // namespace ridgeline::image
