#include "ridgeline/format/record/example.h"

#include <limits>

#include "ridgeline/core/random.h"
#include "ridgeline/format/wire/protobuf_wire.h"
#include "tests/support/files.h"

namespace ridgeline {
namespace {

std::string stored_example() {
  return ExampleBuilder()
      .bytes("image/encoded", std::string_view("\xff\xd8\x00\xff", 4))
      .int64s("image/class/label", 7)
      .floats("image/object/bbox/xmin", {0.25f, -1.0f})
      .int64s("ids", {std::numeric_limits<std::int64_t>::min(), 0, -1})
      .bytes("names", std::vector<std::string>{"a", "", "c"})
      .floats("empty", {})
      .serialize();
}

TEST(Example, ReadsWhatItBuilds) {
  const std::string record = stored_example();
  const Example example(as_bytes(record));
  EXPECT_EQ(example.features().size(), 6u);
  EXPECT_EQ(example.one_bytes("image/encoded"), std::string_view("\xff\xd8\x00\xff", 4));
  EXPECT_EQ(example.one_int64("image/class/label"), 7);
  EXPECT_EQ(example.floats("image/object/bbox/xmin"), (std::vector<float>{0.25f, -1.0f}));
  EXPECT_EQ(example.int64s("ids"), (std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::min(), 0, -1}));
  EXPECT_EQ(example.bytes("names"), (std::vector<std::string_view>{"a", "", "c"}));
  EXPECT_TRUE(example.floats("empty").empty());
  EXPECT_FALSE(example.has("absent"));
}

TEST(Example, BytesPointIntoTheRecord) {
  const std::string record = stored_example();
  const auto bytes = Example(as_bytes(record)).one_bytes("image/encoded");
  EXPECT_GE(bytes.data(), record.data());
  EXPECT_LT(bytes.data(), record.data() + record.size());
}

TEST(Example, EqualContentGivesEqualBytesWhateverTheOrder) {
  const auto a = ExampleBuilder().int64s("a", 1).floats("b", {2}).serialize();
  const auto b = ExampleBuilder().floats("b", {9}).int64s("a", 1).floats("b", {2}).serialize();
  EXPECT_EQ(a, b);
}

// Serializers older than proto3 write repeated numbers one by one.
TEST(Example, ReadsUnpackedLists) {
  ProtobufWriter floats, ints, feature, entry, entry2, feature2, features, example;
  floats.f32(1, 1.5f);
  floats.f32(1, 2.5f);
  ints.int64(1, 3);
  ints.int64(1, -4);
  feature.message(2, floats);
  feature2.message(3, ints);
  entry.bytes(1, "f");
  entry.message(2, feature);
  entry2.bytes(1, "i");
  entry2.message(2, feature2);
  features.message(1, entry);
  features.message(1, entry2);
  example.message(1, features);
  const Example parsed(as_bytes(example.buffer()));
  EXPECT_EQ(parsed.floats("f"), (std::vector<float>{1.5f, 2.5f}));
  EXPECT_EQ(parsed.int64s("i"), (std::vector<std::int64_t>{3, -4}));
}

TEST(Example, RepeatedKeysAndListsFollowProtocolBuffers) {
  ProtobufWriter one, two, text, feature, entry, features, example;
  one.int64(1, 1);
  two.int64(1, 2);
  text.bytes(1, "dropped");
  feature.message(3, two);   // replaced by the bytes list, the other member of the oneof
  feature.message(1, text);  // replaced by the ints
  feature.message(3, one);
  feature.message(3, two);  // merged with the previous one
  entry.bytes(1, "k");
  entry.message(2, feature);
  features.message(1, entry);
  example.message(1, features);
  EXPECT_EQ(Example(as_bytes(example.buffer())).int64s("k"), (std::vector<std::int64_t>{1, 2}));

  ProtobufWriter last;
  last.bytes(1, "k");
  ProtobufWriter last_feature;
  last_feature.message(1, text);
  last.message(2, last_feature);
  features.message(1, last);
  ProtobufWriter twice;
  twice.message(1, features);
  EXPECT_EQ(Example(as_bytes(twice.buffer())).one_bytes("k"), "dropped");
}

TEST(Example, FeatureWithoutAListReadsAsEmptyOfAnyKind) {
  ProtobufWriter entry, features, example;
  entry.bytes(1, "k");
  features.message(1, entry);
  example.message(1, features);
  const Example parsed(as_bytes(example.buffer()));
  EXPECT_TRUE(parsed.floats("k").empty());
  EXPECT_TRUE(parsed.bytes("k").empty());
  EXPECT_EQ(parsed.find("k")->kind, FeatureKind::none);
}

TEST(Example, ErrorsNameKeyAndKind) {
  const std::string record = stored_example();
  const Example example(as_bytes(record));
  EXPECT_EQ(error_of([&] { example.floats("image/class/label"); }),
            "[example] feature 'image/class/label' holds int64s, not floats");
  EXPECT_EQ(error_of([&] { example.one_int64("ids"); }), "[example] feature 'ids' holds 3 int64s, exactly 1 is wanted");
  const std::string missing = error_of([&] { example.bytes("image/encodet"); });
  EXPECT_TRUE(contains(missing, "no feature 'image/encodet': did you mean 'image/encoded'?")) << missing;
}

TEST(Example, DamageIsAnErrorAndNeverACrash) {
  const std::string record = stored_example();
  const auto use = [](std::span<const std::uint8_t> bytes) {
    return error_of([&] {
      const Example example(bytes);
      for (const auto& f : example.features()) {
        if (f.kind == FeatureKind::bytes) example.bytes(f.key);
        if (f.kind == FeatureKind::floats) example.floats(f.key);
        if (f.kind == FeatureKind::int64s) example.int64s(f.key);
      }
    });
  };
  for (std::size_t n = 1; n < record.size(); ++n) {
    EXPECT_TRUE(use(as_bytes(record).first(n)).starts_with("[protobuf] ")) << n;
  }
  for (std::uint64_t sample_number = 0; sample_number < 5000; ++sample_number) {
    SampleRandom random(philox_key(4, "example"), 0, sample_number);
    std::string bad = record;
    for (int k = 0; k < 3; ++k) {
      bad[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(bad.size()) - 1))] =
          static_cast<char>(random.bits());
    }
    const std::string message = use(as_bytes(bad));  // many such records are still valid
    EXPECT_TRUE(message.empty() || message[0] == '[') << message;
  }
}

}  // namespace
}  // namespace ridgeline
