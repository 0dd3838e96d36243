// The table of options: each option has its field, and the page lists all of them.
#include "ridgeline/train/recipe/options.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <set>

#include "ridgeline/core/file.h"
#include "ridgeline/optim/optimizers.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"

namespace ridgeline::train {
namespace {

// The address of an option's value.
const void* place_of(const RecipeOption& option, RecipeArguments& arguments) {
  return std::visit([&](const auto& field) -> const void* { return &field(arguments); }, option.field);
}

TEST(RecipeOptions, EachHasANameAHelpAndAValueOfItsOwn) {
  RecipeArguments arguments;
  std::set<std::string> names;
  std::set<const void*> places;
  for (const RecipeOption& option : recipe_options()) {
    EXPECT_FALSE(option.help.empty() || option.group.heading.empty()) << option.name;
    EXPECT_TRUE(places.insert(place_of(option, arguments)).second) << option.name << " has the value of another";
    EXPECT_EQ(find_option(option.name), &option);
    for (const std::string_view alias : option.aliases) EXPECT_EQ(find_option(alias), &option) << alias;
    const auto arguments_there = optim::optimizer_arguments();
    EXPECT_TRUE(option.of_optimizer.empty() ||
                std::any_of(arguments_there.begin(), arguments_there.end(),
                            [&](const auto& row) { return row.name == option.of_optimizer; }))
        << option.name;
    for (const OtherWay& way : option.instead_of) EXPECT_NE(find_option(way.option), nullptr) << option.name;
  }
  for (const std::string& name : option_names()) EXPECT_TRUE(names.insert(name).second) << name << " comes twice";
  EXPECT_EQ(find_option("learning_rate"), nullptr);
  EXPECT_EQ(find_option("restore_path"), find_option("weights"));
}

// "1 to 1024", "0, 1, 2", "[0, 1)", "0 (automatic) or more": what a message allows is what is allowed.
TEST(RecipeOptions, WhatIsAllowedIsSaidWithItsEnds) {
  for (const RecipeOption& option : recipe_options()) {
    const OptionRange& range = option.range;
    if (range.allowed.empty()) continue;
    const std::string text(range.allowed), most = fmt::format("{:.0f}", range.most);
    if (std::isinf(range.most)) {
      EXPECT_TRUE(text.ends_with(" or more")) << option.name << ": " << text;
    } else if (text.ends_with(range.below_most ? ")" : "]")) {
      EXPECT_TRUE(text.substr(0, text.size() - 1).ends_with(", " + most)) << option.name << ": " << text;
    } else {
      EXPECT_FALSE(range.below_most) << option.name << ": " << text;
      EXPECT_TRUE(text.ends_with(" " + most)) << option.name << ": " << text;
    }
  }
}

TEST(RecipeOptions, ADefaultIsInRangeAndWhatIsNotIsNamed) {
  EXPECT_EQ(error_of([] { check_ranges(Recipe()); }), "");
  const auto error = [](auto&& change) {
    Recipe recipe;
    change(recipe);
    return error_of([&] { check_ranges(recipe); });
  };
  EXPECT_EQ(error([](Recipe& r) { r.batch_size = 0; }), "--batch_size=0 is out of range (allowed: 1 or more)");
  EXPECT_EQ(error([](Recipe& r) { r.lr = 1e6; }), "");
  EXPECT_EQ(error([](Recipe& r) { r.lr = 1e6 + 1; }), "--lr=1000001 is out of range (allowed: 0 to 1000000)");
  EXPECT_EQ(error([](Recipe& r) { r.lr = std::nan(""); }), "--lr=nan is out of range (allowed: 0 to 1000000)");
  EXPECT_EQ(error([](Recipe& r) { r.min_area = 0; }), "--min_area=0 is out of range (allowed: (0, 1])");
  EXPECT_EQ(error([](Recipe& r) { r.min_area = 1; }), "");
  EXPECT_EQ(error([](Recipe& r) { r.label_smoothing = 1; }), "--label_smoothing=1 is out of range (allowed: [0, 1))");
  EXPECT_EQ(error([](Recipe& r) { r.max_epochs = 1'000'000'001; }),
            "--max_epochs=1000000001 is out of range (allowed: 1 to 1000000000)");
  EXPECT_EQ(error([](Recipe& r) { r.crop_padding = -2; }),
            "--crop_padding=-2 is out of range (allowed: -1 (off) to 1024)");
}

// RIDGELINE_UPDATE_DOCS=1 writes it.
TEST(RecipeOptions, ThePageHoldsTheTable) {
  const std::string path = testing::source_directory() + "/docs/options.md", page = read_file(path);
  const std::size_t begin = page.find("## Data");
  ASSERT_NE(begin, std::string::npos);
  if (std::getenv("RIDGELINE_UPDATE_DOCS")) {
    std::ofstream(path) << page.substr(0, begin) << options_table();
    return;
  }
  EXPECT_EQ(page.substr(begin), options_table());
}

}  // namespace
}  // namespace ridgeline::train
