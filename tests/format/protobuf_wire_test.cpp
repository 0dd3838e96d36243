#include "ridgeline/format/wire/protobuf_wire.h"

#include <limits>

#include "ridgeline/core/random.h"
#include "tests/support/files.h"

namespace ridgeline {
namespace {

TEST(ProtobufWire, ReadsWhatItWrites) {
  ProtobufWriter inner;
  inner.bytes(1, "inside");
  ProtobufWriter w;
  w.varint(1, 300);
  w.int64(2, -1);
  w.f32(3, 1.5f);
  w.f64(4, -0.25);
  w.bytes(5, std::string_view("\0x", 2));
  w.message(6, inner);
  w.packed(536870911, std::vector<std::int64_t>{0, -5, std::numeric_limits<std::int64_t>::max()});
  ProtobufReader r(as_bytes(w.buffer()), "test");
  ASSERT_TRUE(r.next());
  EXPECT_EQ(r.varint(), 300u);
  ASSERT_TRUE(r.next());
  EXPECT_EQ(r.int64(), -1);
  ASSERT_TRUE(r.next());
  EXPECT_EQ(r.f32(), 1.5f);
  ASSERT_TRUE(r.next());
  EXPECT_EQ(r.f64(), -0.25);
  ASSERT_TRUE(r.next());
  EXPECT_EQ(r.text(), std::string_view("\0x", 2));
  ASSERT_TRUE(r.next());
  ProtobufReader m = r.message("inner");
  ASSERT_TRUE(m.next());
  EXPECT_EQ(m.text(), "inside");
  EXPECT_FALSE(m.next());
  ASSERT_TRUE(r.next());
  EXPECT_EQ(r.field(), 536870911u);
  std::vector<std::int64_t> values;
  r.append_to(values);
  EXPECT_EQ(values, (std::vector<std::int64_t>{0, -5, std::numeric_limits<std::int64_t>::max()}));
  EXPECT_FALSE(r.next());
}

TEST(ProtobufWire, WritesTheBytesOfTheSpecification) {  // "150" and "testing" of the encoding guide
  ProtobufWriter w;
  w.varint(1, 150);
  w.bytes(2, "testing");
  EXPECT_EQ(w.buffer(), std::string("\x08\x96\x01\x12\x07testing"));
}

TEST(ProtobufWire, SkipsUnreadFieldsAndNestedGroups) {
  // field 3 group { field 1: 5, field 4 group {}, field 2: "ab" } end, then field 1: 7
  const std::string bytes(
      "\x1b\x08\x05\x23\x24\x12\x02"
      "ab\x1c\x08\x07");
  ProtobufReader r(as_bytes(bytes), "test");
  ASSERT_TRUE(r.next());
  EXPECT_EQ(r.wire_type(), WireType::group_start);
  ASSERT_TRUE(r.next());
  EXPECT_EQ(r.varint(), 7u);
  EXPECT_FALSE(r.next());
}

TEST(ProtobufWire, RefusesBadInputWithThePlace) {
  const auto read_all = [](std::string_view bytes) {
    return error_of([&] {
      ProtobufReader r(as_bytes(bytes), "Example");
      while (r.next()) {
      }
    });
  };
  EXPECT_EQ(read_all("\x0a\x05"
                     "abc"),
            "[protobuf] Example: field 1 wants 5 bytes, only 3 are left at byte 2");
  EXPECT_TRUE(contains(read_all("\x08\x80"), "a number is cut short at byte 2"));
  EXPECT_TRUE(contains(read_all("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), "more than 64 bits"));
  EXPECT_TRUE(contains(read_all("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "more than 10 bytes"));
  EXPECT_TRUE(contains(read_all("\x0e"), "invalid wire type 6"));
  EXPECT_TRUE(contains(read_all(std::string_view("\x00", 1)), "invalid field number"));
  EXPECT_TRUE(contains(read_all("\x1c"), "end of a group"));
  EXPECT_TRUE(contains(read_all("\x1b"), "a group without its end"));
  EXPECT_TRUE(contains(read_all("\x0d\x01"), "wants 4 bytes"));
  const std::string huge("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");  // a length of 2^64-1
  EXPECT_TRUE(contains(read_all(huge), "only 0 are left"));
}

TEST(ProtobufWire, NamesTheWireTypeThatWasNotExpected) {
  ProtobufWriter w;
  w.varint(9, 1);
  ProtobufReader r(as_bytes(w.buffer()), "Event");
  ASSERT_TRUE(r.next());
  EXPECT_EQ(error_of([&] { r.text(); }),
            "[protobuf] Event: field 9 has wire type varint, not length-delimited at byte 1");
}

TEST(ProtobufWire, SurvivesRandomBytes) {
  for (std::uint64_t sample = 0; sample < 3000; ++sample) {
    SampleRandom random(philox_key(3, "wire"), 0, sample);
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(random.integer(0, 40)));
    for (auto& b : bytes) b = static_cast<std::uint8_t>(random.bits());
    error_of([&] {
      ProtobufReader r(bytes, "noise");
      std::vector<float> floats;
      while (r.next()) {
        if (r.wire_type() == WireType::bytes || r.wire_type() == WireType::fixed32) r.append_to(floats);
      }
    });
  }
}

}  // namespace
}  // namespace ridgeline
