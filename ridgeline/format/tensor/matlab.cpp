#include "ridgeline/format/tensor/matlab.h"

#include <cmath>
#include <cstring>
#include <optional>
#include <span>

#include "ridgeline/core/bytes.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/format/wire/gzip.h"

namespace ridgeline {
namespace {

using Bytes = std::span<const std::uint8_t>;

// Types of data elements.
enum ElementType : std::uint32_t {
  kInt8 = 1,
  kUint8 = 2,
  kInt16 = 3,
  kUint16 = 4,
  kInt32 = 5,
  kUint32 = 6,
  kSingle = 7,
  kDouble = 9,
  kInt64 = 12,
  kUint64 = 13,
  kMatrix = 14,
  kCompressed = 15,
};

// Classes of arrays that hold numbers: double, single and the integers.
constexpr std::uint32_t kFirstNumeric = 6;
constexpr std::uint32_t kLastNumeric = 15;
constexpr std::uint32_t kComplexFlag = 1u << 11;
constexpr std::size_t kHeader = 128;
constexpr std::size_t kInflateTo = std::size_t{1} << 28;

template <class T>
T load(const std::uint8_t* p) {
  T value{};
  std::memcpy(&value, p, sizeof(T));
  return value;
}

struct Element {
  std::uint32_t type = 0;
  Bytes data;
  std::size_t byte = 0;  // where its tag is
};

// Reads element after element. A tag is two words, type and size; an element of up to four bytes may lie in its tag.
class Elements {
 public:
  Elements(Bytes bytes, std::size_t first_byte, const std::string& path)
      : bytes_(bytes), first_byte_(first_byte), path_(path) {}

  [[noreturn]] void fail(const std::string& problem, std::size_t byte) const {
    throw Error("[matlab] " + path_ + ": " + problem + " at byte " + std::to_string(byte));
  }
  bool more() const { return at_ < bytes_.size(); }
  Element next() {
    const std::size_t byte = first_byte_ + at_;
    if (bytes_.size() - at_ < 8) fail("an element is cut short", byte);
    const auto word = load<std::uint32_t>(bytes_.data() + at_);
    const std::uint32_t small = word >> 16;
    if (small != 0) {
      if (small > 4) fail("an element has a wrong size", byte);
      const Element element{word & 0xffffu, bytes_.subspan(at_ + 4, small), byte};
      at_ += 8;
      return element;
    }
    const auto size = load<std::uint32_t>(bytes_.data() + at_ + 4);
    if (size > bytes_.size() - at_ - 8) fail("an element is cut short", byte);
    const Element element{word, bytes_.subspan(at_ + 8, size), byte};
    // Elements begin at multiples of eight, except after a compressed one.
    const std::size_t padded = word == kCompressed ? size : (std::size_t{size} + 7) / 8 * 8;
    at_ = std::min(at_ + 8 + padded, bytes_.size());
    return element;
  }

