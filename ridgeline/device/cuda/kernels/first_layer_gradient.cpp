#include "ridgeline/device/cuda/kernels/first_layer_gradient.h"

#include <algorithm>

#include "ridgeline/device/cuda/kernels/families.h"
#include "ridgeline/device/cuda/kernels/launches.h"
#include "ridgeline/device/cuda/kernels/rows_of_channels.h"
#include "ridgeline/device/cuda/kernels/with_type.h"

namespace ridgeline::cuda {

RIDGELINE_FIRST_LAYER_GRADIENT_KERNELS(RIDGELINE_SYMBOL)

std::span<const KernelRow* const> first_layer_gradient_rows() {
  static constexpr const KernelRow* kRows[] = {RIDGELINE_FIRST_LAYER_GRADIENT_KERNELS(RIDGELINE_ROW)};
  return kRows;
}

namespace {

// The kernel that a shape gets: tiles of columns and warps of a block.
struct GradientForm {
  int column_tiles, warps;
  i64 resident;  // blocks of a multiprocessor at once, by their registers
};
constexpr GradientForm kManyPairs{6, 8, 1}, kSomePairs{6, 4, 2}, kFewPairs{4, 4, 3};

GradientForm form_of(const WindowRows& s) {
  const i64 pairs = i64{s.r} * s.pairs;
  if (pairs <= kFewPairs.column_tiles * 4) return kFewPairs;
  return divided_up(pairs, kSomePairs.column_tiles * 4) * s.classes <= kSomePairs.warps ? kSomePairs : kManyPairs;
}

// What all blocks ask for ahead of use stays in the second-level cache.
constexpr i64 kAheadBytes = i64{24} << 20;

bool fits(const WindowRows& s, i32 rows) {
  return s.quads_under(rows) <= kWindowQuads - kGradientPixels / 4 &&
         units_of(s, rows, kTileDepth) * kTileDepth <= kGradientPixels;
}

// The division that takes the least time, in that of a step: rows of results of a tile such that blocks have equally
// many tiles and steps; the copies of a tile were taken to last as long as some steps.
GradientWork divide(WindowRows& s) {
  constexpr i64 kMultiprocessors = kFullCard / 8;
  constexpr double kCopies = 6, kQuadsOfAStep = 512;
  const GradientForm form = form_of(s);
  GradientWork work;
  work.pair_groups = static_cast<i32>(divided_up(i64{s.r} * s.pairs, form.column_tiles * 4));
  work.jobs = s.classes * work.pair_groups;
  work.block_jobs = std::min(work.jobs, form.warps);
  work.parts = form.warps / work.block_jobs;
  work.filter_groups = static_cast<i32>(divided_up(s.k, kGradientFilters));
  work.columns = work.pair_groups * form.column_tiles * 8;
  const i64 wanted = std::max<i64>(1, kMultiprocessors * form.resident / (work.filter_groups * work.job_blocks()));
  i32 best = 1;
  double least = 0;
  for (i32 rows = 1; rows <= s.oh && fits(s, rows); ++rows) {
    if (rows > 1 && i64{rows} * s.ow * s.k * 2 * wanted > kAheadBytes) break;
    const i64 tiles = i64{s.n} * divided_up(s.oh, rows), grid = std::min(tiles, wanted);
    const double steps = static_cast<double>(units_of(s, rows, kTileDepth)) / (s.classes * work.parts);
    const double time = static_cast<double>(divided_up(tiles, grid)) *
                        (steps + 0.5 + kCopies + static_cast<double>(s.quads_under(rows)) / kQuadsOfAStep);
    if (rows == 1 || time < least) best = rows, least = time;
  }
  set_tile_rows(s, best);
  work.tiles = s.n * s.tiles;
  work.grid = static_cast<i32>(std::min<i64>(work.tiles, wanted));
  return work;
}

}  // namespace

bool fits_gradient(const WindowRows& s) { return fits(s, 1); }

std::size_t first_layer_gradient_scratch(const DirectShape& shape) {
  WindowRows s = windows_of(shape);
  const GradientWork work = divide(s);
  return static_cast<std::size_t>(work.chunks() * work.chunk_sums(s)) * sizeof(float);
}

void first_layer_gradient(LaunchSink sink, const DirectShape& shape, const void* x, const void* dy, void* dw,
                          void* scratch) {
  RIDGELINE_CHECK(is_first_layer(shape) && aligned_to(16, {dy}), "not a first layer");
  WindowRows s = windows_of(shape);
  const GradientWork work = divide(s);
  const GradientForm form = form_of(s);
  s.whole = s.whole && aligned_to(16, {x});
  // Without conflicts between the banks of shared memory: windows of 4t and 4t + 4 are whole groups of eight words
  // apart, or those of 2t and 2t + 2 are neighbours.
  const bool spread = s.classes * s.step % 16 != 12;
  with_types(shape.type, shape.result, [&]<class T, class To>(T, To) {
    if constexpr (std::is_same_v<T, float>) {
      RIDGELINE_CHECK(false, "tensor cores take bf16 and f16");
    } else {
      float* const partial = out<float>(scratch);
      if (form.warps == kManyPairs.warps)
        give<FirstLayerGradientSums<T, 6, 8>>(sink, {in<T>(x), in<T>(dy), partial, s, work, spread});
      else if (form.column_tiles == kSomePairs.column_tiles)
        give<FirstLayerGradientSums<T, 6, 4>>(sink, {in<T>(x), in<T>(dy), partial, s, work, spread});
      else
        give<FirstLayerGradientSums<T, 4, 4>>(sink, {in<T>(x), in<T>(dy), partial, s, work, spread});
      give<FirstLayerGradientTotals<To>>(sink, {partial, out<To>(dw), s, work, Divisor(s.taps), Divisor(s.r)});
    }
  });
}

}  // namespace ridgeline::cuda
