// tests/data/pictures.h
//
// Images in files, and the result of a chain of transforms on one of them.
#pragma once

#include "helpers.h"
#include "ridgeline/core/file.h"
#include "ridgeline/image/decode.h"

namespace ridgeline::data::testing {

// A folder of six images, decoded completely.
struct Pictures {
  TempDir dir;
  std::string folder = write_folders(dir / "train", 1, 6);
  image::Image decoded(std::uint64_t i) const {
    const std::string bytes = read_file(folder + "/class_a/" + std::to_string(100 + i) + ".jpg");
    return image::decode({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  }
  // The random draws of the op of that name for image `i`.
  static SampleRandom draws(const char* name, std::uint64_t i, std::uint64_t epoch = 0) {
    return {philox_key(3, name), epoch, i};
  }
  Tensor through(std::vector<Transform> transforms, std::uint64_t i, std::uint64_t epoch = 0) const {
    return replay(ImageFolder(folder).map(std::move(transforms)).with_seed(3), epoch, i).column("image");
  }
};

inline void expect_pixels(const Tensor& got, const image::Image& wanted) {
  ASSERT_EQ(got.shape(), (Shape{wanted.height(), wanted.width(), wanted.channels()}));
  EXPECT_EQ(std::memcmp(got.raw(), wanted.data(), wanted.byte_size()), 0);
}

}  // namespace ridgeline::data::testing
