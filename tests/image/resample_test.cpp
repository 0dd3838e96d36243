#include <cstring>
#include <filesystem>
#include <sstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "every_target.h"
#include "peer_oracle.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/image/pixels.h"
#include "ridgeline/image/resample/resample.h"
#include "support.h"
#include "tests/support/paths.h"

namespace ridgeline::image {
namespace {

using test::detailed_image;
using test::on_every_target;
using test::to_hex;

constexpr Filter kPillowFilters[] = {Filter::nearest, Filter::box, Filter::bilinear, Filter::bicubic, Filter::lanczos};

ResizeSpec random_spec(SampleRandom& random, Filter filter) {
  ResizeSpec spec;
  const auto side = [&](int limit) { return static_cast<int>(random.integer(1, limit)); };
  spec.in = {side(90), side(120)};
  spec.out = {side(80), side(80)};
  spec.filter = filter;
  if (random.integer(0, 2) == 0) {
    FloatBox box;
    box.left = static_cast<float>(random.uniform(0, spec.in.width * 0.6));
    box.top = static_cast<float>(random.uniform(0, spec.in.height * 0.6));
    box.right = static_cast<float>(random.uniform(box.left + spec.in.width * 0.05, spec.in.width));
    box.bottom = static_cast<float>(random.uniform(box.top + spec.in.height * 0.05, spec.in.height));
    if (random.integer(0, 1) == 0 && spec.in.width > 8 && spec.in.height > 8) {
      box = {2, 3, static_cast<float>(spec.in.width - 1), static_cast<float>(spec.in.height - 2)};
    }
    spec.box = box;
  }
  return spec;
}

TEST(Resample, GoldenVectorsMadeWithPillow) {
  std::istringstream file(read_file(testing::source_directory() + "/tests/data/image/resample_golden.txt"));
  std::string name, hex;
  int height, width, out_height, out_width, cases = 0;
  FloatBox box;
  while (file >> name >> height >> width >> out_height >> out_width >> box.left >> box.top >> box.right >> box.bottom >>
         hex) {
    const Image image = test::golden_picture(height, width, 3);
    ResizeSpec spec{{height, width}, {out_height, out_width}, parse_filter(name), std::nullopt, std::nullopt};
    if (box.right > 0) spec.box = box;
    on_every_target([&] { EXPECT_EQ(to_hex(resize(image, spec)), hex) << name << " " << height << "x" << width; });
    ++cases;
  }
  EXPECT_EQ(cases, 35);
}

TEST(Resample, EveryInstructionSetGivesTheSameBits) {
  SampleRandom random(philox_key(1, "targets"), 0, 0);
  for (int i = 0; i < 150; ++i) {
    const ResizeSpec spec = random_spec(random, kPillowFilters[i % 5]);
    const Image image =
        detailed_image(spec.in.height, spec.in.width, i % 7 == 0 ? 1 + i % 4 : 3, static_cast<std::uint64_t>(i));
    std::optional<Image> first;
    on_every_target([&] {
      const Image result = resize(image, spec);
      if (!first) first = result;
      ASSERT_EQ(result, *first);
    });
  }
}

TEST(Resample, AWindowEqualsThatPartOfTheWholeResult) {
  SampleRandom random(philox_key(2, "windows"), 0, 0);
  Resizer resizer;
  for (int i = 0; i < 200; ++i) {
    ResizeSpec spec = random_spec(random, i % 6 == 5 ? Filter::tf1_bilinear : kPillowFilters[i % 6]);
    const Image image = detailed_image(spec.in.height, spec.in.width, 3);
    const Image whole = resize(image, spec);
    Box window;
    window.height = static_cast<int>(random.integer(1, spec.out.height));
    window.width = static_cast<int>(random.integer(1, spec.out.width));
    window.top = static_cast<int>(random.integer(0, spec.out.height - window.height));
    window.left = static_cast<int>(random.integer(0, spec.out.width - window.width));
    spec.window = window;
    resizer.prepare(spec);
    ASSERT_EQ(resizer.result(), (Size{window.height, window.width}));
    // Only the pixels that source() returns may be read.
    const Image part = copy(crop(image, resizer.source()));
    Image result(window.height, window.width);
    resizer.run(part, result.data(), result.stride());
    ASSERT_EQ(result, copy(crop(whole, window))) << name_of(spec.filter);
  }
}

TEST(Resample, GivesTheSamePixelsRowByRow) {
  struct Rows : RowSink {
    Image image;
    int next = 0;
    void take(int y, const std::uint8_t* row) override {
      ASSERT_EQ(y, next++);
      std::copy_n(row, image.stride(), image.row(y));
    }
  };
  Resizer resizer;
  for (const Filter filter : all_filters()) {
    for (const int channels : {1, 3}) {
      const Image in = detailed_image(31, 44, channels);
      for (const Size out : {Size{17, 23}, Size{31, 23}, Size{17, 44}, Size{31, 44}, Size{50, 60}}) {
        const ResizeSpec spec{{31, 44}, out, filter, std::nullopt, Box{2, 3, out.height - 4, out.width - 5}};
        resizer.prepare(spec);
        Rows rows;
        rows.image.reset(resizer.result().height, resizer.result().width, channels);
        resizer.run(crop(in, resizer.source()), rows);
        EXPECT_EQ(rows.next, out.height - 4);
        EXPECT_EQ(rows.image, resize(in, spec)) << name_of(filter) << ' ' << out.height << 'x' << out.width;
      }
    }
  }
}

TEST(Resample, WritesNothingBeyondTheRowsOfItsResult) {
  const Image image = detailed_image(40, 50, 3);
  for (Filter filter : {Filter::nearest, Filter::bilinear, Filter::tf1_bilinear}) {
    std::vector<std::uint8_t> out(20 * 100, 7);
    Resizer().resize(image, {{40, 50}, {20, 30}, filter, std::nullopt, std::nullopt}, out.data(), 100);
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (i % 100 >= 90) {
        ASSERT_EQ(out[i], 7) << name_of(filter);
      }
    }
  }
}

TEST(Resample, Tf1BilinearUsesTheCornerGridWithoutAntialiasing) {
  Image image(2, 2, 1);
  const std::uint8_t pixels[] = {0, 10, 20, 30};
  std::memcpy(image.data(), pixels, 4);
  EXPECT_EQ(to_hex(resize(image, {4, 4}, Filter::tf1_bilinear)),
            "00050a0a"
            "0a0f1414"
            "14191e1e"
            "14191e1e");
  Image wide(1, 6, 1);
  const std::uint8_t row[] = {0, 50, 100, 150, 200, 250};
  std::memcpy(wide.data(), row, 6);
  EXPECT_EQ(to_hex(resize(wide, {1, 2}, Filter::tf1_bilinear)), "0096");      // positions 0 and 3
  EXPECT_EQ(to_hex(resize(wide, {1, 4}, Filter::tf1_bilinear)), "004b96e1");  // 0, 1.5, 3, 4.5
}

TEST(Resample, ErrorsSayWhatIsWrong) {
  const Image image = detailed_image(10, 12, 3);
  EXPECT_THROW(resize(image, Size{0, 5}), Error);
  EXPECT_THROW(resize(image, {{10, 12}, {5, 5}, Filter::bilinear, FloatBox{0, 0, 13, 10}, std::nullopt}), Error);
  EXPECT_THROW(resize(image, {{10, 12}, {5, 5}, Filter::bilinear, FloatBox{3, 3, 3, 5}, std::nullopt}), Error);
  EXPECT_THROW(resize(image, {{10, 12}, {5, 5}, Filter::bilinear, std::nullopt, Box{0, 0, 6, 5}}), Error);
  try {
    parse_filter("bilinaer");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "[resize] unknown filter 'bilinaer': did you mean 'bilinear'? (allowed: nearest, box, "
        "bilinear, bicubic, lanczos, tf1_bilinear, torch_bilinear, torch_bicubic, opencv_nearest, opencv_linear, "
        "opencv_cubic, opencv_area)");
    EXPECT_EQ(error.kind(), ErrorKind::usage);
  }
  for (Filter filter : kPillowFilters) EXPECT_EQ(parse_filter(name_of(filter)), filter);
}

