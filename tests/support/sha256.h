// tests/support/sha256.h
//
// SHA-256, by which the catalogues of the real data name records and pixels: its first 16 hexadecimal digits.
#pragma once

#include <fmt/format.h>
#include <openssl/sha.h>

#include <string>
#include <string_view>

namespace ridgeline {

inline std::string sha256_16(std::string_view bytes) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest);
  std::string text;
  for (int i = 0; i < 8; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

}  // namespace ridgeline
