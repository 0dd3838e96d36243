// ridgeline/core/random.h
//
// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
// A draw is a pure function of (key, counter): independent of threads, order and machine. The key is a hash of
// (seed, stable name of the op); the counter is (epoch, sample, draw) in the data graph and (step, element) in the
// training graph. Uniform, normal and integer rules are ours, since the C++ library's differ between versions.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace ridgeline {

// FNV-1a over the bytes, then the splitmix64 finaliser. Stable across machines and versions.
std::uint64_t hash64(std::string_view bytes, std::uint64_t seed = 0);

struct PhiloxKey {
  std::uint32_t k0 = 0;
  std::uint32_t k1 = 0;
  friend bool operator==(PhiloxKey, PhiloxKey) = default;
};

PhiloxKey philox_key(std::uint64_t seed, std::string_view op_name);

using PhiloxBlock = std::array<std::uint32_t, 4>;
PhiloxBlock philox4x32(PhiloxKey key, PhiloxBlock counter);

// [0, 1) with 24 bits, exact in float.
inline float uniform_float(std::uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }

// Random bits of element `element` of a tensor in training step `step`: block element/4, lane element%4.
// The counter is {element/4 low, element/4 high, step low, step high}.
std::uint32_t philox_element(PhiloxKey key, std::uint64_t step, std::uint64_t element);

// The draws of one sample in one epoch, in sequence. Counter: {draw/4, epoch, sample low, sample high}.
class SampleRandom {
 public:
  SampleRandom(PhiloxKey key, std::uint64_t epoch, std::uint64_t sample);
  std::uint32_t bits();
  // [0, 1) with 53 bits; consumes two draws.
  double uniform();
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  // An integer in [low, high], both ends included, without bias (multiply-shift with rejection).
  std::int64_t integer(std::int64_t low, std::int64_t high);
  // Standard normal by Box-Muller with our own log and cos; consumes four draws.
  double normal();

 private:
  PhiloxKey key_;
  std::uint32_t epoch_;
  std::uint64_t sample_;
  std::uint32_t draw_ = 0;
  PhiloxBlock block_{};
};

}  // namespace ridgeline
