// ridgeline/device/cpu/tiles/products-inl.h
//
// The product of up to 2 x 2 tiles, written once over a set of tile registers: 0 to 3 hold the sums, 4 and 5 A, 6 and 7
// B. Each of A and B is loaded once per step and used twice, which is what eight registers allow; loads come before the
// products, which is up to a tenth faster than loading on demand. Sums of an earlier
// product are added to memory by the vector units, which have nothing else to do.
#pragma once

#include <algorithm>
#include <type_traits>

#include "ridgeline/device/cpu/tiles/tiles.h"

namespace ridgeline::device::tiles {

template <class Registers, int Rows, int Columns>
void multiply_tiles(const TileProduct& p) {
  Registers t;
  constexpr std::int64_t kPacked = kTileColumns * 4;  // bytes of a row of B or C
  const bool in_rows = p.c_row > 0;
  const std::int64_t c_row = in_rows ? p.c_row * 4 : kPacked;
  const std::int64_t c_down = in_rows ? kTileRows * p.c_row : 2 * kTileSums;
  const std::int64_t c_right = in_rows ? kTileColumns : kTileSums;
  const auto sums = [&](int row, int column) { return p.c + row * c_down + column * c_right; };
  if (p.add) {
    t.template load<0>(sums(0, 0), c_row);
    if constexpr (Columns == 2) t.template load<1>(sums(0, 1), c_row);
    if constexpr (Rows == 2) t.template load<2>(sums(1, 0), c_row);
    if constexpr (Rows == 2 && Columns == 2) t.template load<3>(sums(1, 1), c_row);
  } else {
    t.template zero<0>();
    if constexpr (Columns == 2) t.template zero<1>();
    if constexpr (Rows == 2) t.template zero<2>();
    if constexpr (Rows == 2 && Columns == 2) t.template zero<3>();
  }
  const std::int64_t a_row = p.a_row * 2;
  constexpr std::int64_t kLines = 4 * kTileRows;                                  // of the sums of a product
  const std::int64_t lines = p.steps > 0 ? (kLines + p.steps - 1) / p.steps : 0;  // a step
  const auto step = [&](std::int64_t i, const auto& finished) __attribute__((always_inline)) {
    const std::int64_t a = p.a_offsets[i];
    const std::int64_t b = p.b_offsets[i];
    if (p.ahead != nullptr) p.ahead->fetch(p.ahead_lines);
    t.template load<6>(p.b[0] + b, kPacked);
    t.template load<4>(p.a[0] + a, a_row);
    if constexpr (Columns == 2) t.template load<7>(p.b[1] + b, kPacked);
    if constexpr (Rows == 2) t.template load<5>(p.a[1] + a, a_row);
    t.template multiply<0, 4, 6>();
    if constexpr (Columns == 2) t.template multiply<1, 4, 7>();
    if (finished) t.template store<0>(sums(0, 0), c_row);
    if constexpr (Rows == 2) t.template multiply<2, 5, 6>();
    if constexpr (Columns == 2) {
      if (finished) t.template store<1>(sums(0, 1), c_row);
    }
    if constexpr (Rows == 2 && Columns == 2) t.template multiply<3, 5, 7>();
    const std::int64_t line = std::min(kLines, i * lines), end = std::min(kLines, line + lines);
    if (p.soon != nullptr) t.fetch_near(p.soon + line * kTileColumns, end - line);
    if (p.earlier != nullptr) {
      t.add_lines(p.earlier + line * kTileColumns, p.onto + line * kTileColumns, end - line, p.add_earlier);
    } else {
      t.stay_awake();
    }
  };
  // The last step stores sums between its products: after all of them, the next product's loads would wait for the
  // stores.
  for (std::int64_t i = 0; i + 1 < p.steps; ++i) step(i, std::false_type());
  if (p.steps > 0) {
    step(p.steps - 1, std::true_type());
  } else {
    t.template store<0>(sums(0, 0), c_row);
    if constexpr (Columns == 2) t.template store<1>(sums(0, 1), c_row);
    if (p.earlier != nullptr) t.add_lines(p.earlier, p.onto, kLines, p.add_earlier);
  }
  if constexpr (Rows == 2) t.template store<2>(sums(1, 0), c_row);
  if constexpr (Rows == 2 && Columns == 2) t.template store<3>(sums(1, 1), c_row);
}

template <class Registers>
void add_tiles(const float* earlier, float* onto, bool add) {
  Registers().add_lines(earlier, onto, 4 * kTileRows, add);
}

}  // namespace ridgeline::device::tiles
