// ridgeline/format/record/tar_header.h
//
// One 512-byte header block of a tar archive: POSIX ustar, GNU and the older v7. (POSIX.1-2017, pax, "ustar
// Interchange Format"; GNU tar manual, "Basic Tar Format".) Pure functions on bytes; messages do not say where, which
// the caller adds.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ridgeline {

constexpr std::uint64_t kTarBlock = 512;

struct TarHeader {
  std::string name;  // with the prefix field; GNU and pax long names come before the header, in entries of their own
  std::uint64_t size = 0;
  // The type flag; '0' also for v7's NUL. A '0' whose whole name ends with '/' is v7's way to store a folder.
  char type = '0';
};

inline bool is_zero_block(std::span<const std::uint8_t> block) {
  for (const std::uint8_t byte : block) {
    if (byte != 0) return false;
  }
  return true;
}

// The block's checksum is that of its bytes, summed as unsigned or (old Sun archives) as signed numbers.
bool tar_checksum_holds(std::span<const std::uint8_t> block);

// A block whose checksum holds. A size that is no number is an Error.
TarHeader parse_tar_header(std::span<const std::uint8_t> block);

// The block of a plain file or of an extended header; `name` has at most 100 bytes or splits at a '/' into 155 and 100
// (see tar_name_fits).
std::string make_tar_header(std::string_view name, std::uint64_t size, char type);
bool tar_name_fits(std::string_view name);
// The largest size that the header's octal field holds.
constexpr std::uint64_t kTarSizeLimit = (std::uint64_t{1} << 33) - 1;

// What a pax extended header says about the file that follows it, as far as it matters here.
struct PaxRecords {
  std::optional<std::string> path;
  std::optional<std::uint64_t> size;
  bool sparse = false;  // the member holds the pieces of a sparse file
};
// Records "LENGTH KEY=VALUE\n". Errors name the byte in `content`.
PaxRecords parse_pax(std::string_view content);
std::string pax_record(std::string_view key, std::string_view value);

}  // namespace ridgeline
