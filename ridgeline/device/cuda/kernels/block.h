// ridgeline/device/cuda/kernels/block.h
//
// The interface for kernel bodies. A body is a type
//
//   struct Body {
//     struct Parameters { ... };                    // plain data, passed by value
//     struct Shared { ... };                        // plain data, shared by a block's threads, undefined at first
//     static constexpr int kThreads = 256;          // of a block
//     static Blocks blocks(const Parameters&);      // of the grid
//     static void pointers(const Parameters&, PointerList&);  // what it reads and writes (pointers.h)
//     template <class Block>
//     static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared);
//   };
//
// whose run() is a sequence of phases: block.each_thread(f) calls f(thread) for every thread of the block, and all have
// finished it before the next phase begins. State of one thread across phases is a PerThread. No thread reads what
// another one writes in the same phase, and blocks share nothing: so the order of threads and blocks has no effect, and
// a loop over both (HostBlock) gives the bits of the card. Sums over threads go through tree().
#pragma once

#include <cstdint>

#include "ridgeline/core/dtype.h"
#include "ridgeline/device/cuda/kernels/phases.h"

namespace ridgeline::cuda {

// ---- elements

template <class T>
struct Storage;
template <>
struct Storage<float> {
  using Bits = float;
  static RIDGELINE_DEVICE float widen(float x) { return x; }
  static RIDGELINE_DEVICE float narrow(float x) { return x; }
};
template <>
struct Storage<bfloat16> {
  using Bits = u16;
  static RIDGELINE_DEVICE float widen(u16 x) { return bf16_to_float(x); }
  static RIDGELINE_DEVICE void widen_pair(u32 x, float& low, float& high) {
    low = float_of(x << 16);
    high = float_of(x & 0xffff0000u);
  }
  static RIDGELINE_DEVICE u16 narrow(float x) { return float_to_bf16(x); }
  static RIDGELINE_DEVICE u32 narrow(float low, float high) { return floats_to_bf16(low, high); }
};
template <>
struct Storage<float16> {
  using Bits = u16;
  static RIDGELINE_DEVICE float widen(u16 x) { return f16_to_float(x); }
  static RIDGELINE_DEVICE u16 narrow(float x) { return float_to_f16(x); }
  static RIDGELINE_DEVICE u32 narrow(float low, float high) { return floats_to_f16(low, high); }
};

// V contiguous elements, read and written by one access.
template <class T, int V>
struct alignas(sizeof(T) * V) Pack {
  typename Storage<T>::Bits at[V];
};

// 16 bytes of any meaning that are moved.
struct alignas(16) Quad {
  u32 at[4];
};

// How many elements of T 16 bytes hold.
template <class T>
inline constexpr int kWide = 16 / static_cast<int>(sizeof(T));

template <int V, class T>
RIDGELINE_DEVICE Pack<T, V> load_pack(const T* from) {
  return *reinterpret_cast<const Pack<T, V>*>(from);
}
// What nobody reads soon again: its place in the cache is the first to be given away.
template <int V, class T>
RIDGELINE_DEVICE Pack<T, V> load_pack_last(const T* from) {
#if RIDGELINE_ON_CARD
  const auto as = [from]<class Word>(const Word*) {
    return __builtin_bit_cast(Pack<T, V>, __ldcs(reinterpret_cast<const Word*>(from)));
  };
  if constexpr (sizeof(T) * V == 16)
    return as(static_cast<const uint4*>(nullptr));
  else if constexpr (sizeof(T) * V == 8)
    return as(static_cast<const uint2*>(nullptr));
  else if constexpr (sizeof(T) * V == 4)
    return as(static_cast<const u32*>(nullptr));
  else
    return as(static_cast<const u16*>(nullptr));
#else
  return load_pack<V>(from);
#endif
}
// Whether neighbouring elements are widened from the word that they are.
template <class T, int V>
inline constexpr bool kWidensPairs = V % 2 == 0 && requires(float& x) { Storage<T>::widen_pair(0u, x, x); };
template <class T, int V>
RIDGELINE_DEVICE void widen_pairs(const u32 (&pairs)[V / 2], float (&to)[V]) {
  RIDGELINE_UNROLL
  for (int i = 0; i < V / 2; ++i) Storage<T>::widen_pair(pairs[i], to[2 * i], to[2 * i + 1]);
}
template <class T, int V>
RIDGELINE_DEVICE void widen(const Pack<T, V>& pack, float (&to)[V]) {
  if constexpr (kWidensPairs<T, V>) {
    struct alignas(2 * V) Pairs {
      u32 at[V / 2];
    };
    const Pairs pairs = __builtin_bit_cast(Pairs, pack);
    widen_pairs<T>(pairs.at, to);
  } else {
    RIDGELINE_UNROLL
    for (int i = 0; i < V; ++i) to[i] = Storage<T>::widen(pack.at[i]);
  }
}
template <class T, int V>
RIDGELINE_DEVICE void load(const T* from, float (&to)[V]) {
  widen(load_pack<V>(from), to);
}
template <class T, int V>
RIDGELINE_DEVICE Pack<T, V> narrow(const float (&from)[V]) {
  if constexpr (sizeof(T) == 2 && V % 2 == 0) {
    struct alignas(2 * V) Pairs {
      u32 at[V / 2];
    } pairs;
    RIDGELINE_UNROLL
    for (int i = 0; i < V / 2; ++i) pairs.at[i] = Storage<T>::narrow(from[2 * i], from[2 * i + 1]);
    return __builtin_bit_cast(Pack<T, V>, pairs);
  } else {
    Pack<T, V> pack;
    RIDGELINE_UNROLL
    for (int i = 0; i < V; ++i) pack.at[i] = Storage<T>::narrow(from[i]);
    return pack;
  }
}
template <class T, int V>
RIDGELINE_DEVICE void store_pack(const Pack<T, V>& pack, T* to) {
  *reinterpret_cast<Pack<T, V>*>(to) = pack;
}
template <class T, int V>
RIDGELINE_DEVICE void store(const float (&from)[V], T* to) {
  store_pack(narrow<T>(from), to);
}
template <class T>
RIDGELINE_DEVICE float load_one(const T* from) {
  float value[1];
  load(from, value);
  return value[0];
}
template <class T>
RIDGELINE_DEVICE void store_one(float value, T* to) {
  const float values[1] = {value};
  store(values, to);
}
// x as after storing it as T and loading it.
template <class T>
RIDGELINE_DEVICE float as_stored(float x) {
  return Storage<T>::widen(Storage<T>::narrow(x));
}

}  // namespace ridgeline::cuda
