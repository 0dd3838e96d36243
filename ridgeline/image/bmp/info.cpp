#include "ridgeline/image/bmp/info.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "ridgeline/core/error.h"

namespace ridgeline::image {
namespace {

using Bytes = std::span<const std::uint8_t>;

// The file's header; the picture's follows and begins with its own size.
constexpr std::size_t kFileHeader = 14;
// Sizes of the picture's header: OS/2's first and second, Windows' 3, its two extensions, 4 and 5.
constexpr std::array<std::uint32_t, 7> kHeaderSizes{12, 40, 52, 56, 64, 108, 124};

enum Compression : std::uint32_t { kPlain = 0, kRle8 = 1, kRle4 = 2, kMasks = 3 };

std::uint32_t little_endian(Bytes bytes, std::size_t at, std::size_t count) {
  if (at + count > bytes.size()) throw Error("[bmp] the file ends inside its header");
  std::uint32_t value = 0;
  for (std::size_t i = count; i-- > 0;) value = value << 8 | bytes[at + i];
  return value;
}

// Layouts of bits that Pillow knows, by the masks of red, green, blue and alpha.
struct KnownMasks {
  int bits;
  std::array<std::uint32_t, 4> masks;
  BmpInfo::Layout layout;
};
constexpr std::array<KnownMasks, 11> kKnownMasks{{
    {32, {0xff0000, 0xff00, 0xff, 0}, {.red = 2, .green = 1, .blue = 0}},
    {32, {0xff000000, 0xff0000, 0xff00, 0}, {.red = 3, .green = 2, .blue = 1}},
    {32, {0xff000000, 0xff00, 0xff, 0}, {.red = 3, .green = 1, .blue = 0}},
    {32, {0xff000000, 0xff0000, 0xff00, 0xff}, {.red = 3, .green = 2, .blue = 1, .alpha = true}},
    {32, {0xff, 0xff00, 0xff0000, 0xff000000}, {.red = 0, .green = 1, .blue = 2, .alpha = true}},
    {32, {0xff0000, 0xff00, 0xff, 0xff000000}, {.red = 2, .green = 1, .blue = 0, .alpha = true}},
    {32, {0xff000000, 0xff00, 0xff, 0xff0000}, {.red = 3, .green = 1, .blue = 0, .alpha = true}},
    {32, {0, 0, 0, 0}, {.red = 2, .green = 1, .blue = 0, .alpha = true}},
    {24, {0xff0000, 0xff00, 0xff, 0}, {.red = 2, .green = 1, .blue = 0}},
    {16, {0xf800, 0x7e0, 0x1f, 0}, {.red = 11, .green = 5, .blue = 0, .green_bits = 6}},
    {16, {0x7c00, 0x3e0, 0x1f, 0}, {.red = 10, .green = 5, .blue = 0}},
}};

BmpInfo::Layout layout_of(int bits, const std::array<std::uint32_t, 4>& masks) {
  for (const KnownMasks& known : kKnownMasks) {
    const std::size_t compared = bits == 32 ? 4 : 3;
    if (known.bits == bits &&
        std::equal(masks.begin(), masks.begin() + static_cast<std::ptrdiff_t>(compared), known.masks.begin()))
      return known.layout;
  }
  throw Error("[bmp] a layout of bits that is not read (" + std::to_string(bits) + " bits a pixel)");
}

int side(std::uint32_t pixels) {
  if (pixels == 0 || pixels > static_cast<std::uint32_t>(std::numeric_limits<int>::max()))
    throw Error("[bmp] impossible side of " + std::to_string(pixels) + " pixels");
  return static_cast<int>(pixels);
}

}  // namespace

BmpInfo read_bmp_info(Bytes file) {
  const std::uint32_t header = little_endian(file, kFileHeader, 4);
  if (std::find(kHeaderSizes.begin(), kHeaderSizes.end(), header) == kHeaderSizes.end())
    throw Error("[bmp] unknown header of " + std::to_string(header) + " bytes");
  const auto field = [&](std::size_t at, std::size_t count) { return little_endian(file, kFileHeader + at, count); };
  field(header - 1, 1);  // the whole of it is there
  std::size_t behind = kFileHeader + header;

  BmpInfo info;
  std::uint32_t compression = kPlain;
  if (header == 12) {
    info.width = side(field(4, 2));
    info.height = side(field(6, 2));
    info.bits = static_cast<int>(field(10, 2));
    info.colour_bytes = 3;
  } else {
    const std::uint32_t height = field(8, 4);
    info.top_down = height >> 24 == 0xff;  // a negative height
    info.width = side(field(4, 4));
    info.height = side(info.top_down ? 0u - height : height);
    info.bits = static_cast<int>(field(14, 2));
    compression = field(16, 4);
    info.colours = field(32, 4);
  }
  if (info.bits != 1 && info.bits != 4 && info.bits != 8 && info.bits != 16 && info.bits != 24 && info.bits != 32)
    throw Error("[bmp] " + std::to_string(info.bits) + " bits a pixel are not read");
  if (info.colours == 0) info.colours = std::size_t{1} << std::min(info.bits, 16);

  switch (compression) {
    case kPlain:
      if (info.bits == 16) info.layout = layout_of(16, {0x7c00, 0x3e0, 0x1f, 0});
      break;
    case kMasks: {
      std::array<std::uint32_t, 4> masks{};
      const std::size_t count = header >= 56 ? 4 : 3;  // behind a header that has none, there are three
      for (std::size_t i = 0; i < count; ++i) masks[i] = field(40 + 4 * i, 4);
      if (header < 52) behind += 12;
      info.layout = layout_of(info.bits, masks);
      break;
    }
    case kRle8: info.coding = BmpInfo::Coding::rle8; break;
    case kRle4: info.coding = BmpInfo::Coding::rle4; break;
    default: throw Error("[bmp] compression " + std::to_string(compression) + " is not read");
  }

  std::uint64_t pixels = little_endian(file, 10, 4);
  if (info.bits <= 8) {
    if (info.colours > 65536)
      throw Error("[bmp] a palette of " + std::to_string(info.colours) + " colours is not read");
    const std::size_t bytes = info.colours * static_cast<std::size_t>(info.colour_bytes);
    info.palette = file.subspan(behind).first(std::min(bytes, file.size() - behind));
    // A file whose pixels seem to begin inside of the palette: they are after it.
    if (pixels == kFileHeader + header) pixels += 4 * info.colours;
    behind += bytes;
  } else if (info.coding != BmpInfo::Coding::plain) {
    throw Error("[bmp] runs of " + std::to_string(info.bits) + " bits a pixel are not read");
  }
  info.pixels = pixels != 0 ? pixels : behind;
  return info;
}

}  // namespace ridgeline::image
