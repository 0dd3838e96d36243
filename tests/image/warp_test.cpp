#include <cmath>
#include <sstream>

#include <gtest/gtest.h>

#include "peer_oracle.h"
#include "pixel_oracle.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/image/augment/rotate.h"
#include "ridgeline/image/augment/warp.h"
#include "ridgeline/image/pixels.h"
#include "support.h"
#include "tests/support/paths.h"

namespace ridgeline::image {
namespace {

using test::detailed_image;

constexpr Sampling kSamplings[] = {Sampling::nearest, Sampling::bilinear, Sampling::bicubic};
constexpr Colour kFill = {17, 130, 240};

Image random_image(SampleRandom& random, int i) {
  const auto side = [&] { return static_cast<int>(random.integer(1, i % 6 == 0 ? 5 : 70)); };
  return detailed_image(side(), side(), i % 4 == 0 ? 1 : 3, static_cast<std::uint64_t>(i));
}

std::vector<double> with_fill(std::vector<double> numbers) {
  for (const int v : kFill) numbers.push_back(v);
  return numbers;
}

TEST(Warp, AffineMatricesGivePillowsPixels) {
  SampleRandom random(philox_key(1, "warp"), 0, 0);
  test::PixelOracle oracle;
  for (int i = 0; i < 300; ++i) {
    const Image image = random_image(random, i);
    AffineMatrix m{random.uniform(-2, 2), random.uniform(-2, 2), random.uniform(-20, 60),
                   random.uniform(-2, 2), random.uniform(-2, 2), random.uniform(-20, 60)};
    if (i % 5 == 1) m.b = m.d = 0;  // scaling computes positions differently
    if (i % 5 == 2) m = {1, 0, double(random.integer(-9, 9)), 0, 1, double(random.integer(-9, 9))};  // whole pixels
    if (i % 5 == 3) m = {1, random.uniform(-0.3, 0.3), 0, 0, 1, 0};  // shear of the policies
    if (i == 4) m.c = 40000;                                         // beyond the range of fixed point
    if (i == 9) m = {-900, 3, 40000, 0.25, 2, -10};
    const Size size{static_cast<int>(random.integer(1, 60)), static_cast<int>(random.integer(1, 60))};
    for (const Sampling sampling : kSamplings) {
      Image ours(size.height, size.width, image.channels());
      warp_affine(image, m, sampling, kFill, size, ours.data());
      oracle.add("affine", image,
                 with_fill({m.a, m.b, m.c, m.d, m.e, m.f, double(static_cast<int>(sampling)), double(size.height),
                            double(size.width)}),
                 std::move(ours));
    }
  }
  oracle.compare();
}

TEST(Warp, RotationsGivePillowsPixelsAndSizes) {
  SampleRandom random(philox_key(2, "warp"), 0, 0);
  test::PixelOracle oracle;
  for (int i = 0; i < 300; ++i) {
    Image image = random_image(random, i);
    if (i % 7 == 0) image = detailed_image(image.height(), image.height(), 3);  // square: quarter turns are exact
    const double angle = i % 3 == 0 ? 15.0 * static_cast<double>(random.integer(-30, 30)) : random.uniform(-400, 400);
    const bool expand = i % 2 == 0;
    const Sampling sampling = kSamplings[i / 2 % 3];
    std::vector<double> numbers = {angle, double(expand), double(static_cast<int>(sampling))};
    std::optional<Centre> centre;
    if (i % 5 == 4) {
      centre = Centre{random.uniform(-5, 40), double(random.integer(0, 30))};
      numbers.insert(numbers.end(), {centre->x, centre->y});
    }
    const Rotation rotation = plan_rotation({image.height(), image.width()}, angle, expand, centre);
    Image ours(rotation.size.height, rotation.size.width, image.channels());
    rotate(image, rotation, sampling, kFill, ours.data());
    oracle.add(centre ? "rotate_about" : "rotate", image, with_fill(numbers), std::move(ours));
  }
  oracle.compare();
}

TEST(Warp, PerspectivesGivePillowsPixels) {
  SampleRandom random(philox_key(3, "warp"), 0, 0);
  test::PixelOracle oracle;
  for (int i = 0; i < 150; ++i) {
    const Image image = random_image(random, i);
    const double w = image.width() - 1, h = image.height() - 1;
    const auto near = [&](double v) { return v + random.uniform(-0.2, 0.2) * std::max(w, h); };
    const Corners corners = {{{0, 0}, {w + 1, 0}, {w + 1, h + 1}, {0, h + 1}}};
    Corners moved = corners;
    for (auto& point : moved) point = {near(point[0]), near(point[1])};
    const PerspectiveCoefficients k = perspective_coefficients(corners, moved);
    for (std::size_t c = 0; c < 4; ++c) {  // the moved corner has the pixel of the source's corner
      const double below = k[6] * moved[c][0] + k[7] * moved[c][1] + 1;
      EXPECT_NEAR((k[0] * moved[c][0] + k[1] * moved[c][1] + k[2]) / below, corners[c][0], 0.01);
      EXPECT_NEAR((k[3] * moved[c][0] + k[4] * moved[c][1] + k[5]) / below, corners[c][1], 0.01);
    }
    const Sampling sampling = kSamplings[i % 3];
    Image ours(image.height(), image.width(), image.channels());
    perspective(image, k, sampling, kFill, ours.data());
    std::vector<double> numbers(k.begin(), k.end());
    numbers.push_back(static_cast<int>(sampling));
    oracle.add("perspective", image, with_fill(numbers), std::move(ours));
  }
  oracle.compare();
}

TEST(Warp, AffineRuleIsTurnThenShearThenScaleAboutTheCentreThenMove) {
  // Forward by the definition, in the order of torchvision's comment; the matrix must be the inverse.
  const AffineRule rule{33, 4.5, -7, 1.3, 12, -21};
  const AffineMatrix m = affine_matrix(rule, {40, 60});
  const double pi = std::acos(-1.0), turn = 33 * pi / 180, sx = 12 * pi / 180, sy = -21 * pi / 180;
  for (const auto& [x, y] : {std::pair{0.0, 0.0}, {60.0, 0.0}, {13.0, 37.0}}) {
    double u = x - 30, v = y - 20;
    u -= std::tan(sx) * v;
    v -= std::tan(sy) * u;
    u *= 1.3, v *= 1.3;
    const double to_x = std::cos(turn) * u - std::sin(turn) * v + 30 + 4.5;
    const double to_y = std::sin(turn) * u + std::cos(turn) * v + 20 - 7;
    EXPECT_NEAR(m.a * to_x + m.b * to_y + m.c, x, 1e-9);
    EXPECT_NEAR(m.d * to_x + m.e * to_y + m.f, y, 1e-9);
  }
}

TEST(Warp, AffineRuleIsTorchvisionsOnPilImages) {
  std::istringstream file(read_file(testing::source_directory() + "/tests/data/image/policy_golden.txt"));
  std::string line, kind, hex;
  int cases = 0;
  while (std::getline(file, line)) {
    if (!line.starts_with("affine ")) continue;
    std::istringstream words(line);
    AffineRule rule;
    std::array<double, 6> theirs{};
    int sampling, height, width;
    words >> kind >> rule.angle >> rule.translate_x >> rule.translate_y >> rule.scale >> rule.shear_x >> rule.shear_y;
    for (double& v : theirs) words >> v;
    words >> sampling >> height >> width >> hex;
    const AffineMatrix m = affine_matrix(rule, {height, width});
    const std::array<double, 6> ours = {m.a, m.b, m.c, m.d, m.e, m.f};
    for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(ours[i], theirs[i], 1e-12 * (1 + std::fabs(theirs[i]))) << line;
    Image out(height, width);
    affine(test::golden_picture(height, width, 3), rule, kSamplings[sampling], kFill, out.data());
    EXPECT_EQ(test::to_hex(out), hex) << line.substr(0, 60);
    ++cases;
  }
  EXPECT_EQ(cases, 12);
}

TEST(Warp, ErrorsSayWhatIsAllowed) {
  Image image(4, 4), out(4, 4);
  EXPECT_THROW(affine_matrix({0, 0, 0, 0, 0, 0}, Size{4, 4}), Error);   // scale 0
  EXPECT_THROW(affine_matrix({0, 0, 0, 1, 90, 0}, Size{4, 4}), Error);  // flat
  EXPECT_THROW(plan_rotation({4, 4}, std::nan("")), Error);
  EXPECT_THROW(warp_affine(image, {}, Sampling::nearest, {}, {0, 4}, out.data()), Error);
  EXPECT_THROW(perspective_coefficients({{{0, 0}, {1, 0}, {1, 1}, {0, 1}}}, {{{0, 0}, {1, 1}, {2, 2}, {0, 1}}}), Error);
  try {
    parse_sampling("biliner");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "[affine] unknown sampling 'biliner': did you mean 'bilinear'? (allowed: nearest, bilinear, bicubic)");
  }
  for (const Sampling sampling : kSamplings) EXPECT_EQ(parse_sampling(name_of(sampling)), sampling);
}

TEST(FlipVertical, EqualsPillow) {
  SampleRandom random(philox_key(4, "warp"), 0, 0);
  test::PixelOracle oracle;
  for (int i = 0; i < 20; ++i) {
    const Image image = random_image(random, i);
    Image out(image.height(), image.width(), image.channels());
    flip_vertical(image, out.data());
    oracle.add("flip_vertical", image, {}, std::move(out));
  }
  oracle.compare();
}

}  // namespace
}  // namespace ridgeline::image
