// Reference results made by DALI's authors, for operations with the same rule: packA/golden/dali.
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "ridgeline/core/file.h"
#include "ridgeline/image/normalize.h"
#include "ridgeline/image/pixels.h"
#include "ridgeline/image/png/png.h"
#include "ridgeline/image/resample/resample.h"
#include "support.h"

namespace ridgeline::image {
namespace {

std::string folder() { return test::pack_a() + "/golden/dali/db/"; }

Image read_png(const std::string& path) {
  const std::string bytes = read_file(folder() + path);
  return decode_png(test::as_bytes(bytes));
}

// The values of a NumPy file (version 1, little-endian, C order) with element type T.
template <class T>
std::vector<T> read_npy(const std::string& path) {
  const std::string bytes = read_file(folder() + path);
  const std::size_t begin =
      10 + static_cast<unsigned char>(bytes.at(8)) + 256 * static_cast<unsigned char>(bytes.at(9));
  std::vector<T> values((bytes.size() - begin) / sizeof(T));
  std::memcpy(values.data(), bytes.data() + begin, values.size() * sizeof(T));
  return values;
}

TEST(Dali, TriangularResizeOfPillowIsOurs) {
  if (test::pack_a().empty()) GTEST_SKIP() << "RIDGELINE_TEST_DATA is not set";
  EXPECT_EQ(resize(read_png("imgproc/alley.png"), {300, 300}, Filter::bilinear),
            read_png("imgproc/ref/resampling/alley_tri_PIL.png"));
}

TEST(Dali, LinearResizeIsOursWithin1) {
  if (test::pack_a().empty()) GTEST_SKIP() << "RIDGELINE_TEST_DATA is not set";
  const Image dots = read_png("imgproc/ref/resampling/dots_lin_5x5.png");
  for (const Filter filter : {Filter::opencv_linear, Filter::torch_bilinear}) {
    const Image ours = resize(read_png("imgproc/dots.png"), {5, 5}, filter);
    for (std::size_t i = 0; i < dots.byte_size(); ++i) EXPECT_NEAR(ours.data()[i], dots.data()[i], 1);
  }
  const std::vector<float> board = read_npy<float>("imgproc/checkerboard_22_22.npy");
  ASSERT_EQ(board.size(), 22u * 22u);
  Image image(22, 22, 1);
  for (std::size_t i = 0; i < board.size(); ++i) image.data()[i] = static_cast<std::uint8_t>(board[i]);
  const auto compare = [&](const std::string& reference, Filter filter) {
    const std::vector<double> theirs =
        read_npy<double>("imgproc/ref/resampling/checkerboard_" + reference + "_17_13.npy");
    const Image ours = resize(image, {17, 13}, filter);
    ASSERT_EQ(theirs.size(), ours.byte_size());
    for (std::size_t i = 0; i < theirs.size(); ++i) EXPECT_NEAR(ours.data()[i], theirs[i], 1) << name_of(filter);
  };
  compare("linear", Filter::opencv_linear);
  compare("linear", Filter::torch_bilinear);
  compare("linear_antialias", Filter::bilinear);
}

TEST(Dali, CropMirrorAndNormalizeAreOurs) {
  if (test::pack_a().empty()) GTEST_SKIP() << "RIDGELINE_TEST_DATA is not set";
  const std::string cases = "test_data/crop_mirror_normalize/";
  const std::vector<std::uint8_t> input = read_npy<std::uint8_t>(cases + "input0.npy");
  ASSERT_EQ(input.size(), 10u * 22u * 3u);
  const ImageView image{input.data(), 10, 22, 3, 66};
  const ImageView part = crop(image, {2, 8, 6, 11});
  const Image cut = copy(part), mirrored = test::flipped_horizontal(part);
  const auto bytes = [](const Image& pixels) {
    return std::vector<std::uint8_t>(pixels.data(), pixels.data() + pixels.byte_size());
  };
  EXPECT_EQ(bytes(cut), read_npy<std::uint8_t>(cases + "output0_c.npy"));
  EXPECT_EQ(bytes(mirrored), read_npy<std::uint8_t>(cases + "output0_cm.npy"));
  std::vector<float> ours(cut.byte_size());
  NormalizeTable(kImagenetMean, kImagenetStd).tail(part, true, ours.data());
  const std::vector<float> theirs = read_npy<float>(cases + "output0_cmn.npy");
  ASSERT_EQ(theirs.size(), ours.size());
  for (std::size_t i = 0; i < ours.size(); ++i) EXPECT_NEAR(ours[i], theirs[i], 1e-6);
}

}  // namespace
}  // namespace ridgeline::image
