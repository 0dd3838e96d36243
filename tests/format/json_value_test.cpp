#include "ridgeline/format/text/json_value.h"

#include "tests/support/files.h"

namespace ridgeline {
namespace {

std::string round_trip(std::string_view text, const JsonOptions& options = {}) {
  return to_json_text(parse_json(text, "[test]", options));
}

std::string error(std::string_view text, const JsonOptions& options = {}) {
  return error_of([&] { round_trip(text, options); });
}

TEST(JsonValue, KeepsKindsAndOrder) {
  const std::string text = R"({"z":[1,-2,1.5,true,null,"a\"\u00e9"],"a":{},"b":[]})";
  EXPECT_EQ(round_trip(text), "{\"z\":[1,-2,1.5,true,null,\"a\\\"\u00e9\"],\"a\":{},\"b\":[]}");
  const JsonValue value = parse_json(text, "[test]");
  const JsonValue& z = *value.find("z");
  EXPECT_EQ(*(*z.array())[1].integer(), -2);
  EXPECT_EQ((*z.array())[0].real(), nullptr);
  double number = 0;
  EXPECT_TRUE((*z.array())[0].as_double(number));
  EXPECT_EQ(number, 1.0);
  EXPECT_FALSE((*z.array())[3].as_double(number));
  EXPECT_EQ(z.kind(), "array");
  EXPECT_EQ(value.find("y"), nullptr);
  EXPECT_EQ(z.find("z"), nullptr);
  EXPECT_EQ(parse_json("18446744073709551615", "[test]").kind(), "real");
}

TEST(JsonValue, RefusesWhatIsAmbiguous) {
  EXPECT_EQ(error(R"({"a":1,"b":{"c":1,"c":2}})"), "[test] has the key 'c' twice in one object");
  EXPECT_EQ(error(R"([{"a":1},{"a":1}])"), "");
  EXPECT_TRUE(error("[1,]").starts_with("[test] is no valid JSON at byte 3: ")) << error("[1,]");
  EXPECT_TRUE(error("[1,]", {.first_byte = 100}).starts_with("[test] is no valid JSON at byte 103: "));
  EXPECT_TRUE(error("{} {}").starts_with("[test] is no valid JSON at byte 3: "));
  EXPECT_TRUE(error("").starts_with("[test] is no valid JSON at byte 0: "));
  EXPECT_TRUE(contains(error("\"\xff\""), "is no valid JSON"));
  EXPECT_TRUE(contains(error("1e999"), "is no valid JSON"));
  EXPECT_TRUE(contains(error(std::string(100'000, '[')), "nests deeper than 64 levels"));
  EXPECT_TRUE(contains(error_of([] { to_json_text(JsonValue("\xff")); }), "no UTF-8"));
}

TEST(JsonValue, IgnoredKeysLeaveNothing) {
  const JsonOptions options{.ignored_keys = {"x"}};
  EXPECT_EQ(round_trip(R"({"a":1,"x":{"x":[1,{"a":2}],"b":3},"c":[{"x":1,"d":2},{"x":[]}],"e":5})", options),
            R"({"a":1,"c":[{"d":2},{}],"e":5})");
  EXPECT_TRUE(contains(error(R"({"x":1,"x":2})", options), "twice"));
  EXPECT_TRUE(contains(error("{\"x\":" + std::string(100, '['), options), "nests deeper"));
}

}  // namespace
}  // namespace ridgeline
