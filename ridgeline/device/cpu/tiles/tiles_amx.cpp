#include <immintrin.h>

#include <algorithm>
#include <type_traits>

#include "ridgeline/device/cpu/tiles/tiles.h"

// What follows is compiled for AVX-512, and runs only where the instruction set in force is amx. Nothing that other
// files share may be compiled so, hence the includes are above, except the product, whose templates are over a type of
// this file alone.
#pragma GCC push_options
#pragma GCC diagnostic ignored "-Wuninitialized"  // false, in gcc 12's own headers (gcc bug 105593)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")

#include "ridgeline/device/cpu/tiles/lines_avx512-inl.h"
#include "ridgeline/device/cpu/tiles/products-inl.h"

namespace ridgeline::device::tiles {
namespace {

// The processor's tile registers. In assembler: gcc 12's own functions need the option for tiles on the whole file.
class AmxRegisters {
 public:
  template <int N>
  [[gnu::always_inline]] void zero() {
    __asm__ volatile("tilezero %%tmm%c0" ::"i"(N));
  }
  template <int N>
  [[gnu::always_inline]] void load(const void* from, std::int64_t row_bytes) {
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(row_bytes), "i"(N) : "memory");
  }
  template <int N>
  [[gnu::always_inline]] void store(void* to, std::int64_t row_bytes) const {
    __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(row_bytes), "i"(N) : "memory");
  }
  [[gnu::always_inline]] void fetch_near(const float* from, std::int64_t lines) { fetch_lines(from, lines); }
  [[gnu::always_inline]] void add_lines(const float* from, float* onto, std::int64_t lines, bool add) {
    add_sum_lines(from, onto, lines, add);
  }
  // One addition of whole vectors. Their unit powers down after 0.9 us without work, and the store of a tile, which
  // goes through it, then waits 0.3 us for it (measured; only this and stores of tiles keep it awake).
  [[gnu::always_inline]] void stay_awake() {
    __m512 zero = _mm512_setzero_ps();
    __asm__ volatile("vaddps %0, %0, %0" : "+v"(zero));
  }
  template <int C, int A, int B>
  [[gnu::always_inline]] void multiply() {
    __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(C), "i"(A), "i"(B));
  }
};

// The operand of ldtilecfg, as Intel's manual defines it: all eight tiles are 16 rows of 64 bytes.
struct alignas(64) TileConfiguration {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

void enter() {
  static const TileConfiguration configuration;
  __asm__ volatile("ldtilecfg %0" ::"m"(configuration));
}
void leave() {
  _mm_sfence();  // behind the sums that went past the caches
  __asm__ volatile("tilerelease" ::);
}

}  // namespace

const TileCode& amx_tile_code() {
  using R = AmxRegisters;
  static const TileCode code = {
      vector_tile_moves(),
      enter,
      leave,
      {{multiply_tiles<R, 1, 1>, multiply_tiles<R, 1, 2>}, {multiply_tiles<R, 2, 1>, multiply_tiles<R, 2, 2>}},
      add_tiles<R>};
  return code;
}

}  // namespace ridgeline::device::tiles

#pragma GCC pop_options
