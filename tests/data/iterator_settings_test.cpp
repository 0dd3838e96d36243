// Settings of an iterator by name set its options.
#include "ridgeline/data/runtime/iterator_settings.h"

#include <set>

#include "tests/data/helpers.h"

namespace ridgeline::data::testing {
namespace {

// A value that differs from the default.
Value other_value(const IteratorSetting& setting) {
  const Value usual = setting.get({});
  if (setting.name == "start") return IteratorState{.graph_hash = 1, .seed = 2, .records = 3}.to_json();
  if (setting.name == "bad_samples") return std::string("replace");
  if (const auto* truth = std::get_if<bool>(&usual)) return !*truth;
  if (const auto* number = std::get_if<std::int64_t>(&usual)) return *number + 3;
  if (std::holds_alternative<Texts>(usual)) return Texts{"split_tail"};
  return std::string("/some/file");
}

TEST(IteratorSettings, EachIsKeptUnderItsNameAndChangesNoOther) {
  std::set<std::string_view> names;
  for (const IteratorSetting& setting : iterator_settings()) {
    EXPECT_TRUE(names.insert(setting.name).second) << setting.name << " twice";
    EXPECT_FALSE(setting.help.empty());
    const Value other = other_value(setting);
    IteratorOptions options;
    set(options, iterator_setting(setting.name), other);
    for (const IteratorSetting& row : iterator_settings()) {
      const bool kept = row.get(options) == (row.name == setting.name ? other : row.get({}));
      EXPECT_TRUE(kept) << row.name << " when " << setting.name << " is set";
    }
  }
}

TEST(IteratorSettings, WhatDoesNotFitIsRefusedByName) {
  IteratorOptions options;
  EXPECT_ERROR(iterator_setting("jpeg_index_disc"), "did you mean 'jpeg_index_disk'");
  EXPECT_ERROR(set(options, iterator_setting("slots"), std::string("many")), "slots must be a whole number");
  EXPECT_ERROR(set(options, iterator_setting("jpeg_index_memory"), std::int64_t{-2}), "jpeg_index_memory is -2");
  EXPECT_ERROR(set(options, iterator_setting("bad_samples"), std::string("ignore")), "raise, skip, replace");
}

TEST(IteratorSettings, AnAbsentFolderIsNotAnEmptyOne) {
  IteratorOptions options;
  EXPECT_FALSE(options.jpeg_index_directory.has_value());
  set(options, iterator_setting("jpeg_index_directory"), std::string());
  ASSERT_TRUE(options.jpeg_index_directory.has_value());
  EXPECT_EQ(*options.jpeg_index_directory, "");
}

TEST(IteratorSettings, ASeedHasAllItsBits) {
  IteratorOptions options;
  set(options, iterator_setting("seed"), std::int64_t{-1});
  EXPECT_EQ(options.seed, ~std::uint64_t{0});
}

}  // namespace
}  // namespace ridgeline::data::testing
