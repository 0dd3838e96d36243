// ridgeline/device/cuda/kernels/matrix_tile.h
//
// Products of tiles by the tensor cores of one warp, with f32 sums: 16 rows by 16 values times 16 values by 8 columns
// at a time (mma.m16n8k16). The host version adds the same products one after the other. The cores add the products
// of one tile in an order and with a rounding of their own, so what is computed here has the host version's results
// within a band (tests/device/cuda/kernel_cases.h), not its bits; on one card its bits are always the same.
//
// Where a lane has its values, with g = lane / 4 and t = lane % 4; two neighbouring values k are one word:
//   rows    [4]: (row g, k 2t), (row g + 8, k 2t), (row g, k 2t + 8), (row g + 8, k 2t + 8)
//   columns [2]: (k 2t, column g), (k 2t + 8, column g)
//   sums    [4]: (row g, column 2t), (row g, column 2t + 1), (row g + 8, column 2t), (row g + 8, column 2t + 1)
//
// Texts that are compiled at run time contain this file (loop/text.h), so it includes nothing but numbers.h. kF16: the
// values are f16, else bf16.
#pragma once

#include "ridgeline/device/cuda/kernels/numbers.h"

namespace ridgeline::cuda {

inline constexpr int kWarp = 32;
inline constexpr int kTileDepth = 16;  // values k of a step

#if RIDGELINE_ON_CARD
template <bool kF16>
RIDGELINE_DEVICE void multiply_tile(const u32 (&a)[4], const u32 (&b)[2], float (&c)[4]) {
  if constexpr (!kF16) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
}
template <bool kF16, int M, int N>
RIDGELINE_DEVICE void multiply_tiles(const u32 (&a)[M][4], const u32 (&b)[N][2], float (&sums)[M][N][4]) {
  RIDGELINE_UNROLL
  for (int n = 0; n < N; ++n) {
    RIDGELINE_UNROLL
    for (int m = 0; m < M; ++m) multiply_tile<kF16>(a[m], b[n], sums[m][n]);
  }
}
#endif

// Adds the products of M tiles of rows and N tiles of columns of one step of k. rows(step, lane, words) and
// columns(step, lane, words) give the words of a lane; all lanes of a warp are here together. On the host they are
// asked for other lanes of the same rows or columns too.
template <bool kF16, int M, int N, class Rows, class Columns>
RIDGELINE_DEVICE void add_step(int lane, int step, const Rows& rows, const Columns& columns, float (&sums)[M][N][4]) {
#if RIDGELINE_ON_CARD
  u32 a[M][4], b[N][2];
  rows(step, lane, a);
  columns(step, lane, b);
  multiply_tiles<kF16>(a, b, sums);
#else
  const int g = lane / 4, t = lane % 4;
  u32 a[4][M][4], b[2][4][N][2];
  for (int j = 0; j < 4; ++j) {
    rows(step, g * 4 + j, a[j]);
    for (int e = 0; e < 2; ++e) columns(step, (2 * t + e) * 4 + j, b[e][j]);
  }
  const auto widened = [](u32 bits) {
    const u16 value = static_cast<u16>(bits & 0xffffu);
    return kF16 ? f16_to_float(value) : bf16_to_float(value);
  };
  for (int m = 0; m < M; ++m) {
    for (int n = 0; n < N; ++n) {
      for (int i = 0; i < 4; ++i) {
        for (int half = 0; half < 2; ++half) {
          for (int j = 0; j < 4; ++j) {
            const u32 left = a[j][m][i / 2 + 2 * half], right = b[i % 2][j][n][half];
            sums[m][n][i] = fused(widened(left), widened(right), sums[m][n][i]);
            sums[m][n][i] = fused(widened(left >> 16), widened(right >> 16), sums[m][n][i]);
          }
        }
      }
    }
  }
#endif
}

// The same over `steps` steps, at least one.
template <bool kF16, int M, int N, class Rows, class Columns>
RIDGELINE_DEVICE void add_products(int lane, int steps, const Rows& rows, const Columns& columns,
                                   float (&sums)[M][N][4]) {
#if RIDGELINE_ON_CARD
  u32 a[M][4], b[N][2];
  rows(0, lane, a);
  columns(0, lane, b);
#pragma unroll 2
  for (int step = 0; step < steps; ++step) {
    // The next step's, while these are multiplied.
    u32 next_a[M][4], next_b[N][2];
    const int next = step + 1 < steps ? step + 1 : step;
    rows(next, lane, next_a);
    columns(next, lane, next_b);
    multiply_tiles<kF16>(a, b, sums);
    RIDGELINE_UNROLL
    for (int m = 0; m < M; ++m) {
      RIDGELINE_UNROLL
      for (int i = 0; i < 4; ++i) a[m][i] = next_a[m][i];
    }
    RIDGELINE_UNROLL
    for (int n = 0; n < N; ++n) {
      RIDGELINE_UNROLL
      for (int i = 0; i < 2; ++i) b[n][i] = next_b[n][i];
    }
  }
#else
  for (int step = 0; step < steps; ++step) add_step<kF16>(lane, step, rows, columns, sums);
#endif
}

// Four matrices of 8 lines of 8 values, of which lane i gives the address of line i % 8 of matrix i / 8 (16 bytes in
// shared memory). A lane's word of a matrix has the values g of lines 2t and 2t + 1: so columns of what lies in lines
// of k are read as rows or columns of a tile. All lanes of a warp are here together.
template <class AddressOfLane>
RIDGELINE_DEVICE void load_words(int lane, const AddressOfLane& address, u32 (&words)[4]) {
#if RIDGELINE_ON_CARD
  const u32 shared = static_cast<u32>(__cvta_generic_to_shared(address(lane)));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(shared)
               : "memory");
#else
  const int g = lane / 4, t = lane % 4;
  for (int matrix = 0; matrix < 4; ++matrix) {
    const u16 low = address(matrix * 8 + 2 * t)[g], high = address(matrix * 8 + 2 * t + 1)[g];
    words[matrix] = low | static_cast<u32>(high) << 16;
  }
#endif
}

