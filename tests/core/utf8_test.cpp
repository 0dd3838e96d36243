#include "ridgeline/core/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace ridgeline {
namespace {

TEST(Utf8, TakesFirstAndLastOfEveryLength) {
  for (const std::string text : {"a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                                 "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(utf8_length(text), text.size());
    EXPECT_TRUE(is_utf8(text + "z" + text));
  }
  EXPECT_TRUE(is_utf8(""));
  EXPECT_EQ(utf8_length(std::string(1, '\0')), 1u);
}

TEST(Utf8, RefusesWhatIsCutOffOverlongASurrogateOrTooGreat) {
  for (const std::string text :
       {"", "\x80", "\xc3", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xe2\x82",
        "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xe2\x82z", "\xc3z"}) {
    EXPECT_EQ(utf8_length(text), 0u);
    EXPECT_EQ(is_utf8(text), text.empty());
  }
}

}  // namespace
}  // namespace ridgeline
