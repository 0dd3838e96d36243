#include "webp_samples.h"

#include <webp/encode.h>

#include <cstdint>
#include <vector>

#include "support.h"

namespace ridgeline::image::test {
namespace {

std::string encoded(const Image& image, bool lossless, bool alpha, SampleRandom& random) {
  const int width = image.width(), height = image.height(), channels = alpha ? 4 : 3;
  std::vector<std::uint8_t> pixels;
  for (std::size_t i = 0; i < image.byte_size(); i += 3) {
    pixels.insert(pixels.end(), image.data() + i, image.data() + i + 3);
    if (alpha) pixels.push_back(static_cast<std::uint8_t>(random.integer(0, 255)));
  }
  std::uint8_t* out = nullptr;
  std::size_t size = 0;
  const int stride = width * channels;
  const auto quality = static_cast<float>(random.integer(5, 95));
  if (lossless)
    size = alpha ? WebPEncodeLosslessRGBA(pixels.data(), width, height, stride, &out)
                 : WebPEncodeLosslessRGB(pixels.data(), width, height, stride, &out);
  else
    size = alpha ? WebPEncodeRGBA(pixels.data(), width, height, stride, quality, &out)
                 : WebPEncodeRGB(pixels.data(), width, height, stride, quality, &out);
  std::string bytes(reinterpret_cast<const char*>(out), size);
  WebPFree(out);
  return bytes;
}

// The image data of a file in the simple format, or after the first chunk of one in the extended format.
std::string picture_of(const std::string& file) {
  constexpr std::size_t kFile = 12, kLong = 18;
  return file.substr(file.compare(kFile, 4, "VP8X") == 0 ? kFile + kLong : kFile);
}

enum Flags : std::uint8_t { kAnimated = 0x02, kExif = 0x08, kAlpha = 0x10 };
std::string long_form(int flags, int width, int height) {
  return riff_chunk("VP8X", little_endian(static_cast<std::uint64_t>(flags), 4) +
                                little_endian(static_cast<std::uint64_t>(width - 1), 3) +
                                little_endian(static_cast<std::uint64_t>(height - 1), 3));
}

std::string animation(const Image& image, bool alpha, SampleRandom& random) {
  std::string chunks = long_form(kAnimated | (alpha ? kAlpha : 0), image.width() + 6, image.height() + 4) +
                       riff_chunk("ANIM", std::string("\xff\xff\xff\xff\0\0", 6));
  for (int frame = 0; frame < 3; ++frame) {
    chunks +=
        riff_chunk("ANMF", little_endian(static_cast<std::uint64_t>(frame), 3) + little_endian(1, 3) +
                               little_endian(static_cast<std::uint64_t>(image.width() - 1), 3) +
                               little_endian(static_cast<std::uint64_t>(image.height() - 1), 3) + little_endian(40, 3) +
                               std::string(1, '\0') + picture_of(encoded(image, frame == 1, alpha, random)));
  }
  return riff_file(chunks);
}

}  // namespace

std::string riff_chunk(const std::string& name, const std::string& data) {
  return name + little_endian(data.size(), 4) + data + std::string(data.size() % 2, '\0');
}

std::string riff_file(const std::string& chunks) {
  return "RIFF" + little_endian(chunks.size() + 4, 4) + "WEBP" + chunks;
}

std::string webp_with_exif(const Image& image, const std::string& exif) {
  SampleRandom random(philox_key(3, "webp"), 0, 0);
  return riff_file(long_form(exif.empty() ? 0 : kExif, image.width(), image.height()) +
                   picture_of(encoded(image, true, false, random)) +
                   (exif.empty() ? std::string() : riff_chunk("EXIF", exif)));
}

int webp_kinds() { return 7; }

std::string make_webp(int kind, SampleRandom& random) {
  // Some have several rows of blocks.
  const std::int64_t most = random.integer(0, 3) == 0 ? 150 : 40;
  const Image image = detailed_image(static_cast<int>(random.integer(1, most)),
                                     static_cast<int>(random.integer(1, most)), 3, random.bits());
  switch (kind) {
    case 0: return encoded(image, false, false, random);
    case 1: return encoded(image, false, true, random);
    case 2: return encoded(image, true, false, random);
    case 3: return encoded(image, true, true, random);
    case 4: return webp_with_exif(image, std::string("Exif\0\0MM\0*", 10));
    case 5: return animation(image, false, random);
    default: return animation(image, true, random);
  }
}

}  // namespace ridgeline::image::test