 private:
  Bytes bytes_;
  std::size_t first_byte_;
  const std::string& path_;
  std::size_t at_ = 0;
};

template <class T>
void append(std::vector<std::int64_t>& values, const Element& element, const Elements& parts) {
  if (element.data.size() % sizeof(T) != 0) parts.fail("an element has a wrong size", element.byte);
  for (std::size_t i = 0; i < element.data.size(); i += sizeof(T)) {
    const T value = load<T>(element.data.data() + i);
    if constexpr (std::is_floating_point_v<T>) {
      if (!(std::abs(value) < 9007199254740992.0) || std::trunc(value) != value)
        parts.fail("a value is no whole number", element.byte);
    } else if constexpr (sizeof(T) == 8 && std::is_unsigned_v<T>) {
      if (value >> 63 != 0) parts.fail("a value is too large", element.byte);
    }
    values.push_back(static_cast<std::int64_t>(value));
  }
}

std::vector<std::int64_t> numbers_of(const Element& element, const Elements& parts) {
  std::vector<std::int64_t> values;
  switch (element.type) {
    case kInt8: append<std::int8_t>(values, element, parts); break;
    case kUint8: append<std::uint8_t>(values, element, parts); break;
    case kInt16: append<std::int16_t>(values, element, parts); break;
    case kUint16: append<std::uint16_t>(values, element, parts); break;
    case kInt32: append<std::int32_t>(values, element, parts); break;
    case kUint32: append<std::uint32_t>(values, element, parts); break;
    case kSingle: append<float>(values, element, parts); break;
    case kDouble: append<double>(values, element, parts); break;
    case kInt64: append<std::int64_t>(values, element, parts); break;
    case kUint64: append<std::uint64_t>(values, element, parts); break;
    default: parts.fail("an element of the unknown type " + std::to_string(element.type), element.byte);
  }
  return values;
}

// The numbers of an array element, if it is the variable.
std::optional<std::vector<std::int64_t>> matrix_of(const Element& matrix, std::size_t first_byte,
                                                   const std::string& path, std::string_view variable) {
  Elements parts(matrix.data, first_byte, path);
  const Element flags = parts.next();
  if (flags.type != kUint32 || flags.data.size() != 8) parts.fail("an array without flags", flags.byte);
  const auto word = load<std::uint32_t>(flags.data.data());
  const Element extents = parts.next();
  if (extents.type != kInt32) parts.fail("an array without extents", extents.byte);
  const Element name = parts.next();
  if (name.type != kInt8) parts.fail("an array without name", name.byte);
  if (std::string_view(reinterpret_cast<const char*>(name.data.data()), name.data.size()) != variable) {
    return std::nullopt;
  }
  const std::uint32_t kind = word & 0xffu;
  if (kind < kFirstNumeric || kind > kLastNumeric || (word & kComplexFlag) != 0) {
    parts.fail("'" + std::string(variable) + "' is no array of real numbers", flags.byte);
  }
  const Element data = parts.next();
  std::vector<std::int64_t> values = numbers_of(data, parts);
  double wanted = 1;  // extents may be any numbers
  for (const std::int64_t extent : numbers_of(extents, parts)) wanted *= static_cast<double>(extent);
  if (wanted != static_cast<double>(values.size())) {
    parts.fail("'" + std::string(variable) + "' has another number of values than its extents say", data.byte);
  }
  return values;
}

}  // namespace

std::vector<std::int64_t> read_matlab_integers(const std::string& path, std::string_view variable) {
  const std::string file = read_file(path);
  const Bytes bytes = as_bytes(file);
  const auto fail = [&](const std::string& problem) { throw Error("[matlab] " + path + ": " + problem); };
  if (bytes.size() < kHeader) fail("the file is cut short: its header has 128 bytes, at byte 0");
  // The last word tells version and byte order: 'M' in its upper half, written as a number.
  const auto version = load<std::uint16_t>(bytes.data() + 124);
  const std::string_view order(reinterpret_cast<const char*>(bytes.data()) + 126, 2);
  if (order == "MI") fail("big-endian files are not read, at byte 126");
  if (order != "IM" || (version != 0x0100 && version != 0x0200)) fail("is no MATLAB file of level 5, at byte 124");
  if (version == 0x0200) fail("is of level 7.3 (HDF5), which is not read; save it with -v7, at byte 124");
  Elements elements(bytes.subspan(kHeader), kHeader, path);
  while (elements.more()) {
    const Element element = elements.next();
    std::optional<std::vector<std::int64_t>> values;
    if (element.type == kMatrix) {
      values = matrix_of(element, element.byte + 8, path, variable);
    } else if (element.type == kCompressed) {
      const auto inflated = inflate_bytes(element.data, Compression::zlib, path, kInflateTo);
      Elements inner(inflated, 0, path);
      const Element matrix = inner.next();
      if (matrix.type == kMatrix) values = matrix_of(matrix, matrix.byte + 8, path, variable);
    }
    if (values) return std::move(*values);
  }
  throw Error("[matlab] " + path + ": there is no variable '" + std::string(variable) + "'");
}

}  // namespace ridgeline
