#include "ridgeline/format/text/json_tree.h"

#include <nlohmann/json.hpp>

#include "tests/support/files.h"

namespace ridgeline {
namespace {

std::string brackets(int levels) {
  return std::string(static_cast<std::size_t>(levels), '[') + std::string(static_cast<std::size_t>(levels), ']');
}

TEST(JsonTree, DeepNestingIsAnErrorAndNoEndOfTheStack) {
  EXPECT_EQ(parse_json_tree(brackets(kMostJsonLevels), "[test]").dump().size(), std::size_t{2} * kMostJsonLevels);
  const std::string refusal = "[test] nests deeper than 1200 levels";
  EXPECT_EQ(error_of([] { parse_json_tree(brackets(kMostJsonLevels + 1), "[test]"); }), refusal);
  EXPECT_EQ(error_of([] { parse_json_tree("{\"a\":" + brackets(1'000'000) + "}", "[test]"); }), refusal);
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_EQ(error_of([&] { parse_json_tree(objects, "[test]"); }), refusal);
}

TEST(JsonTree, BracketsInTextsAreNoLevels) {
  const std::string many = std::string(5000, '[') + "\\\"{\\\\";
  EXPECT_EQ(parse_json_tree("[\"" + many + "\", {\"[\": 1}]", "[test]")[1]["["], 1);
  EXPECT_EQ(error_of([&] { parse_json_tree("[\"" + many + "\", " + brackets(1200) + "]", "[test]"); }),
            "[test] nests deeper than 1200 levels");
}

TEST(JsonTree, WhatIsNoJsonIsAnError) {
  for (const char* text : {"", "[", "]", "]]]", "{\"a\":}", "\"", "\"\\", "[1] 2", "\"\xff\""})
    EXPECT_TRUE(error_of([&] { parse_json_tree(text, "[test]"); }).starts_with("[test] [json.exception.")) << text;
}

}  // namespace
}  // namespace ridgeline
