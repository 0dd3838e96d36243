// Transforms of colours, blurs and erasing, against the functions of image/ called one by one with the same draws.
#include <cmath>
#include <functional>

#include "pictures.h"
#include "ridgeline/image/augment/blur.h"
#include "ridgeline/image/augment/colour.h"
#include "ridgeline/image/augment/colour_jitter.h"
#include "ridgeline/image/augment/enhance.h"
#include "ridgeline/image/augment/erase.h"
#include "ridgeline/image/augment/tone.h"
#include "ridgeline/image/normalize.h"
#include "ridgeline/image/resample/resample.h"

namespace ridgeline::data::testing {
namespace {

using View = const image::ImageView&;
using Op = std::function<void(View, std::uint8_t*)>;

image::Image made(const image::Image& in, const Op& op) {
  image::Image out(in.height(), in.width(), in.channels());
  op(in, out.data());
  return out;
}

TEST(ColourTransforms, FixedOnesAreTheFunctionsOfImage) {
  const Pictures pictures;
  const std::vector<std::pair<Transform, Op>> all{
      {AdjustBrightness(1.4), [](View v, std::uint8_t* o) { image::adjust_brightness(v, 1.4, o); }},
      {AdjustContrast(0.3), [](View v, std::uint8_t* o) { image::adjust_contrast(v, 0.3, o); }},
      {AdjustSaturation(2.5), [](View v, std::uint8_t* o) { image::adjust_saturation(v, 2.5, o); }},
      {AdjustSharpness(3), [](View v, std::uint8_t* o) { image::adjust_sharpness(v, 3, o); }},
      {AdjustHue(-0.2), [](View v, std::uint8_t* o) { image::adjust_hue(v, -0.2, o); }},
      {Invert(), [](View v, std::uint8_t* o) { image::invert(v, o); }},
      {Posterize(3), [](View v, std::uint8_t* o) { image::posterize(v, 3, o); }},
      {Solarize(90), [](View v, std::uint8_t* o) { image::solarize(v, 90, o); }},
      {AutoContrast(), [](View v, std::uint8_t* o) { image::autocontrast(v, o); }},
      {Equalize(), [](View v, std::uint8_t* o) { image::equalize(v, o); }},
      {Grayscale(3), [](View v, std::uint8_t* o) { image::grayscale(v, 3, o); }},
      {GaussianBlur({3, 5}, {.sigma = 1.5}),
       [](View v, std::uint8_t* o) { image::gaussian_blur(v, {3, 5, 1.5, 1.5}, o); }}};
  for (const auto& [transform, op] : all) {
    for (std::uint64_t i = 0; i < 3; ++i) {
      SCOPED_TRACE(transform.op);
      expect_pixels(pictures.through({transform}, i), made(pictures.decoded(i), op));
    }
  }
}

TEST(ColourTransforms, GrayscaleLeavesOneChannel) {
  const Pictures pictures;
  const image::Image whole = pictures.decoded(0);
  image::Image grey(whole.height(), whole.width(), 1);
  image::grayscale(whole, 1, grey.data());
  expect_pixels(pictures.through({Grayscale()}, 0), grey);
  EXPECT_EQ(to_string(rows_in_memory(1).map(Grayscale(), Normalize({0.5}, {0.5})).columns()),
            "image f32[4,6,1], label i32[]");
}

// Transforms with a probability draw one double for it.
TEST(ColourTransforms, RandomOnesApplyBelowTheirProbability) {
  const Pictures pictures;
  const std::vector<std::pair<std::function<Transform(double)>, Op>> all{
      {RandomGrayscale, [](View v, std::uint8_t* o) { image::grayscale(v, 3, o); }},
      {RandomInvert, [](View v, std::uint8_t* o) { image::invert(v, o); }},
      {[](double p) { return RandomPosterize(2, p); }, [](View v, std::uint8_t* o) { image::posterize(v, 2, o); }},
      {[](double p) { return RandomSolarize(99, p); }, [](View v, std::uint8_t* o) { image::solarize(v, 99, o); }},
      {RandomAutoContrast, [](View v, std::uint8_t* o) { image::autocontrast(v, o); }},
      {RandomEqualize, [](View v, std::uint8_t* o) { image::equalize(v, o); }},
      {[](double p) { return RandomSharpness(2.5, p); },
       [](View v, std::uint8_t* o) { image::adjust_sharpness(v, 2.5, o); }}};
  for (const auto& [make, op] : all) {
    int applied = 0;
    for (std::uint64_t k = 0; k < 12; ++k) {
      const std::uint64_t i = k % 6, epoch = k / 6;
      const std::string name = make(0.5).op;
      SCOPED_TRACE(name);
      SampleRandom random = Pictures::draws(name.c_str(), i, epoch);
      const bool apply = random.uniform() < 0.4;
      applied += apply ? 1 : 0;
      const image::Image whole = pictures.decoded(i);
      expect_pixels(pictures.through({make(0.4)}, i, epoch), apply ? made(whole, op) : whole);
    }
    EXPECT_GT(applied, 0);
    EXPECT_LT(applied, 12);
  }
}

// About a share p of 4000 rows is changed, which their pixels tell.
TEST(ColourTransforms, ProbabilitiesAreMet) {
  constexpr int kRows = 4000;
  Tensor images(DType::u8, Shape{kRows, 2, 2, 3});
  for (std::int64_t i = 0; i < images.elements(); ++i)
    images.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i % 12);
  const Dataset rows = InMemory({{"image", images}});
  const std::vector<std::pair<Transform, double>> all{
      {RandomInvert(0.3), 0.3},       {RandomGrayscale(), 0.1},
      {RandomVerticalFlip(), 0.5},    {RandomSolarize(0), 0.5},
      {RandomAutoContrast(0.7), 0.7}, {RandomPerspective({.p = 0.2, .fill = 200}), 0.2},
      {RandomApply({Invert()}), 0.5}, {RandomChoice({Invert(), AdjustBrightness(1)}, {3, 1}), 0.75}};
  for (const auto& [transform, p] : all) {
    Iterator it(rows.map(transform).batch(kRows), {.pull = true});
    const std::optional<Batch> batch = it.next();
    const auto* got = batch->column("image").data<std::uint8_t>();
    int changed = 0;
    for (int row = 0; row < kRows; ++row)
      changed += std::memcmp(got + row * 12, images.data<std::uint8_t>() + row * 12, 12) != 0 ? 1 : 0;
    // RandomPerspective of 2x2 pixels moves corners by 0 only, and then nothing changes.
    const double wanted = transform.op == "random_perspective" ? 0 : p;
    EXPECT_NEAR(changed, kRows * wanted, 4.5 * std::sqrt(kRows * wanted * (1 - wanted)) + 1e-9) << transform.op;
  }
}

TEST(ColourTransforms, ColorJitterTakesTorchvisionsNumbersAndRanges) {
  const Pictures pictures;
  for (std::uint64_t i = 0; i < 6; ++i) {
    const image::Image whole = pictures.decoded(i);
    const auto wanted = [&](const image::ColourJitterRule& rule, std::uint64_t epoch) {
      SampleRandom random = Pictures::draws("color_jitter", i, epoch);
      const image::ColourJitter jitter = image::draw_colour_jitter(rule, random);
      return made(whole, [&](View v, std::uint8_t* o) { image::apply_colour_jitter(v, jitter, o); });
    };
    const ColorJitterOptions numbers{.brightness = 0.4, .contrast = 0.3, .saturation = 1.5, .hue = 0.1};
    expect_pixels(pictures.through({ColorJitter(numbers)}, i),
                  wanted(image::colour_jitter_rule(0.4, 0.3, 1.5, 0.1), 0));
    expect_pixels(pictures.through({RandomColorAdjust(numbers)}, i, 3),
                  wanted(image::colour_jitter_rule(0.4, 0.3, 1.5, 0.1), 3));
    expect_pixels(pictures.through({ColorJitter({.saturation = {0.2, 0.4}, .hue = {-0.1, 0.3}})}, i),
                  wanted({.saturation = {0.2, 0.4}, .hue = {-0.1, 0.3}}, 0));
    expect_pixels(pictures.through({RandomBrightness({0.5, 0.6})}, i), wanted({.brightness = {0.5, 0.6}}, 0));
    expect_pixels(pictures.through({RandomContrast(0.2)}, i), wanted({.contrast = {0.8, 1.2}}, 0));
    expect_pixels(pictures.through({RandomSaturation(0.2)}, i), wanted({.saturation = {0.8, 1.2}}, 0));
    expect_pixels(pictures.through({RandomHue(0.2)}, i), wanted({.hue = {-0.2, 0.2}}, 0));
  }
}

TEST(ColourTransforms, BlurAndSharpnessDrawFromRanges) {
  const Pictures pictures;
  for (std::uint64_t i = 0; i < 6; ++i) {
    const image::Image whole = pictures.decoded(i);
    SampleRandom random = Pictures::draws("gaussian_blur", i, 1);
    const double sigma = random.uniform(0.1, 2.0);
    expect_pixels(pictures.through({GaussianBlur(5)}, i, 1),
                  made(whole, [&](View v, std::uint8_t* o) { image::gaussian_blur(v, {5, 5, sigma, sigma}, o); }));
    SampleRandom sharp = Pictures::draws("random_sharpness", i, 1);
    (void)sharp.uniform();
    const double factor = sharp.uniform(0.1, 1.9);
    expect_pixels(pictures.through({RandomSharpness({0.1, 1.9}, 1.0)}, i, 1),
                  made(whole, [&](View v, std::uint8_t* o) { image::adjust_sharpness(v, factor, o); }));
  }
}

TEST(ColourTransforms, RandomErasingFillsBytes) {
  const Pictures pictures;
  for (std::uint64_t i = 0; i < 6; ++i) {
    const image::Image whole = pictures.decoded(i);
    const image::Size size{whole.height(), whole.width()};
    for (const bool noise : {false, true}) {
      SampleRandom random = Pictures::draws("random_erasing", i, 1);
      image::Image wanted = whole;
      if (random.uniform() < 0.8) {
        const std::optional<image::Box> box = image::draw_erasing_box(size, {0.1, 0.2, 0.5, 2}, random);
        if (box && noise) image::erase_with_noise(wanted.data(), size, 3, *box, random);
        if (box && !noise) image::erase(wanted.data(), size, 3, *box, {10, 20, 30});
      }
      const RandomErasingOptions options{
          .p = 0.8, .scale = {0.1, 0.2}, .ratio = {0.5, 2}, .value = {10, 20, 30}, .noise = noise};
      expect_pixels(pictures.through({RandomErasing(options)}, i, 1), wanted);
    }
  }
}

TEST(ColourTransforms, RandomErasingFillsFloatsAfterNormalize) {
  const Pictures pictures;
  for (std::uint64_t i = 0; i < 6; ++i) {
    const image::Image small = image::resize(pictures.decoded(i), image::Size{16, 14});
    for (const bool noise : {false, true}) {
      std::vector<float> wanted(16 * 14 * 3);
      image::NormalizeTable(image::kImagenetMean, image::kImagenetStd).tail(small, false, wanted.data());
      SampleRandom random = Pictures::draws("random_erasing", i);
      if (random.uniform() < 0.9) {
        const std::optional<image::Box> box = image::draw_erasing_box({16, 14}, {}, random);
        if (box && noise) image::erase_with_noise(wanted.data(), {16, 14}, 3, *box, random);
        if (box && !noise) image::erase(wanted.data(), {16, 14}, 3, *box, {0.5f, -1, 2});
      }
      const Tensor got = pictures.through(
          {Resize({16, 14}), Normalize::imagenet(), RandomErasing({.p = 0.9, .value = {0.5, -1, 2}, .noise = noise})},
          i);
      ASSERT_EQ(got.byte_size(), wanted.size() * sizeof(float));
      EXPECT_EQ(std::memcmp(got.raw(), wanted.data(), got.byte_size()), 0);
    }
  }
}

TEST(ColourTransforms, CutOutFillsSquaresByEitherRule) {
  const Pictures pictures;
  for (const auto& [name, rule] :
       {std::pair{"centre", image::CutoutRule::centre}, {"mindata", image::CutoutRule::mindata}}) {
    const image::Image whole = pictures.decoded(1);
    const image::Size size{whole.height(), whole.width()};
    image::Image wanted = whole;
    SampleRandom random = Pictures::draws("cutout", 1, 2);
    for (int k = 0; k < 3; ++k)
      image::erase(wanted.data(), size, 3, image::draw_cutout_box(size, 7, random, rule), {9, 9, 9});
    expect_pixels(pictures.through({CutOut(7, {.num_patches = 3, .law = name, .fill = 9})}, 1, 2), wanted);
  }
}

}  // namespace
}  // namespace ridgeline::data::testing