// The lower and the upper halves of two words.
RIDGELINE_DEVICE u32 low_halves(u32 first, u32 second) {
#if RIDGELINE_ON_CARD
  return __byte_perm(first, second, 0x5410);
#else
  return (first & 0xffffu) | second << 16;
#endif
}
RIDGELINE_DEVICE u32 high_halves(u32 first, u32 second) {
#if RIDGELINE_ON_CARD
  return __byte_perm(first, second, 0x7632);
#else
  return first >> 16 | (second & 0xffff0000u);
#endif
}

// 16 bytes from global to shared memory, zeros if not `inside`; they are there after finish_copies() of the thread that
// started them.
RIDGELINE_DEVICE void start_copy(void* to, const void* from, bool inside) {
#if RIDGELINE_ON_CARD
  const u32 shared = static_cast<u32>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from), "r"(inside ? 16 : 0)
               : "memory");
#else
  if (inside)
    __builtin_memcpy(to, from, 16);
  else
    __builtin_memset(to, 0, 16);
#endif
}
// Asks for the 128 bytes around an address, which will be read soon.
RIDGELINE_DEVICE void fetch_line(const void* address) {
#if RIDGELINE_ON_CARD
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
#else
  static_cast<void>(address);
#endif
}
RIDGELINE_DEVICE void finish_copies() {
#if RIDGELINE_ON_CARD
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}
// The copies since the last end of a group become a group.
RIDGELINE_DEVICE void end_copy_group() {
#if RIDGELINE_ON_CARD
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// All groups but the newest ones are there.
template <int kNewest>
RIDGELINE_DEVICE void finish_copy_groups() {
#if RIDGELINE_ON_CARD
  asm volatile("cp.async.wait_group %0;" ::"n"(kNewest) : "memory");
#endif
}

}  // namespace ridgeline::cuda
