#include "ridgeline/device/cuda/kernels/window_rows.h"

#include <algorithm>

#include "ridgeline/device/cuda/kernels/launches.h"

namespace ridgeline::cuda {

WindowRows windows_of(const DirectShape& shape) {
  const auto i = [](std::int64_t v) { return static_cast<i32>(v); };
  WindowRows s;
  s.n = i(shape.n), s.h = i(shape.h), s.width = i(shape.w * shape.c);
  s.oh = i(shape.oh), s.ow = i(shape.ow), s.k = i(shape.k);
  s.r = i(shape.r), s.taps = i(shape.s * shape.c);
  s.stride = i(shape.stride_h), s.step = i(shape.stride_w * shape.c);
  s.top = i(shape.top), s.left = i(shape.left * shape.c);
  s.lead = (s.left + 7) / 8 * 8;
  s.classes = s.step % 2 != 0 && s.ow > 1 ? 2 : 1;
  s.pairs = (std::max(s.shift(0), s.classes == 2 ? s.shift(1) : 0) + s.taps + 1) / 2;
  s.steps = static_cast<i32>(divided_up(i64{s.r} * s.pairs, 8));
  s.quads = Divisor(divided_up((s.begin(s.ow - 1) & ~1) + 2 * s.pairs, 8));
  s.row_pairs = Divisor(s.pairs);
  for (int which = 0; which < s.classes; ++which) s.columns[which] = Divisor(s.columns_of(which));
  s.whole = s.width % 8 == 0;
  return s;
}

void set_tile_rows(WindowRows& s, i32 rows) {
  s.tile_rows = rows;
  s.tiles = static_cast<i32>(divided_up(s.oh, rows));
  s.image_tiles = Divisor(s.tiles);
}

i64 units_of(const WindowRows& s, i32 rows, i32 results) {
  i64 units = 0;
  for (int which = 0; which < s.classes; ++which) units += divided_up(i64{rows} * s.columns_of(which), results);
  return units;
}

}  // namespace ridgeline::cuda
