#include "ridgeline/device/cuda/kernels/first_layer.h"

#include <algorithm>

#include "ridgeline/device/cuda/kernels/families.h"
#include "ridgeline/device/cuda/kernels/launches.h"
#include "ridgeline/device/cuda/kernels/rows_of_channels.h"
#include "ridgeline/device/cuda/kernels/with_type.h"

namespace ridgeline::cuda {

RIDGELINE_FIRST_LAYER_KERNELS(RIDGELINE_SYMBOL)

std::span<const KernelRow* const> first_layer_rows() {
  static constexpr const KernelRow* kRows[] = {RIDGELINE_FIRST_LAYER_KERNELS(RIDGELINE_ROW)};
  return kRows;
}

namespace {

constexpr std::int64_t kMostChannels = 4, kMostFilters = 256, kMostSide = 11, kMostStride = 4;

// Sums of 32 results by 32 filters or 64 by 64: groups of 64 where at most a quarter of the last would be idle.
int column_tiles(const WindowRows& s) { return (s.k + 63) / 64 * 64 - s.k < 32 ? 8 : 4; }
i32 filter_groups(const WindowRows& s) { return static_cast<i32>(divided_up(s.k, column_tiles(s) * 8)); }

// Rows of results of a block: such that its warps and the card's multiprocessors have equal work, with few rows of the
// image read by two blocks. In the time of a step of tiles; a block's copies and a warp's stores were taken to last as
// long as some steps.
i32 forward_tile_rows(const WindowRows& s) {
  constexpr double kCard = kFullCard / 4, kStores = 6, kCopies = 4, kQuadsOfAStep = 512;
  i32 best = 1;
  double least = 0;
  for (i32 rows = 1; rows <= std::min(s.oh, 32) && s.quads_under(rows) <= kWindowQuads; ++rows) {
    const i64 units = units_of(s, rows, 64);
    const double blocks = static_cast<double>(i64{s.n} * divided_up(s.oh, rows) * filter_groups(s));
    const double rounds = 0.5 * (static_cast<double>(units) / 4 + static_cast<double>(divided_up(units, 4)));
    const double waves = std::max(blocks / kCard, 1.0);
    const double block =
        rounds * (s.steps + kStores) + kCopies + static_cast<double>(s.quads_under(rows)) / kQuadsOfAStep;
    const double time = (waves < 8 ? static_cast<double>(static_cast<i64>(waves + 0.999)) : waves) * block;
    if (rows == 1 || time < least) best = rows, least = time;
  }
  return best;
}

std::size_t weight_words(const WindowRows& s) {
  return std::size_t{1} * static_cast<std::size_t>(s.classes) * static_cast<std::size_t>(filter_groups(s)) *
         static_cast<std::size_t>(s.steps) * static_cast<std::size_t>(column_tiles(s)) * 2 * kWarp;
}

}  // namespace

bool is_first_layer(const DirectShape& s) {
  const bool windows = (s.type == DType::bf16 || s.type == DType::f16) && s.groups == 1 && s.dilation_h == 1 &&
                       s.dilation_w == 1 && s.c >= 1 && s.c <= kMostChannels && s.k % 8 == 0 && s.k >= 8 &&
                       s.k <= kMostFilters && s.r <= kMostSide && s.s <= kMostSide && s.stride_h <= kMostStride &&
                       s.stride_w <= kMostStride && s.n > 0 && s.oh > 0 && s.ow > 0 && s.w <= (i64{1} << 20);
  if (!windows) return false;
  const WindowRows rows = windows_of(s);
  return rows.steps * 8 <= kWindowPairs && rows.quads_under(1) <= kWindowQuads && fits_gradient(rows);
}

std::size_t first_layer_scratch(const DirectShape& shape) {
  const WindowRows s = windows_of(shape);
  return weight_words(s) * sizeof(u32) +
         static_cast<std::size_t>(filter_groups(s) * column_tiles(s) * 8) * sizeof(float);
}

void first_layer(LaunchSink sink, const DirectShape& shape, const void* x, const void* w, const Epilogue& e, void* y,
                 void* scratch) {
  RIDGELINE_CHECK(is_first_layer(shape) && shape.result == shape.type && e.addend == nullptr && aligned_to(16, {y}),
                  "not a first layer, or one that is added to something");
  WindowRows s = windows_of(shape);
  set_tile_rows(s, forward_tile_rows(s));
  s.whole = s.whole && aligned_to(16, {x});
  const i32 groups = filter_groups(s);
  with_narrow_type(shape.type, [&]<class T>(T) {
    u32* const words = out<u32>(scratch);
    float* const biases = reinterpret_cast<float*>(words + weight_words(s));
    Bias<T> bias;
    if (e.bias != nullptr && e.bias_type == DType::f32) bias.wide = in<float>(e.bias);
    if (e.bias != nullptr && e.bias_type != DType::f32) bias.narrow = in<T>(e.bias);
    give<FirstLayerWeights<T>>(sink, {in<T>(w), bias, words, biases, s, column_tiles(s), groups});
    const Quad* const quads = reinterpret_cast<const Quad*>(words);
    if (column_tiles(s) == 8)
      give<FirstLayer<T, 8>>(sink, {in<T>(x), quads, biases, out<T>(y), e.relu, s, groups});
    else
      give<FirstLayer<T, 4>>(sink, {in<T>(x), quads, biases, out<T>(y), e.relu, s, groups});
  });
}

}  // namespace ridgeline::cuda
