// Decode({.exif_orientation = "apply"}): a pipeline on rotated images gives the same as on images that were rotated
// beforehand, with the same random crops.
#include <zlib.h>

#include "ridgeline/image/orientation.h"
#include "ridgeline/image/png/png.h"
#include "source_rules.h"

namespace ridgeline::data::testing {
namespace {

std::string four_bytes(std::uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

// Inserts an eXIf chunk with the orientation after the header, which is 33 bytes long.
std::string with_orientation(const image::Image& picture, int orientation) {
  const std::vector<std::uint8_t> png = image::encode_png(picture);
  const std::string chunk = "eXIf" + std::string("MM\0*\0\0\0\x08\0\1\x01\x12\0\3\0\0\0\1\0", 19) +
                            static_cast<char>(orientation) + std::string(6, '\0');
  const auto sum = ::crc32(0, reinterpret_cast<const Bytef*>(chunk.data()), static_cast<uInt>(chunk.size()));
  std::string bytes(png.begin(), png.end());
  bytes.insert(33, four_bytes(static_cast<std::uint32_t>(chunk.size() - 4)) + chunk +
                       four_bytes(static_cast<std::uint32_t>(sum)));
  return bytes;
}

struct Pair {
  Dataset lying, upright;
};

Pair pictures_in(const TempDir& dir) {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const image::Image stored = picture(30 + orientation, 50, static_cast<std::uint64_t>(orientation));
    image::Image turned;
    image::turn_upright(stored, orientation, turned);
    const std::string name = "/c/" + std::to_string(orientation) + ".png";
    const std::string lying = with_orientation(stored, orientation);
    write_bytes(dir / "lying" + name, lying.data(), lying.size());
    const std::vector<std::uint8_t> upright = image::encode_png(turned);
    write_bytes(dir / "upright" + name, upright.data(), upright.size());
  }
  return {ImageFolder(dir / "lying"), ImageFolder(dir / "upright")};
}

std::uint64_t digest_of(const Dataset& rows, std::vector<Transform> transforms, bool pull) {
  Iterator iterator(rows.with_seed(3).shuffle().map(std::move(transforms)).batch(4), {.epochs = 2, .pull = pull});
  return digest(iterator);
}

TEST(ExifOrientation, APipelineSeesTheTurnedPicture) {
  const TempDir dir;
  const Pair pair = pictures_in(dir);
  const std::vector<std::vector<Transform>> pipelines{
      {RandomResizedCrop(24), RandomHorizontalFlip(), Normalize::imagenet()},
      {Resize(26), CenterCrop(24)},
      {Resize(20), CenterCrop(24)},  // surrounded by zeros
      {RandomCrop(16), RandomVerticalFlip(), Resize({9, 11})}};
  for (const std::vector<Transform>& pipeline : pipelines) {
    std::vector<Transform> turning{Decode({.exif_orientation = "apply"})};
    turning.insert(turning.end(), pipeline.begin(), pipeline.end());
    for (const bool pull : {false, true}) {
      EXPECT_EQ(digest_of(pair.lying, turning, pull), digest_of(pair.upright, pipeline, pull));
      EXPECT_NE(digest_of(pair.lying, pipeline, pull), digest_of(pair.upright, pipeline, pull));
    }
  }
}

TEST(ExifOrientation, TheArgumentComesThroughJson) {
  const TempDir dir;
  const Dataset rows = pictures_in(dir).lying.map(Decode({.exif_orientation = "apply"})).batch(1, {.pad = true});
  EXPECT_NE(rows.to_json().find(R"("exif_orientation":"apply")"), std::string::npos) << rows.to_json();
  EXPECT_EQ(Dataset::from_json(rows.to_json()).hash(), rows.hash());
  EXPECT_NE(pictures_in(dir).lying.map(Decode()).batch(1, {.pad = true}).hash(), rows.hash());
  EXPECT_ERROR(rows_of(ImageFolder(dir / "lying").map(Decode({.exif_orientation = "turn"}))), "exif_orientation");
}

}  // namespace
}  // namespace ridgeline::data::testing
