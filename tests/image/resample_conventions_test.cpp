// Resizing with the rules of OpenCV and of torchvision's tensors.
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "every_target.h"
#include "peer_oracle.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/image/pixels.h"
#include "ridgeline/image/resample/opencv_passes.h"
#include "ridgeline/image/resample/resample.h"
#include "support.h"
#include "tests/support/paths.h"

namespace ridgeline::image {
namespace {

using test::Difference;

// ATen rounds its weights to at most 15 bits: a pixel of its intermediate 8-bit image may differ by 1, and the
// magnitudes of the cubic weights sum to up to 1.5.
int tolerance(Filter filter) {
  if (filter == Filter::opencv_cubic) return 1;
  return is_opencv(filter) ? 0 : filter == Filter::bicubic || filter == Filter::torch_bicubic ? 2 : 1;
}

// Compares each vector of a file and returns the differences by filter.
std::map<Filter, Difference> compare_golden(const std::string& file, int& cases) {
  std::map<Filter, Difference> result;
  std::istringstream lines(read_file(testing::source_directory() + "/tests/data/image/" + file));
  std::string line;
  while (std::getline(lines, line)) {
    if (line.starts_with("blur")) continue;
    std::istringstream words(line);
    std::string name, hex;
    int height, width, channels, out_height, out_width;
    words >> name >> height >> width >> channels >> out_height >> out_width >> hex;
    const Filter filter = parse_filter(name);
    const Image ours = resize(test::golden_picture(height, width, channels), {out_height, out_width}, filter);
    result[filter].add(ours, test::from_hex(hex, out_height, out_width, channels));
    ++cases;
  }
  return result;
}

std::vector<test::PeerCase> random_cases(std::span<const Filter> filters, std::uint64_t seed, int count) {
  SampleRandom random(philox_key(seed, "peers"), 0, 0);
  std::vector<test::PeerCase> cases;
  for (int i = 0; i < count; ++i) {
    const auto side = [&](int high) { return static_cast<int>(random.integer(1, high)); };
    Size in{side(90), side(120)}, out{side(80), side(80)};
    if (i % 5 == 0) in = {out.height * side(4), out.width * side(4)};  // integer factors have their own rules
    if (i % 7 == 0) out = {in.height * side(3), in.width * side(3)};
    if (i % 11 == 0) out.height = in.height;
    if (i % 40 == 39) in = {375, 500}, out = {256, 341};
    const Filter filter = filters[static_cast<std::size_t>(i) % filters.size()];
    Image image = test::detailed_image(in.height, in.width, i % 4 == 0 ? 1 : 3, static_cast<std::uint64_t>(i));
    std::string line = std::string(name_of(filter));
    for (const int n : {in.height, in.width, image.channels(), out.height, out.width}) line += " " + std::to_string(n);
    Image ours = resize(image, out, filter);
    cases.push_back({line, std::move(image), std::move(ours)});
  }
  return cases;
}

std::map<Filter, Difference> compare_peer(const char* variable, std::span<const Filter> filters, int count) {
  std::map<Filter, Difference> result;
  const std::vector<test::PeerCase> cases = random_cases(filters, 5, count);
  const auto compare = [&](const test::PeerCase& c, const Image& theirs) {
    const Filter filter = parse_filter(c.line.substr(0, c.line.find(' ')));
    Difference one;
    one.add(c.ours, theirs);
    EXPECT_LE(one.largest, tolerance(filter)) << c.line << ": " << one.differing << " differ";
    result[filter].add(c.ours, theirs);
  };
  test::run_peer(variable, "resize", cases, compare);
  for (const auto& [filter, difference] : result) {
    std::printf("%s: %zu of %zu bytes differ (%.3g), by at most %d\n", std::string(name_of(filter)).c_str(),
                difference.differing, difference.bytes, difference.share(), difference.largest);
  }
  return result;
}

constexpr Filter kOpencv[] = {Filter::opencv_nearest, Filter::opencv_linear, Filter::opencv_cubic, Filter::opencv_area};
constexpr Filter kTorch[] = {Filter::torch_bilinear, Filter::torch_bicubic, Filter::bilinear, Filter::bicubic};

TEST(ResampleConventions, OpencvVectors) {
  test::on_every_target([] {
    int cases = 0;
    std::map<Filter, Difference> differences = compare_golden("opencv_golden.txt", cases);
    EXPECT_EQ(cases, 104);
    for (const Filter filter : kOpencv) {
      EXPECT_GT(differences[filter].bytes, 500u);
      EXPECT_EQ(differences[filter].differing, 0u) << name_of(filter);
    }
  });
}

TEST(ResampleConventions, EveryInstructionSetGivesTheSameBits) {
  std::vector<test::PeerCase> first;
  test::on_every_target([&] {
    const std::vector<test::PeerCase> cases = random_cases(kOpencv, 6, 200);
    if (first.empty()) first = cases;
    for (std::size_t i = 0; i < cases.size(); ++i) ASSERT_EQ(cases[i].ours, first[i].ours) << cases[i].line;
  });
}

// Rounding of the cubic matters only at exact halves; rows of any length end in a part of a vector.
TEST(ResampleConventions, TheCubicRoundsHalvesToEvenOnEveryTarget) {
  test::on_every_target([] {
    for (std::size_t n = 1; n < 70; ++n) {
      std::vector<std::int32_t> rows[4];
      std::vector<std::uint8_t> expected;
      for (std::size_t i = 0; i < n; ++i) {
        const auto half = static_cast<std::int32_t>(i % 40) - 20;  // of 255, around and below 0
        rows[0].push_back(half * 1024), rows[1].push_back(0), rows[2].push_back(0), rows[3].push_back(0);
        const int low = half >> 1, rounded = half % 2 == 0 ? low : low % 2 == 0 ? low : low + 1;
        expected.push_back(static_cast<std::uint8_t>(std::max(0, rounded)));
      }
      const std::int32_t* pointers[] = {rows[0].data(), rows[1].data(), rows[2].data(), rows[3].data()};
      const std::int32_t weight[] = {2048, 0, 0, 0};
      std::vector<std::uint8_t> out(n + 64, 77);
      opencv_cubic_down(pointers, weight, n, out.data());
      for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], i < n ? expected[i] : 77) << n << " " << i;
    }
  });
}

