#include "ridgeline/core/printable.h"

#include <gtest/gtest.h>

#include "ridgeline/core/utf8.h"

namespace ridgeline {
namespace {

TEST(Printable, LeavesOrdinaryNamesAlone) {
  for (const char* name : {"", "circle", "two words", "Caf\u00e9", "\u732b.jpg", "\U0001f408", "a\\b", "\u00a0"})
    EXPECT_EQ(printable(name), name);
}

TEST(Printable, EscapesWhatBreaksALineOrControlsATerminal) {
  EXPECT_EQ(printable("a\nb\r\tc"), "a\\nb\\r\\tc");
  EXPECT_EQ(printable("\x1b[2J\x07"), "\\x1b[2J\\x07");
  EXPECT_EQ(printable(std::string_view("a\0b\x7f", 4)), "a\\x00b\\x7f");
  EXPECT_EQ(printable("\u009b31m"), "\\xc2\\x9b31m") << "the one-byte form of ESC [";
  EXPECT_EQ(printable("a\u2028b\u202egpj.exe\u2066"), "a\\xe2\\x80\\xa8b\\xe2\\x80\\xaegpj.exe\\xe2\\x81\\xa6");
}

TEST(Printable, EscapesBytesThatAreNoUtf8) {
  EXPECT_EQ(printable("fl\xe9urs"), "fl\\xe9urs");
  EXPECT_EQ(printable("\xe2\x80"), "\\xe2\\x80");
  EXPECT_EQ(printable("\xff\u00e9"), "\\xff\u00e9");
}

TEST(Printable, GivesWellFormedTextThatDoesNotChangeAgain) {
  for (unsigned first = 0; first < 256; ++first) {
    for (unsigned second = 0; second < 256; ++second) {
      const std::string name{'x', static_cast<char>(first), static_cast<char>(second), 'y'};
      const std::string once = printable(name);
      ASSERT_TRUE(is_utf8(once)) << first << " " << second;
      ASSERT_EQ(printable(once), once) << first << " " << second;
    }
  }
}

}  // namespace
}  // namespace ridgeline
