#include "ridgeline/format/wire/crc32c.h"

#include "ridgeline/core/random.h"
#include "tests/support/files.h"

namespace ridgeline {
namespace {

TEST(Crc32c, GivesTheChecksumsOfTheStandard) {  // RFC 3720, B.4
  std::vector<std::uint8_t> bytes(32, 0);
  EXPECT_EQ(crc32c(bytes), 0x8a9136aau);
  bytes.assign(32, 0xff);
  EXPECT_EQ(crc32c(bytes), 0x62a8ab43u);
  for (std::size_t i = 0; i < 32; ++i) bytes[i] = static_cast<std::uint8_t>(i);
  EXPECT_EQ(crc32c(bytes), 0x46dd794eu);
  EXPECT_EQ(crc32c(as_bytes("123456789")), 0xe3069283u);
  EXPECT_EQ(crc32c({}), 0u);
}

TEST(Crc32c, InstructionAndTableAgreeOnEveryLengthAndAlignment) {
  if (!crc32c_has_instruction()) GTEST_SKIP() << "this processor has no CRC-32C instruction";
  SampleRandom random(philox_key(1, "crc"), 0, 0);
  std::vector<std::uint8_t> bytes(600);
  for (auto& b : bytes) b = static_cast<std::uint8_t>(random.bits());
  for (std::size_t start = 0; start < 9; ++start) {
    for (std::size_t length = 0; length < 300; ++length) {
      const auto piece = std::span<const std::uint8_t>(bytes).subspan(start, length);
      ASSERT_EQ(crc32c_by_instruction(piece, 0x1234u), crc32c_by_table(piece, 0x1234u)) << start << "+" << length;
    }
  }
}

TEST(Crc32c, ContinuesWhereAnEarlierCallStopped) {
  const std::string text = "a ridge point is where a roofline turns";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const std::uint32_t first = crc32c(as_bytes(text).first(cut));
    EXPECT_EQ(crc32c(as_bytes(text).subspan(cut), first), crc32c(as_bytes(text)));
    EXPECT_EQ(crc32c_by_table(as_bytes(text).subspan(cut), first), crc32c(as_bytes(text)));
  }
}

TEST(Crc32c, MasksAsTFRecordDoes) {
  // The length 24 and its stored checksum, with which TensorBoard's files begin.
  const std::array<std::uint8_t, 8> length{24, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(masked_crc32c(length), 0x224b7fa3u);
}

}  // namespace
}  // namespace ridgeline