TEST(ResampleConventions, TorchvisionVectorsWithin1Or2) {
  int cases = 0;
  std::map<Filter, Difference> differences = compare_golden("torch_golden.txt", cases);
  EXPECT_EQ(cases, 104);
  for (const Filter filter : kTorch) {
    EXPECT_GT(differences[filter].bytes, 500u);
    EXPECT_LE(differences[filter].largest, tolerance(filter)) << name_of(filter);
    EXPECT_LT(differences[filter].share(), 0.02) << name_of(filter);
  }
}

TEST(ResampleConventions, RandomSizesEqualOpencv) {
  if (!std::getenv("RIDGELINE_OPENCV_PYTHON")) GTEST_SKIP() << "RIDGELINE_OPENCV_PYTHON names no Python with cv2";
  std::map<Filter, Difference> differences = compare_peer("RIDGELINE_OPENCV_PYTHON", kOpencv, 800);
  EXPECT_LT(differences[Filter::opencv_cubic].share(), 1e-4);
}

TEST(ResampleConventions, RandomSizesAreTorchvisionsWithin1Or2) {
  if (!std::getenv("RIDGELINE_TORCH_PYTHON")) GTEST_SKIP() << "RIDGELINE_TORCH_PYTHON names no Python with torchvision";
  for (const auto& [filter, difference] : compare_peer("RIDGELINE_TORCH_PYTHON", kTorch, 400)) {
    EXPECT_LT(difference.share(), 0.02) << name_of(filter);
  }
}

TEST(ResampleConventions, AWindowEqualsThatPartOfTheWholeResult) {
  SampleRandom random(philox_key(3, "windows"), 0, 0);
  Resizer resizer;
  for (int i = 0; i < 300; ++i) {
    constexpr Filter filters[] = {Filter::opencv_nearest, Filter::opencv_linear,  Filter::opencv_cubic,
                                  Filter::opencv_area,    Filter::torch_bilinear, Filter::torch_bicubic};
    const auto side = [&](int high) { return static_cast<int>(random.integer(1, high)); };
    ResizeSpec spec{{side(60), side(60)}, {side(50), side(50)}, filters[i % 6], std::nullopt, std::nullopt};
    if (i % 5 == 0) spec.in = {spec.out.height * side(3), spec.out.width * side(3)};
    const Image image = test::detailed_image(spec.in.height, spec.in.width, 1 + i % 4);
    const Image whole = resize(image, spec);
    Box window{0, 0, side(spec.out.height), side(spec.out.width)};
    window.top = side(spec.out.height - window.height + 1) - 1;
    window.left = side(spec.out.width - window.width + 1) - 1;
    spec.window = window;
    resizer.prepare(spec);
    // Only the pixels that source() returns may be read.
    const Image part = copy(crop(image, resizer.source()));
    Image result(window.height, window.width, image.channels());
    resizer.run(part, result.data(), result.stride());
    ASSERT_EQ(result, copy(crop(whole, window))) << name_of(spec.filter);
  }
}

TEST(ResampleConventions, AnotherImageOfTheSameSizeIsNotTheLastOne) {
  Resizer resizer;  // horizontally resized rows are kept only within one image
  const Image first = test::detailed_image(20, 20, 3, 1), second = test::detailed_image(20, 20, 3, 2);
  for (const Filter filter : kOpencv) {
    const ResizeSpec spec{{20, 20}, {13, 9}, filter, std::nullopt, std::nullopt};
    Image out(13, 9);
    resizer.resize(first, spec, out.data(), out.stride());
    resizer.resize(second, spec, out.data(), out.stride());
    EXPECT_EQ(out, resize(second, spec)) << name_of(filter);
  }
}

TEST(ResampleConventions, OnlyPillowsFiltersHaveABox) {
  const Image image = test::detailed_image(8, 8, 3);
  const ResizeSpec spec{{8, 8}, {4, 4}, Filter::opencv_area, FloatBox{1, 1, 7, 7}, std::nullopt};
  try {
    resize(image, spec);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[resize] opencv_area knows no box: crop the image first");
  }
}

TEST(ResampleConventions, NamesAreReadBack) {
  EXPECT_EQ(all_filters().size(), 12u);
  for (const Filter filter : all_filters()) EXPECT_EQ(parse_filter(name_of(filter)), filter);
  try {
    parse_filter("opencv_lineer");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'opencv_linear'?"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace ridgeline::image
