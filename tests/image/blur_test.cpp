#include <sstream>

#include <gtest/gtest.h>

#include "every_target.h"
#include "peer_oracle.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/image/augment/blur.h"
#include "ridgeline/image/pixels.h"
#include "support.h"
#include "tests/support/paths.h"

namespace ridgeline::image {
namespace {

Image blurred(const ImageView& in, const BlurRule& rule) {
  Image out(in.height, in.width, in.channels);
  gaussian_blur(in, rule, out.data());
  return out;
}

TEST(GaussianBlur, TorchvisionsVectorsWithin1) {
  std::istringstream lines(read_file(testing::source_directory() + "/tests/data/image/torch_golden.txt"));
  std::string line;
  test::Difference difference;
  int cases = 0;
  while (std::getline(lines, line)) {
    if (!line.starts_with("blur")) continue;
    std::istringstream words(line);
    std::string name, hex;
    int height, width, channels;
    BlurRule rule;
    words >> name >> height >> width >> channels >> rule.kernel_width >> rule.kernel_height >> rule.sigma_x >>
        rule.sigma_y >> hex;
    difference.add(blurred(test::golden_picture(height, width, channels), rule),
                   test::from_hex(hex, height, width, channels));
    ++cases;
  }
  EXPECT_EQ(cases, 8);
  EXPECT_LE(difference.largest, 1);
  EXPECT_LT(difference.share(), 0.002);
}

TEST(GaussianBlur, RandomRulesAreTorchvisionsWithin1) {
  if (!std::getenv("RIDGELINE_TORCH_PYTHON")) GTEST_SKIP() << "RIDGELINE_TORCH_PYTHON names no Python with torchvision";
  SampleRandom random(philox_key(1, "blur"), 0, 0);
  std::vector<test::PeerCase> cases;
  for (int i = 0; i < 100; ++i) {
    const auto odd = [&] { return 2 * static_cast<int>(random.integer(0, 8)) + 1; };
    const BlurRule rule{odd(), odd(), random.uniform(0.1, 5), random.uniform(0.1, 5)};
    Image image = test::detailed_image(static_cast<int>(random.integer(9, 60)), static_cast<int>(random.integer(9, 60)),
                                       i % 3 == 0 ? 1 : 3, static_cast<std::uint64_t>(i));
    char line[200];
    std::snprintf(line, sizeof line, "blur %d %d %d %d %d %.17g %.17g", image.height(), image.width(), image.channels(),
                  rule.kernel_width, rule.kernel_height, rule.sigma_x, rule.sigma_y);
    Image ours = blurred(image, rule);
    cases.push_back({line, std::move(image), std::move(ours)});
  }
  test::Difference difference;
  test::run_peer("RIDGELINE_TORCH_PYTHON", "blur", cases,
                 [&](const test::PeerCase& c, const Image& theirs) { difference.add(c.ours, theirs); });
  std::printf("blur: %zu of %zu bytes differ (%.3g), by at most %d\n", difference.differing, difference.bytes,
              difference.share(), difference.largest);
  EXPECT_LE(difference.largest, 1);
  EXPECT_LT(difference.share(), 0.002);
}

// One value after the other, each product and sum rounded to float, in the order of the weights.
TEST(GaussianBlur, EveryInstructionSetSumsInTheSameOrder) {
  for (const int width : {3, 16, 21, 64, 65, 100}) {
    for (const int channels : {1, 3}) {
      const Image image = test::detailed_image(9, width, channels);
      const BlurRule rule{7, 5, 1.3, 0.9};
      Image first;
      test::on_every_target([&] {
        const Image out = blurred(image, rule);
        if (first.height() == 0) first = out;
        ASSERT_EQ(out, first) << width << "x" << channels;
      });
    }
  }
}

TEST(GaussianBlur, SmoothsAndKeepsWhatIsPlain) {
  Image plain(5, 7, 3);
  for (std::size_t i = 0; i < plain.byte_size(); ++i) plain.data()[i] = static_cast<std::uint8_t>(50 * (i % 3) + 9);
  EXPECT_EQ(blurred(plain, blur_rule(9)), plain);  // the window is larger than the image
  EXPECT_EQ(blurred(plain, {1, 1, 3, 3}), plain);
  Image point(9, 9, 1);
  point.data()[40] = 255;
  const Image out = blurred(point, {3, 3, 0.8, 0.8});
  EXPECT_EQ(out.row(4)[4], 69);  // 255 * (1 / (1 + 2 exp(-0.78125)))^2
  EXPECT_EQ(out.row(4)[3], out.row(3)[4]);
  EXPECT_EQ(out.row(3)[3], out.row(5)[5]);
  EXPECT_EQ(out.row(2)[4], 0);
}

TEST(GaussianBlur, InPlaceAndFromAPartGiveTheSame) {
  const Image whole = test::detailed_image(30, 40, 3);
  const ImageView part = crop(whole, {3, 5, 20, 30});
  Image place = copy(part);
  const Image expected = blurred(place, {5, 7, 1.5, 2});
  EXPECT_EQ(blurred(part, {5, 7, 1.5, 2}), expected);
  gaussian_blur(place, {5, 7, 1.5, 2}, place.data());
  EXPECT_EQ(place, expected);
}

TEST(GaussianBlur, ErrorsSayWhatIsAllowed) {
  EXPECT_THROW(check_blur_rule(blur_rule(4)), Error);
  EXPECT_THROW(check_blur_rule({3, 3, 0, 1}), Error);
  EXPECT_THROW(check_blur_rule({3, 3, 1, -1}), Error);
  EXPECT_NO_THROW(check_blur_rule(blur_rule(23)));
}

}  // namespace
}  // namespace ridgeline::image
