#include <gtest/gtest.h>

#include "ridgeline/core/unicode_forms.h"

namespace ridgeline {
namespace {

TEST(UnicodeForms, AComposedLetterIsTheLetterWithItsMarks) {
  EXPECT_EQ(decomposed("caf\u00e9"), "cafe\u0301");
  EXPECT_EQ(decomposed("cafe\u0301"), "cafe\u0301");
  EXPECT_EQ(decomposed("\u1ead"), "a\u0323\u0302") << "two marks";
  EXPECT_EQ(decomposed("\u0439"), "\u0438\u0306") << "Cyrillic";
  EXPECT_EQ(decomposed("\u304c"), "\u304b\u3099") << "kana";
  EXPECT_EQ(decomposed("\ud55c\uae00"), "\u1112\u1161\u11ab\u1100\u1173\u11af") << "Hangul";
}

TEST(UnicodeForms, EverythingElseStays) {
  EXPECT_EQ(decomposed(""), "");
  EXPECT_EQ(decomposed("plain/name 1.jpg"), "plain/name 1.jpg");
  EXPECT_EQ(decomposed("\u8bad\u7ec3 \U0001F600"), "\u8bad\u7ec3 \U0001F600");
  EXPECT_EQ(decomposed("\xe9\xff"), "\xe9\xff") << "no UTF-8";
}

}  // namespace
}  // namespace ridgeline
