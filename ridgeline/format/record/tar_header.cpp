#include "ridgeline/format/record/tar_header.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "ridgeline/core/error.h"
#include "ridgeline/format/text/number_text.h"

namespace ridgeline {
namespace {

// The fields of a block: where each begins and how long it is.
struct Range {
  std::size_t at;
  std::size_t size;
};
constexpr Range kName{0, 100};
constexpr Range kMode{100, 8};
constexpr Range kUser{108, 8};
constexpr Range kGroup{116, 8};
constexpr Range kSize{124, 12};
constexpr Range kTime{136, 12};
constexpr Range kChecksum{148, 8};
constexpr std::size_t kType = 156;
constexpr std::size_t kMagic = 257;  // "ustar" NUL "00" in POSIX archives, "ustar  " NUL in GNU's
constexpr Range kPrefix{345, 155};

std::string_view field(std::span<const std::uint8_t> block, Range range) {
  return {reinterpret_cast<const char*>(block.data()) + range.at, range.size};
}

std::string_view up_to_nul(std::string_view text) { return text.substr(0, text.find('\0')); }

// Octal digits among blanks and NULs, or GNU's base-256: a first byte of 0x80, then big endian.
std::optional<std::uint64_t> parse_number(std::string_view text) {
  if ((static_cast<std::uint8_t>(text[0]) & 0x80u) != 0) {
    std::uint64_t value = static_cast<std::uint8_t>(text[0]) & 0x7fu;
    for (const char c : text.substr(1)) {
      if (value >> 55 != 0) return std::nullopt;  // also negative numbers, which begin with 0xff
      value = (value << 8) | static_cast<std::uint8_t>(c);
    }
    return value;
  }
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return 0;
  text = up_to_nul(text.substr(begin));
  text = text.substr(0, text.find(' '));
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '7') return std::nullopt;
    value = value * 8 + static_cast<std::uint64_t>(c - '0');  // 12 digits at most
  }
  return value;
}

// Where a long name is split into prefix and name; npos where it cannot be.
std::size_t split_of(std::string_view name) {
  if (name.size() <= kName.size) return 0;
  for (std::size_t slash = name.find('/'); slash != std::string_view::npos; slash = name.find('/', slash + 1)) {
    if (slash > kPrefix.size) break;
    if (slash > 0 && name.size() - slash - 1 <= kName.size && slash + 1 < name.size()) return slash;
  }
  return std::string_view::npos;
}

void put(std::string& block, Range range, std::string_view text) {
  std::copy(text.begin(), text.end(), block.begin() + static_cast<std::ptrdiff_t>(range.at));
}

void put_octal(std::string& block, Range range, std::uint64_t value) {
  for (std::size_t i = range.size - 1; i-- > 0; value >>= 3)
    block[range.at + i] = static_cast<char>('0' + (value & 7u));
}

struct Sums {
  std::int64_t as_unsigned = 0;
  std::int64_t as_signed = 0;
};

Sums sums_of(std::span<const std::uint8_t> block) {
  Sums sums;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const bool own = i >= kChecksum.at && i < kChecksum.at + kChecksum.size;  // counts as blanks
    const std::uint8_t byte = own ? std::uint8_t{' '} : block[i];
    sums.as_unsigned += byte;
    sums.as_signed += static_cast<std::int8_t>(byte);
  }
  return sums;
}

[[noreturn]] void fail_pax(const std::string& problem, std::size_t at) {
  throw Error("a pax record " + problem + ", at byte " + std::to_string(at) + " of its header");
}

}  // namespace

bool tar_checksum_holds(std::span<const std::uint8_t> block) {
  RIDGELINE_CHECK(block.size() == kTarBlock, "a header has 512 bytes");
  const auto stored = parse_number(field(block, kChecksum));
  if (!stored) return false;
  const Sums sums = sums_of(block);
  const auto value = static_cast<std::int64_t>(*stored);
  return value == sums.as_unsigned || value == sums.as_signed;
}

