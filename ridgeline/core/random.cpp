#include "ridgeline/core/random.h"

#include <cmath>
#include <numbers>

#include "ridgeline/core/error.h"
#include "ridgeline/core/math.h"

namespace ridgeline {
namespace {

constexpr std::uint32_t kMultiplier0 = 0xD2511F53u;  // constants of the paper, table 2
constexpr std::uint32_t kMultiplier1 = 0xCD9E8D57u;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9u;
constexpr std::uint32_t kWeyl1 = 0xBB67AE85u;

}  // namespace

std::uint64_t hash64(std::string_view bytes, std::uint64_t seed) {
  std::uint64_t h = 0xcbf29ce484222325ull ^ seed;
  for (unsigned char c : bytes) h = (h ^ c) * 0x100000001b3ull;
  h += 0x9e3779b97f4a7c15ull;
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ull;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebull;
  return h ^ (h >> 31);
}

PhiloxKey philox_key(std::uint64_t seed, std::string_view op_name) {
  // The seed is mixed first, so that neighbouring seeds share nothing with neighbouring names.
  const std::uint64_t mixed = (seed + 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
  const std::uint64_t h = hash64(op_name, mixed ^ (mixed >> 29));
  return {static_cast<std::uint32_t>(h), static_cast<std::uint32_t>(h >> 32)};
}

PhiloxBlock philox4x32(PhiloxKey key, PhiloxBlock c) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{kMultiplier0} * c[0];
    const std::uint64_t p1 = std::uint64_t{kMultiplier1} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ key.k0, static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ key.k1, static_cast<std::uint32_t>(p0)};
    key.k0 += kWeyl0;
    key.k1 += kWeyl1;
  }
  return c;
}

std::uint32_t philox_element(PhiloxKey key, std::uint64_t step, std::uint64_t element) {
  const std::uint64_t block = element / 4;
  const PhiloxBlock bits = philox4x32(key, {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                                            static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(step >> 32)});
  return bits[element % 4];
}

SampleRandom::SampleRandom(PhiloxKey key, std::uint64_t epoch, std::uint64_t sample)
    : key_(key), epoch_(static_cast<std::uint32_t>(epoch)), sample_(sample) {}

std::uint32_t SampleRandom::bits() {
  if (draw_ % 4 == 0) {
    block_ = philox4x32(
        key_, {draw_ / 4, epoch_, static_cast<std::uint32_t>(sample_), static_cast<std::uint32_t>(sample_ >> 32)});
  }
  return block_[draw_++ % 4];
}

double SampleRandom::uniform() {
  const std::uint64_t high = bits();
  const std::uint64_t low = bits();
  return static_cast<double>(((high << 32) | low) >> 11) * 0x1p-53;
}

std::int64_t SampleRandom::integer(std::int64_t low, std::int64_t high) {
  RIDGELINE_CHECK(low <= high, "empty integer range");
  const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
  RIDGELINE_CHECK(range != 0 && range <= (std::uint64_t{1} << 32), "integer range wider than 32 bits");
  // Lemire, "Fast random integer generation in an interval", 2019: unbiased by rejecting the short interval.
  const std::uint64_t threshold = ((std::uint64_t{1} << 32) - range) % range;
  while (true) {
    const std::uint64_t product = std::uint64_t{bits()} * range;
    if ((product & 0xffffffffull) >= threshold) return low + static_cast<std::int64_t>(product >> 32);
  }
}

double SampleRandom::normal() {
  const double u = 1.0 - uniform();  // (0, 1]: the logarithm is finite
  const double v = uniform();
  return std::sqrt(-2.0 * portable_log(u)) * portable_cos(2.0 * std::numbers::pi * v);
}

}  // namespace ridgeline
