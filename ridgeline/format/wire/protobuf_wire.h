// ridgeline/format/wire/protobuf_wire.h
//
// The wire format of protocol buffers: enough to read and write tf.train.Example, event files and ONNX without their
// generated code. https://protobuf.dev/programming-guides/encoding
// A reader borrows its bytes and is used by one thread; every read is checked against the end of the buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline {

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, group_start = 3, group_end = 4, fixed32 = 5 };

// Walks the fields of one message:
//   ProtobufReader r(bytes, "Example");
//   while (r.next()) {
//     if (r.field() == 1) use(r.message("Features"));
//   }                               // a field that nobody read is skipped by the next next()
// Bad input is an Error "[protobuf] Example: ... at byte N", N counted from the start of this message.
class ProtobufReader {
 public:
  ProtobufReader(std::span<const std::uint8_t> bytes, std::string_view what) : bytes_(bytes), what_(what) {}

  // Moves to the next field; false at the end.
  bool next();
  std::uint32_t field() const { return field_; }
  WireType wire_type() const { return type_; }

  // The value of the current field, read once. Another wire type than the one asked for is an Error.
  std::uint64_t varint();
  std::int64_t int64() { return static_cast<std::int64_t>(varint()); }
  std::uint32_t fixed32();
  std::uint64_t fixed64();
  float f32();
  double f64();
  std::span<const std::uint8_t> bytes();
  std::string_view text();
  ProtobufReader message(std::string_view what) { return {bytes(), what}; }
  void skip();

  // A repeated number field, packed or not: appends the values of this occurrence.
  void append_to(std::vector<std::int64_t>& values);
  void append_to(std::vector<float>& values);
  void append_to(std::vector<double>& values);

 private:
  [[noreturn]] void fail(std::string_view problem) const;
  void expect(WireType type);
  std::uint64_t raw_varint();
  std::span<const std::uint8_t> take(std::uint64_t size);
  void skip_value(WireType type);
  template <class T>
  void append_fixed(std::vector<T>& values, WireType single);

  std::span<const std::uint8_t> bytes_;
  std::string_view what_;
  std::size_t at_ = 0;
  std::uint32_t field_ = 0;
  WireType type_ = WireType::varint;
  bool pending_ = false;  // a field was announced by next() and its value not yet consumed
};

// Appends fields in the order of the calls. The caller leaves out default values where proto3 would.
class ProtobufWriter {
 public:
  void varint(std::uint32_t field, std::uint64_t value);
  void int64(std::uint32_t field, std::int64_t value) { varint(field, static_cast<std::uint64_t>(value)); }
  void f32(std::uint32_t field, float value);
  void f64(std::uint32_t field, double value);
  void bytes(std::uint32_t field, std::string_view value);
  void message(std::uint32_t field, const ProtobufWriter& value) { bytes(field, value.buffer()); }
  // Repeated numbers, packed. An empty list writes nothing.
  void packed(std::uint32_t field, std::span<const std::int64_t> values);
  void packed(std::uint32_t field, std::span<const float> values);
  void packed(std::uint32_t field, std::span<const double> values);

  const std::string& buffer() const { return buffer_; }

 private:
  void tag(std::uint32_t field, WireType type);
  void raw_varint(std::uint64_t value);
  void raw(const void* data, std::size_t size) { buffer_.append(static_cast<const char*>(data), size); }

  std::string buffer_;
};

}  // namespace ridgeline
