#include "ridgeline/format/wire/protobuf_wire.h"

#include <array>
#include <bit>
#include <cstring>

#include "ridgeline/core/error.h"

namespace ridgeline {
namespace {

constexpr std::array<std::string_view, 6> kWireNames{"varint",      "fixed64",   "length-delimited",
                                                     "group start", "group end", "fixed32"};

}  // namespace

void ProtobufReader::fail(std::string_view problem) const {
  throw Error("[protobuf] " + std::string(what_) + ": " + std::string(problem) + " at byte " + std::to_string(at_));
}

bool ProtobufReader::next() {
  if (pending_) skip();
  if (at_ == bytes_.size()) return false;
  const std::uint64_t tag = raw_varint();
  if (tag > 0xffffffffu || tag >> 3 == 0) fail("invalid field number");
  if ((tag & 7u) > 5) fail("invalid wire type " + std::to_string(tag & 7u));
  field_ = static_cast<std::uint32_t>(tag >> 3);
  type_ = static_cast<WireType>(tag & 7u);
  if (type_ == WireType::group_end) fail("end of a group that was not started");
  pending_ = true;
  return true;
}

std::uint64_t ProtobufReader::varint() {
  expect(WireType::varint);
  return raw_varint();
}

std::uint32_t ProtobufReader::fixed32() {
  expect(WireType::fixed32);
  std::uint32_t value = 0;
  std::memcpy(&value, take(4).data(), 4);
  return value;
}

std::uint64_t ProtobufReader::fixed64() {
  expect(WireType::fixed64);
  std::uint64_t value = 0;
  std::memcpy(&value, take(8).data(), 8);
  return value;
}

float ProtobufReader::f32() { return std::bit_cast<float>(fixed32()); }

double ProtobufReader::f64() { return std::bit_cast<double>(fixed64()); }

std::span<const std::uint8_t> ProtobufReader::bytes() {
  expect(WireType::bytes);
  return take(raw_varint());
}

std::string_view ProtobufReader::text() {
  const auto value = bytes();
  return {reinterpret_cast<const char*>(value.data()), value.size()};
}

void ProtobufReader::skip() {
  pending_ = false;
  if (type_ != WireType::group_start) return skip_value(type_);
  // Groups are long gone from use, but a reader must step over them; they nest, so their ends are counted.
  std::size_t depth = 1;
  while (depth > 0) {
    if (at_ == bytes_.size()) fail("a group without its end");
    const std::uint64_t tag = raw_varint();
    if ((tag & 7u) > 5) fail("invalid wire type " + std::to_string(tag & 7u));
    const auto type = static_cast<WireType>(tag & 7u);
    if (type == WireType::group_start) {
      ++depth;
    } else if (type == WireType::group_end) {
      --depth;
    } else {
      skip_value(type);
    }
  }
}

void ProtobufReader::append_to(std::vector<std::int64_t>& values) {
  if (type_ == WireType::varint) {
    values.push_back(int64());
    return;
  }
  ProtobufReader packed = message(what_);
  while (packed.at_ < packed.bytes_.size()) values.push_back(static_cast<std::int64_t>(packed.raw_varint()));
}

void ProtobufReader::append_to(std::vector<float>& values) { append_fixed(values, WireType::fixed32); }

void ProtobufReader::append_to(std::vector<double>& values) { append_fixed(values, WireType::fixed64); }

template <class T>
void ProtobufReader::append_fixed(std::vector<T>& values, WireType single) {
  if (type_ == single) {
    expect(single);
    T value{};
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    values.push_back(value);
    return;
  }
  const auto packed = bytes();
  if (packed.size() % sizeof(T) != 0) {
    fail("a packed list of " + std::to_string(packed.size()) + " bytes is no whole number of values");
  }
  const std::size_t old = values.size();
  values.resize(old + packed.size() / sizeof(T));
  if (!packed.empty()) std::memcpy(values.data() + old, packed.data(), packed.size());
}

void ProtobufReader::expect(WireType type) {
  RIDGELINE_CHECK(pending_, "the value of a field is read once, after next()");
  pending_ = false;
  if (type_ == type) return;
  fail("field " + std::to_string(field_) + " has wire type " +
       std::string(kWireNames[static_cast<std::size_t>(type_)]) + ", not " +
       std::string(kWireNames[static_cast<std::size_t>(type)]));
}

std::uint64_t ProtobufReader::raw_varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (at_ == bytes_.size()) fail("a number is cut short");
    const std::uint8_t byte = bytes_[at_++];
    value |= std::uint64_t{byte & 0x7fu} << (shift < 63 ? shift : 63);
    if ((byte & 0x80u) == 0) {
      if (shift == 63 && byte > 1) fail("a number has more than 64 bits");
      return value;
    }
  }
  fail("a number has more than 10 bytes");
}

std::span<const std::uint8_t> ProtobufReader::take(std::uint64_t size) {
  const std::size_t left = bytes_.size() - at_;
  if (size > left) {
    fail("field " + std::to_string(field_) + " wants " + std::to_string(size) + " bytes, only " + std::to_string(left) +
         " are left");
  }
  const auto taken = bytes_.subspan(at_, static_cast<std::size_t>(size));
  at_ += taken.size();
  return taken;
}

void ProtobufReader::skip_value(WireType type) {
  switch (type) {
    case WireType::varint: raw_varint(); return;
    case WireType::fixed64: take(8); return;
    case WireType::bytes: take(raw_varint()); return;
    case WireType::fixed32: take(4); return;
    case WireType::group_start:
    case WireType::group_end: break;
  }
  RIDGELINE_CHECK(false, "groups are skipped by skip()");
}

void ProtobufWriter::varint(std::uint32_t field, std::uint64_t value) {
  tag(field, WireType::varint);
  raw_varint(value);
}

void ProtobufWriter::f32(std::uint32_t field, float value) {
  tag(field, WireType::fixed32);
  raw(&value, sizeof(value));
}

void ProtobufWriter::f64(std::uint32_t field, double value) {
  tag(field, WireType::fixed64);
  raw(&value, sizeof(value));
}

void ProtobufWriter::bytes(std::uint32_t field, std::string_view value) {
  tag(field, WireType::bytes);
  raw_varint(value.size());
  raw(value.data(), value.size());
}

void ProtobufWriter::packed(std::uint32_t field, std::span<const std::int64_t> values) {
  if (values.empty()) return;
  ProtobufWriter list;
  for (std::int64_t v : values) list.raw_varint(static_cast<std::uint64_t>(v));
  bytes(field, list.buffer_);
}

void ProtobufWriter::packed(std::uint32_t field, std::span<const float> values) {
  if (values.empty()) return;
  bytes(field, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

void ProtobufWriter::packed(std::uint32_t field, std::span<const double> values) {
  if (values.empty()) return;
  bytes(field, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

void ProtobufWriter::tag(std::uint32_t field, WireType type) {
  raw_varint((std::uint64_t{field} << 3) | static_cast<std::uint64_t>(type));
}

void ProtobufWriter::raw_varint(std::uint64_t value) {
  while (value >= 0x80) {
    buffer_.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  buffer_.push_back(static_cast<char>(value));
}

}  // namespace ridgeline
