#include "tests/format/support.h"

#include <bit>
#include <cstdio>

#include "ridgeline/core/random.h"

namespace ridgeline {
namespace {

constexpr std::array<std::uint32_t, 64> kRound{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using State = std::array<std::uint32_t, 8>;

void absorb(State& h, const std::uint8_t* block) {
  std::array<std::uint32_t, 64> w{};
  for (std::size_t i = 0; i < 16; ++i) {
    w[i] = (std::uint32_t{block[4 * i]} << 24) | (std::uint32_t{block[4 * i + 1]} << 16) |
           (std::uint32_t{block[4 * i + 2]} << 8) | block[4 * i + 3];
  }
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t a = w[i - 15];
    const std::uint32_t b = w[i - 2];
    w[i] = w[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3)) + w[i - 7] +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10));
  }
  State s = h;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t t1 = s[7] + (std::rotr(s[4], 6) ^ std::rotr(s[4], 11) ^ std::rotr(s[4], 25)) +
                             ((s[4] & s[5]) ^ (~s[4] & s[6])) + kRound[i] + w[i];
    const std::uint32_t t2 = (std::rotr(s[0], 2) ^ std::rotr(s[0], 13) ^ std::rotr(s[0], 22)) +
                             ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
    s = {t1 + t2, s[0], s[1], s[2], s[3] + t1, s[4], s[5], s[6]};
  }
  for (std::size_t i = 0; i < 8; ++i) h[i] += s[i];
}

}  // namespace

void expect_cuts_are_errors(const std::string& path, std::string_view content, std::string_view prefix,
                            const std::function<void()>& use, const std::function<bool(std::size_t)>& whole) {
  for (std::size_t n = 0; n < content.size(); ++n) {
    put_file(path, content.substr(0, n));
    const std::string message = error_of(use);
    if (whole(n)) {
      EXPECT_EQ(message, "") << "cut at byte " << n;
    } else {
      EXPECT_TRUE(message.starts_with(prefix)) << "cut at byte " << n << ": '" << message << "'";
    }
  }
}

int expect_flips_are_survived(const std::string& path, std::string_view content, const std::function<void()>& use,
                              int files) {
  int refused = 0;
  for (int sample = 0; sample < files; ++sample) {
    SampleRandom random(philox_key(1, "flips"), 0, static_cast<std::uint64_t>(sample));
    std::string bad(content);
    for (std::int64_t k = random.integer(1, 4); k > 0; --k) {
      bad[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(bad.size()) - 1))] =
          static_cast<char>(random.bits());
    }
    put_file(path, bad);
    const std::string message = error_of(use);
    EXPECT_TRUE(message.empty() || message[0] == '[') << message;
    refused += message.empty() ? 0 : 1;
  }
  return refused;
}

std::string sha256_16(std::span<const std::uint8_t> bytes) {
  State h{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::size_t at = 0;
  for (; bytes.size() - at >= 64; at += 64) absorb(h, bytes.data() + at);
  std::vector<std::uint8_t> tail(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.end());
  tail.push_back(0x80);
  while (tail.size() % 64 != 56) tail.push_back(0);
  for (int shift = 56; shift >= 0; shift -= 8) {
    tail.push_back(static_cast<std::uint8_t>((std::uint64_t{bytes.size()} * 8) >> shift));
  }
  for (std::size_t i = 0; i < tail.size(); i += 64) absorb(h, tail.data() + i);
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%08x%08x", h[0], h[1]);
  return text.data();
}

}  // namespace ridgeline
