// ridgeline/core/sha256.h
//
// SHA-256 (FIPS 180-4), for digests that are compared between runs and machines. Plain C++, some 200 MB a second: not
// for hot paths. A value; one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ridgeline {

class Sha256 {
 public:
  Sha256& update(const void* data, std::size_t size);
  Sha256& update(std::string_view bytes) { return update(bytes.data(), bytes.size()); }
  // The digest of everything so far, as 64 hex digits; more may follow.
  std::string hex() const;

 private:
  void block(const std::uint8_t* bytes);

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> rest_{};  // bytes of a block that is not full yet
  std::uint64_t size_ = 0;               // bytes so far
};

}  // namespace ridgeline
