#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include <gtest/gtest.h>

#include "every_target.h"
#include "pixel_oracle.h"
#include "ridgeline/core/error.h"
#include "ridgeline/image/augment/colour.h"
#include "ridgeline/image/augment/enhance.h"
#include "ridgeline/image/augment/tone.h"
#include "ridgeline/image/pixels.h"
#include "support.h"

namespace ridgeline::image {
namespace {

using test::detailed_image;

using Op = std::function<void(const ImageView&, std::uint8_t*)>;

Image result_of(const ImageView& in, const Op& op, int channels = 0) {
  Image out(in.height, in.width, channels ? channels : in.channels);
  op(in, out.data());
  return out;
}

struct Named {
  std::string name;
  std::vector<double> numbers;
  Op op;
  bool in_place = true;
};

// Every operation with random parameters.
std::vector<Named> operations(SampleRandom& random) {
  constexpr double special[] = {0, 1, 0.5, 2};
  const auto factor = [&] { return random.integer(0, 3) == 0 ? special[random.integer(0, 3)] : random.uniform(0, 3); };
  const double b = factor(), c = factor(), s = factor(), k = factor(), turn = random.uniform(-0.5, 0.5);
  const int bits = static_cast<int>(random.integer(0, 8)), addition = static_cast<int>(random.integer(0, 255));
  const double threshold = random.integer(0, 1) == 0 ? random.uniform(0, 256) : double(random.integer(0, 256));
  return {
      {"adjust_brightness", {b}, [=](const ImageView& in, std::uint8_t* out) { adjust_brightness(in, b, out); }},
      {"adjust_contrast", {c}, [=](const ImageView& in, std::uint8_t* out) { adjust_contrast(in, c, out); }},
      {"adjust_saturation", {s}, [=](const ImageView& in, std::uint8_t* out) { adjust_saturation(in, s, out); }},
      {"adjust_sharpness", {k}, [=](const ImageView& in, std::uint8_t* out) { adjust_sharpness(in, k, out); }, false},
      {"adjust_hue", {turn}, [=](const ImageView& in, std::uint8_t* out) { adjust_hue(in, turn, out); }},
      {"invert", {}, invert},
      {"posterize", {double(bits)}, [=](const ImageView& in, std::uint8_t* out) { posterize(in, bits, out); }},
      {"solarize", {threshold}, [=](const ImageView& in, std::uint8_t* out) { solarize(in, threshold, out); }},
      {"solarize_add",
       {double(addition), threshold},
       [=](const ImageView& in, std::uint8_t* out) { solarize_add(in, addition, threshold, out); }},
      {"autocontrast", {}, autocontrast},
      {"equalize", {}, equalize},
  };
}

// Detail, narrow ranges, single colours and tiny sizes.
Image picture(SampleRandom& random, int i, int channels) {
  const auto side = [&] { return static_cast<int>(i % 5 == 0 ? random.integer(1, 4) : random.integer(1, 100)); };
  Image image = detailed_image(side(), side(), channels, static_cast<std::uint64_t>(i));
  if (i % 7 == 3) posterize(image, 2, image.data());
  if (i % 7 == 4) adjust_contrast(image, 0.2, image.data());
  if (i % 7 == 5) std::memset(image.data(), i, image.byte_size());
  return image;
}

TEST(Colour, EveryOperationEqualsPillow) {
  SampleRandom random(philox_key(1, "colour"), 0, 0);
  test::PixelOracle oracle;
  for (int i = 0; i < 300; ++i) {
    const Image image = picture(random, i, i % 4 == 0 ? 1 : 3);
    for (const Named& op : operations(random)) oracle.add(op.name, image, op.numbers, result_of(image, op.op));
    for (const int channels : {1, 3}) {
      const auto grey = [&](const ImageView& in, std::uint8_t* out) { grayscale(in, channels, out); };
      oracle.add("grayscale" + std::to_string(channels), image, {}, result_of(image, grey, channels));
    }
  }
  oracle.compare();
}

TEST(Colour, EveryInstructionSetGivesTheSameBits) {
  SampleRandom random(philox_key(4, "targets"), 0, 0);
  for (int i = 0; i < 60; ++i) {
    const Image image = picture(random, i, 3);
    for (const Named& op : operations(random)) {
      Image first;
      test::on_every_target([&] {
        const Image out = result_of(image, op.op);
        if (first.height() == 0) first = out;
        ASSERT_EQ(out, first) << op.name << " " << i;
      });
    }
  }
}

TEST(Colour, HueOfEveryColourEqualsPillow) {
  test::PixelOracle oracle;
  for (int part = 0; part < 16; ++part) {  // a sixteenth of the 2^24 colours, all values of each channel
    Image image(256, 256, 3);
    for (int y = 0; y < 256; ++y) {
      for (int x = 0; x < 256; ++x) {
        std::uint8_t* p = image.row(y) + 3 * x;
        p[0] = static_cast<std::uint8_t>(y), p[1] = static_cast<std::uint8_t>(x);
        p[2] = static_cast<std::uint8_t>(part * 16 + (x + y) % 16);
      }
    }
    const double turn = (part - 8) / 16.0;
    const Op op = [=](const ImageView& in, std::uint8_t* out) { adjust_hue(in, turn, out); };
    oracle.add("adjust_hue", image, {turn}, result_of(image, op));
  }
  oracle.compare();
}

// rgb2hsv and hsv2rgb of Pillow's Convert.c, with its float and double types.
void hue_of_convert_c(const std::uint8_t* in, int shift, std::uint8_t* out) {
  const int high = std::max({in[0], in[1], in[2]}), low = std::min({in[0], in[1], in[2]});
  std::uint8_t uh = 0, us = 0;
  if (high != low) {
    const auto range = static_cast<float>(high - low);
    const float s = range / static_cast<float>(high);
    const auto share = [&](int v) { return static_cast<float>(high - v) / range; };
    const float rc = share(in[0]), gc = share(in[1]), bc = share(in[2]);
    float h = in[0] == high   ? bc - gc
              : in[1] == high ? static_cast<float>(2.0 + static_cast<double>(rc) - static_cast<double>(bc))
                              : static_cast<float>(4.0 + static_cast<double>(gc) - static_cast<double>(rc));
    h = static_cast<float>(std::fmod(static_cast<double>(h) / 6.0 + 1.0, 1.0));
    uh = static_cast<std::uint8_t>(static_cast<double>(h) * 255.0);
    us = static_cast<std::uint8_t>(static_cast<double>(s) * 255.0);
  }
  uh = static_cast<std::uint8_t>(uh + shift);
  const auto v = static_cast<std::uint8_t>(high);
  const double sixths = static_cast<double>(static_cast<float>(uh)) * 6.0 / 255.0;
  const int sector = static_cast<int>(std::floor(sixths));
  const auto f = static_cast<float>(sixths - static_cast<double>(sector));
  const auto fs = static_cast<float>(static_cast<double>(static_cast<float>(us)) / 255.0);
  const auto part = [&](double away) {
    return static_cast<std::uint8_t>(std::round(static_cast<double>(v) * (1.0 - away)));
  };
  const std::uint8_t p = part(static_cast<double>(fs)), q = part(static_cast<double>(fs * f)),
                     t = part(static_cast<double>(fs) * (1.0 - static_cast<double>(f)));
  const std::uint8_t sectors[6][3] = {{v, t, p}, {q, v, p}, {p, v, t}, {p, q, v}, {t, p, v}, {v, p, q}};
  for (int c = 0; c < 3; ++c) out[c] = us == 0 ? v : sectors[sector % 6][c];
}

TEST(Colour, HueOfAllGreensAndBluesWithEveryThirdRedIsThatOfConvertC) {
  Image image(256, 256, 3);
  for (int red = 0; red < 256; red += 3) {
    const int shift = red - 127;
    for (int y = 0; y < 256; ++y) {
      for (int x = 0; x < 256; ++x) {
        std::uint8_t* p = image.row(y) + 3 * x;
        p[0] = static_cast<std::uint8_t>(red), p[1] = static_cast<std::uint8_t>(y), p[2] = static_cast<std::uint8_t>(x);
      }
    }
    const double factor = std::clamp((shift + (shift < 0 ? -0.25 : 0.25)) / 255, -0.5, 0.5);
    ASSERT_EQ(static_cast<int>(factor * 255), std::clamp(shift, -127, 127));
    std::vector<std::uint8_t> expected(image.byte_size());
    for (std::size_t i = 0; i < expected.size(); i += 3)
      hue_of_convert_c(image.data() + i, static_cast<int>(factor * 255), expected.data() + i);
    test::on_every_target([&] {
      const Image turned =
          result_of(image, [&](const ImageView& in, std::uint8_t* out) { adjust_hue(in, factor, out); });
      ASSERT_EQ(std::memcmp(turned.data(), expected.data(), expected.size()), 0) << "red " << red;
    });
  }
}

TEST(Colour, InPlaceAndFromAPartGiveTheSame) {
  SampleRandom random(philox_key(2, "colour"), 0, 0);
  for (int i = 0; i < 20; ++i) {
    const Image whole = detailed_image(30, 40, i % 3 == 0 ? 1 : 3, static_cast<std::uint64_t>(i));
    const ImageView part = crop(whole, {3, 5, 20, 30});  // rows with padding
    for (const Named& op : operations(random)) {
      const Image expected = result_of(copy(part), op.op);
      EXPECT_EQ(result_of(part, op.op), expected) << op.name;
      if (!op.in_place) continue;
      Image place = copy(part);
      op.op(place, place.data());
      EXPECT_EQ(place, expected) << op.name;
    }
  }
}

TEST(Colour, ErrorsSayWhatIsAllowed) {
  const Image rgb(2, 2, 3), four(2, 2, 4);
  Image out(2, 2, 4);
  const auto message = [](const std::function<void()>& body) -> std::string {
    try {
      body();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message([&] { adjust_hue(rgb, 0.7, out.data()); }), "[adjust_hue] factor 0.700000 is not from -0.5 to 0.5");
  EXPECT_EQ(message([&] { posterize(rgb, 9, out.data()); }), "[posterize] keeps 0 to 8 bits, not 9");
  EXPECT_EQ(message([&] { invert(four, out.data()); }), "[invert] needs 1 or 3 channels, not 4");
  EXPECT_EQ(message([&] { grayscale(rgb, 2, out.data()); }), "[grayscale] makes 1 or 3 channels, not 2");
  EXPECT_EQ(message([&] { adjust_brightness(rgb, 1.0 / 0.0, out.data()); }),
            "[adjust_brightness] factor must be finite");
  EXPECT_EQ(message([&] { solarize_add(rgb, 300, 128, out.data()); }),
            "[solarize_add] addition must be 0 to 255, not 300");
  EXPECT_EQ(message([&] { equalize(ImageView{}, out.data()); }), "[equalize] an image of 0x0 has no pixels");
}

}  // namespace
}  // namespace ridgeline::image
