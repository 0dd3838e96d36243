#include "ridgeline/format/tensor/idx.h"

#include <array>
#include <bit>
#include <cstdio>
#include <vector>

#include "ridgeline/core/bytes.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/format/wire/gzip.h"

namespace ridgeline {
namespace {

// The third byte of the magic. (http://yann.lecun.com/exdb/mnist, "the IDX file format".)
enum class IdxType : std::uint8_t { u8 = 0x08, i8 = 0x09, i16 = 0x0b, i32 = 0x0c, f32 = 0x0d, f64 = 0x0e };

std::size_t bytes_of(IdxType type) {
  switch (type) {
    case IdxType::u8:
    case IdxType::i8: return 1;
    case IdxType::i16: return 2;
    case IdxType::i32:
    case IdxType::f32: return 4;
    case IdxType::f64: return 8;
  }
  return 0;  // not a type of the format
}

template <class U>
U big_endian(const std::uint8_t* p) {
  U value = 0;
  for (std::size_t i = 0; i < sizeof(U); ++i) value = static_cast<U>((value << 8) | p[i]);
  return value;
}

// Reads the file's values, of type S with the bits U, as T.
template <class T, class S, class U>
void convert(const std::uint8_t* from, Tensor& to) {
  T* values = to.data<T>();
  for (std::int64_t i = 0; i < to.elements(); ++i) {
    const U bits = big_endian<U>(from + static_cast<std::size_t>(i) * sizeof(U));
    values[i] = static_cast<T>(std::bit_cast<S>(bits));  // NOLINT(bugprone-signed-char-misuse): i8 keeps its sign
  }
}

Tensor decode(IdxType type, Shape shape, const std::uint8_t* from) {
  const DType stored = type == IdxType::u8    ? DType::u8
                       : type == IdxType::f32 ? DType::f32
                       : type == IdxType::f64 ? DType::f64
                                              : DType::i32;
  Tensor values(stored, std::move(shape));
  switch (type) {
    case IdxType::u8: convert<std::uint8_t, std::uint8_t, std::uint8_t>(from, values); break;
    case IdxType::i8: convert<std::int32_t, std::int8_t, std::uint8_t>(from, values); break;
    case IdxType::i16: convert<std::int32_t, std::int16_t, std::uint16_t>(from, values); break;
    case IdxType::i32: convert<std::int32_t, std::int32_t, std::uint32_t>(from, values); break;
    case IdxType::f32: convert<float, float, std::uint32_t>(from, values); break;
    case IdxType::f64: convert<double, double, std::uint64_t>(from, values); break;
  }
  return values;
}

}  // namespace

Tensor read_idx(const std::string& path) {
  const std::string file = read_file(path);
  std::span<const std::uint8_t> bytes = as_bytes(file);
  std::vector<std::uint8_t> inflated;
  if (guess_compression(bytes) == Compression::gzip) {
    inflated = inflate_bytes(bytes, Compression::gzip, path);
    bytes = inflated;
  }
  const auto fail = [&](const std::string& problem, std::size_t byte) {
    throw Error("[idx] " + path + ": " + problem + " at byte " + std::to_string(byte));
  };
  if (bytes.size() < 4) fail("the file ends inside its magic number", bytes.size());
  const auto type = static_cast<IdxType>(bytes[2]);
  if (bytes[0] != 0 || bytes[1] != 0 || bytes_of(type) == 0) {
    std::array<char, 12> magic{};
    std::snprintf(magic.data(), magic.size(), "%02x%02x%02x%02x", bytes[0], bytes[1], bytes[2], bytes[3]);
    fail("wrong magic number " + std::string(magic.data()) +
             " (00 00, then a type of 08, 09, 0b, 0c, 0d, 0e, then the rank)",
         0);
  }
  const std::size_t rank = bytes[3];
  const std::size_t header = 4 + 4 * rank;
  if (bytes.size() < header) fail("the file ends inside its " + std::to_string(rank) + " extents", bytes.size());
  std::vector<std::int64_t> dims;
  std::uint64_t wanted = bytes_of(type);
  for (std::size_t i = 0; i < rank; ++i) {
    const auto extent = big_endian<std::uint32_t>(bytes.data() + 4 + 4 * i);
    if (extent != 0 && wanted > (std::uint64_t{1} << 62) / extent)
      fail("the product of the extents overflows", 4 + 4 * i);
    wanted *= extent;
    dims.push_back(extent);
  }
  const std::size_t have = bytes.size() - header;
  if (have < wanted) {
    fail("the file is cut short: " + std::to_string(wanted) + " bytes of values are announced, " +
             std::to_string(have) + " are there; it ends",
         bytes.size());
  }
  if (have > wanted) fail("unexpected bytes after the values", header + static_cast<std::size_t>(wanted));
  return decode(type, Shape(std::move(dims)), bytes.data() + header);
}

}  // namespace ridgeline
