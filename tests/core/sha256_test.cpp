#include "ridgeline/core/sha256.h"

#include <gtest/gtest.h>

namespace ridgeline {
namespace {

TEST(Sha256, AgreesWithTheStandardsExamples) {
  EXPECT_EQ(Sha256().hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256().update("abc").hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256().update("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq").hex(),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Sha256().update(std::string(1000000, 'a')).hex(),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnHowTheBytesAreCut) {
  const std::string bytes(300, 'x');
  for (std::size_t length = 0; length <= bytes.size(); ++length) {
    const std::string text = bytes.substr(0, length);
    Sha256 pieces;
    for (std::size_t at = 0; at < length; at += 7) pieces.update(std::string_view(text).substr(at, 7));
    EXPECT_EQ(pieces.hex(), Sha256().update(text).hex()) << length;
  }
  Sha256 more;
  more.update("a");
  (void)more.hex();
  EXPECT_EQ(more.update("bc").hex(), Sha256().update("abc").hex());
}

}  // namespace
}  // namespace ridgeline
