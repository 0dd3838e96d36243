#include "ridgeline/image/exif.h"

#include <zlib.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/image/webp/webp.h"

namespace ridgeline::image {
namespace {

using namespace std::string_view_literals;
using Bytes = std::span<const std::uint8_t>;
using Found = std::optional<std::int64_t>;

constexpr std::string_view kExifMark = "Exif\0\0"sv;
constexpr std::uint16_t kOrientation = 0x0112;

std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// Reads numbers of one byte order; beyond the end they are 0, and `whole` says so.
struct Numbers {
  Bytes bytes;
  bool big_endian = true;
  bool whole = true;

  std::uint32_t get(std::size_t at, std::size_t count) {
    if (at > bytes.size() || count > bytes.size() - at) {
      whole = false;
      return 0;
    }
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < count; ++i) value = value << 8 | bytes[at + (big_endian ? i : count - 1 - i)];
    return value;
  }
};

// ---- texts of PNG

// Pillow reads at most so much of a compressed text.
constexpr std::size_t kMostText = std::size_t{1} << 20;

std::optional<std::string> inflated(std::string_view packed) {
  std::string text(kMostText, '\0');
  uLongf size = text.size();
  if (::uncompress(reinterpret_cast<Bytef*>(text.data()), &size, reinterpret_cast<const Bytef*>(packed.data()),
                   packed.size()) != Z_OK)
    return std::nullopt;
  text.resize(size);
  return text;
}

// The text of a chunk tEXt, zTXt or iTXt under `key`.
std::optional<std::string> text_under(std::string_view key, std::string_view chunk, std::string_view data) {
  if (!data.starts_with(key) || data.size() <= key.size() || data[key.size()] != '\0') return std::nullopt;
  data.remove_prefix(key.size() + 1);
  if (chunk == "tEXt") return std::string(data);
  if (chunk == "zTXt") return data.empty() ? std::nullopt : inflated(data.substr(1));
  if (data.size() < 2) return std::nullopt;
  const bool packed = data[0] != '\0';
  data.remove_prefix(2);
  for (int i = 0; i < 2; ++i) {  // the language, and the key in it
    const std::size_t end = data.find('\0');
    if (end == std::string_view::npos) return std::nullopt;
    data.remove_prefix(end + 1);
  }
  return packed ? inflated(data) : std::string(data);
}

// ImageMagick's format of Exif: three lines that announce it, then hexadecimal digits.
Found orientation_in_raw_profile(std::string_view text) {
  for (int line = 0; line < 3; ++line) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    text.remove_prefix(end + 1);
  }
  std::vector<std::uint8_t> exif;
  int digits = 0;
  for (const char c : text) {
    const int value = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (value < 0) continue;
    if (digits++ % 2 == 0)
      exif.push_back(static_cast<std::uint8_t>(value << 4));
    else
      exif.back() = static_cast<std::uint8_t>(exif.back() | value);
  }
  return orientation_in_exif(exif);
}

Found orientation_in_xmp(std::string_view text) {
  constexpr std::string_view kName = "tiff:Orientation";
  for (std::size_t at = text.find(kName); at != std::string_view::npos; at = text.find(kName, at + 1)) {
    std::string_view rest = text.substr(at + kName.size());
    for (const std::string_view before : {"=\""sv, ">"sv}) {
      if (rest.starts_with(before) && rest.size() > before.size() && rest[before.size()] >= '0' &&
          rest[before.size()] <= '9')
        return rest[before.size()] - '0';
    }
  }
  return std::nullopt;
}

}  // namespace

// TIFF 6.0, section 2: byte order, 42, where the directory is; there a count, and 12 bytes an entry.
Found orientation_in_exif(Bytes exif) {
  if (text_of(exif).starts_with(kExifMark)) exif = exif.subspan(kExifMark.size());
  const std::string_view head = text_of(exif);
  Numbers numbers{exif, head.starts_with("MM"sv)};
  if (!head.starts_with("MM\0*"sv) && !head.starts_with("II*\0"sv)) return std::nullopt;
  const std::size_t directory = numbers.get(4, 4);
  const std::size_t count = numbers.get(directory, 2);
  Found found;
  for (std::size_t i = 0; i < count && numbers.whole; ++i) {
    const std::size_t at = directory + 2 + 12 * i;
    const std::uint32_t tag = numbers.get(at, 2), type = numbers.get(at + 2, 2), values = numbers.get(at + 4, 4);
    numbers.get(at + 8, 4);
    if (!numbers.whole || tag != kOrientation) continue;
    constexpr std::uint32_t kShort = 3, kLong = 4;
    found.reset();
    if (values == 1 && type == kShort) found = numbers.get(at + 8, 2);
    if (values == 1 && type == kLong) found = numbers.get(at + 8, 4);
  }
  return found;
}

Found jpeg_orientation(Bytes file) {
  Numbers numbers{file};
  std::size_t at = 2;
  while (numbers.whole) {
    while (at < file.size() && file[at] != 0xff) ++at;
    while (at < file.size() && file[at] == 0xff) ++at;
    const std::uint32_t marker = numbers.get(at++, 1);
    if (marker == 0x00 || marker == 0x01 || (marker >= 0xd0 && marker <= 0xd8)) continue;  // no segment follows
    if (marker == 0xd9 || marker == 0xda) break;                                           // the pixels
    const std::size_t length = numbers.get(at, 2);
    if (marker == 0xe1 && length > 2 && length <= file.size() - at) {
      const Bytes data = file.subspan(at + 2, length - 2);
      if (text_of(data).starts_with(kExifMark)) return orientation_in_exif(data);
    }
    at += std::max<std::size_t>(length, 2);
  }
  return std::nullopt;
}

Found png_orientation(Bytes file) {
  Numbers numbers{file};
  Found exif;
  std::optional<std::string> raw, xmp;
  bool has_exif = false;
  for (std::size_t at = 8; numbers.whole;) {
    const std::size_t size = numbers.get(at, 4);
    if (!numbers.whole || at + 8 > file.size() || size > file.size() - at - 8) break;
    const std::string_view chunk = text_of(file.subspan(at + 4, 4));
    const Bytes data = file.subspan(at + 8, size);
    if (chunk == "IEND") break;
    if (chunk == "eXIf") {
      exif = orientation_in_exif(data);
      has_exif = true;
    }
    if (chunk == "tEXt" || chunk == "zTXt" || chunk == "iTXt") {
      if (auto text = text_under("Raw profile type exif", chunk, text_of(data))) raw = std::move(text);
      if (auto text = text_under("XML:com.adobe.xmp", chunk, text_of(data))) xmp = std::move(text);
    }
    at += 12 + size;
  }
  if (!has_exif && raw) exif = orientation_in_raw_profile(*raw);
  return exif || !xmp ? exif : orientation_in_xmp(*xmp);
}

Found webp_orientation(Bytes file) { return orientation_in_exif(webp_exif(file)); }

}  // namespace ridgeline::image
