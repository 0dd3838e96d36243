#include <arm_acle.h>
#include <sys/auxv.h>

#include <cstring>

#include "ridgeline/format/wire/crc32c.h"

namespace ridgeline {

bool crc32c_has_instruction() { return (::getauxval(AT_HWCAP) & HWCAP_CRC32) != 0; }

__attribute__((target("+crc"))) std::uint32_t crc32c_by_instruction(std::span<const std::uint8_t> bytes,
                                                                    std::uint32_t crc) {
  const std::uint8_t* p = bytes.data();
  std::size_t n = bytes.size();
  std::uint32_t state = ~crc;
  for (; n >= 8; p += 8, n -= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, p, sizeof(word));
    state = __crc32cd(state, word);
  }
  for (; n > 0; ++p, --n) state = __crc32cb(state, *p);
  return ~state;
}

}  // namespace ridgeline