TEST(Resample, RandomSizesEqualPillow) {
  const std::string python = test::python_with_pillow();
  if (python.empty()) GTEST_SKIP() << "no Python with a Pillow older than 13 (set RIDGELINE_PYTHON to one)";
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("ridgeline_resample_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  SampleRandom random(philox_key(3, "pillow"), 0, 0);
  std::string cases;
  std::vector<ResizeSpec> specs;
  std::vector<Image> ours;
  for (int i = 0; i < 400; ++i) {
    const int filter = i % 5;
    ResizeSpec spec = random_spec(random, kPillowFilters[filter]);
    if (i >= 390) spec.in = {375, 500}, spec.out = {224, 224}, spec.box.reset();
    const int channels = i % 9 == 0 ? 1 : 3;
    const Image image = detailed_image(spec.in.height, spec.in.width, channels, static_cast<std::uint64_t>(i));
    const std::int32_t header[] = {filter,          spec.in.height, spec.in.width,       channels,
                                   spec.out.height, spec.out.width, spec.box.has_value()};
    const FloatBox box = spec.box.value_or(FloatBox{});
    cases.append(reinterpret_cast<const char*>(header), sizeof header);
    cases.append(reinterpret_cast<const char*>(&box), sizeof box);
    cases.append(reinterpret_cast<const char*>(image.data()), image.byte_size());
    specs.push_back(spec);
    ours.push_back(resize(image, spec));
  }
  write_file_atomically((folder / "cases").string(), cases);
  const std::string command = "'" + python + "' '" + testing::source_directory() +
                              "/tests/image/pillow_oracle.py' resize '" + (folder / "cases").string() + "' '" +
                              (folder / "results").string() + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const std::string results = read_file((folder / "results").string());
  std::filesystem::remove_all(folder);
  std::size_t at = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    ASSERT_LE(at + ours[i].byte_size(), results.size());
    ASSERT_EQ(std::memcmp(ours[i].data(), results.data() + at, ours[i].byte_size()), 0)
        << name_of(specs[i].filter) << " " << specs[i].in.height << "x" << specs[i].in.width << " to "
        << specs[i].out.height << "x" << specs[i].out.width << (specs[i].box ? " with a box" : "");
    at += ours[i].byte_size();
  }
  EXPECT_EQ(at, results.size());
}

}  // namespace
}  // namespace ridgeline::image