TarHeader parse_tar_header(std::span<const std::uint8_t> block) {
  RIDGELINE_CHECK(block.size() == kTarBlock, "a header has 512 bytes");
  TarHeader header;
  header.name = up_to_nul(field(block, kName));
  const std::string_view magic = field(block, {kMagic, 6});
  if (magic == std::string_view("ustar\0", 6)) {
    const std::string_view prefix = up_to_nul(field(block, kPrefix));
    if (!prefix.empty()) header.name = std::string(prefix) + "/" + header.name;
  }
  const auto size = parse_number(field(block, kSize));
  if (!size) throw Error("has a size that is no number");
  header.size = *size;
  header.type = static_cast<char>(block[kType]);
  if (header.type == '\0' || header.type == '7') header.type = '0';  // 7: contiguous, for us a file like any other
  return header;
}

bool tar_name_fits(std::string_view name) { return split_of(name) != std::string_view::npos; }

std::string make_tar_header(std::string_view name, std::uint64_t size, char type) {
  const std::size_t split = split_of(name);
  RIDGELINE_CHECK(split != std::string_view::npos && size <= kTarSizeLimit, "name or size needs a pax header");
  std::string block(kTarBlock, '\0');
  if (split > 0) put(block, kPrefix, name.substr(0, split));
  put(block, kName, split > 0 ? name.substr(split + 1) : name);
  put_octal(block, kMode, 0644);
  put_octal(block, kUser, 0);
  put_octal(block, kGroup, 0);
  put_octal(block, kSize, size);
  put_octal(block, kTime, 0);  // equal content gives equal bytes
  block[kType] = type;
  put(block, {kMagic, 8}, std::string_view("ustar\00000", 8));
  const Sums sums = sums_of({reinterpret_cast<const std::uint8_t*>(block.data()), block.size()});
  put_octal(block, {kChecksum.at, 7}, static_cast<std::uint64_t>(sums.as_unsigned));
  block[kChecksum.at + 7] = ' ';
  return block;
}

PaxRecords parse_pax(std::string_view content) {
  PaxRecords records;
  for (std::size_t at = 0; at < content.size();) {
    const std::string_view rest = content.substr(at);
    const std::size_t blank = rest.find(' ');
    const auto length = parse_whole<std::uint64_t>(rest.substr(0, std::min(blank, rest.size())));
    if (blank == std::string_view::npos || !length || *length > rest.size() || *length < blank + 3) {
      fail_pax("has a wrong length", at);
    }
    const std::string_view record = rest.substr(blank + 1, static_cast<std::size_t>(*length) - blank - 1);
    const std::size_t equals = record.find('=');
    if (record.back() != '\n' || equals == std::string_view::npos) fail_pax("is not KEY=VALUE on a line", at);
    const std::string_view key = record.substr(0, equals);
    const std::string_view value = record.substr(equals + 1, record.size() - equals - 2);
    if (key == "path") {
      if (value.empty() || value.find('\0') != std::string_view::npos)
        fail_pax("has a path that is empty or holds a NUL", at);
      records.path = std::string(value);
    } else if (key == "size") {
      const auto size = parse_whole<std::uint64_t>(value);
      if (!size) fail_pax("has a size that is no number", at);
      records.size = size;
    } else if (key.starts_with("GNU.sparse.")) {
      records.sparse = true;
    }
    at += static_cast<std::size_t>(*length);
  }
  return records;
}

std::string pax_record(std::string_view key, std::string_view value) {
  // The length counts its own digits.
  const std::size_t rest = key.size() + value.size() + 3;
  std::size_t length = rest + 1;
  while (std::to_string(length).size() + rest != length) ++length;
  std::string record = std::to_string(length);
  record.append(" ").append(key).append("=").append(value).append("\n");
  return record;
}

}  // namespace ridgeline
