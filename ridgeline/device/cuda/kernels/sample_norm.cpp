#include "ridgeline/device/cuda/kernels/sample_norm.h"

#include <algorithm>

#include "ridgeline/device/cuda/kernels/families.h"
#include "ridgeline/device/cuda/kernels/launches.h"
#include "ridgeline/device/cuda/kernels/with_type.h"

namespace ridgeline::cuda {

RIDGELINE_SAMPLE_NORM_KERNELS(RIDGELINE_SYMBOL)

std::span<const KernelRow* const> sample_norm_rows() {
  static constexpr const KernelRow* kRows[] = {RIDGELINE_SAMPLE_NORM_KERNELS(RIDGELINE_ROW)};
  return kRows;
}

namespace {

bool is_rows(const SampleNorm& norm) { return norm.positions == 1 && norm.groups == 1; }

// run(std::integral_constant<int, V>()) for the channels that a thread takes at once.
template <class T, class Run>
void with_width(const SampleNorm& norm, std::initializer_list<const void*> addresses, const Run& run) {
  if (norm.channels % kWide<T> == 0 && aligned_to(16, addresses))
    run(std::integral_constant<int, kWide<T>>());
  else
    run(std::integral_constant<int, 1>());
}

NormTiles tiles_of(const SampleNorm& norm, int width) {
  const bool rows = is_rows(norm);
  const i64 batches = rows ? 1 : norm.samples;
  const RowTiles tiles(rows ? norm.samples : norm.positions, norm.channels, width,
                       divided_up(kFullCard, std::max<i64>(1, batches)), 8);
  return {tiles, Divisor(std::max<i64>(1, tiles.tiles)), static_cast<u32>(batches), norm.groups,
          norm.channels / norm.groups};
}

// Of the sums of channels over chunks, in f32.
i64 partial_sums(const SampleNorm& norm) {
  i64 most = 0;
  for (int width : {1, 4, 8}) most = std::max(most, tiles_of(norm, width).chunks() * 2 * norm.channels);
  return most;
}

NormPlaces places_of(const SampleNorm& norm, int width) {
  return {norm.samples * norm.positions * norm.channels / width,
          Divisor(std::max<i64>(1, norm.channels / width)),
          Divisor(std::max<i64>(1, norm.positions)),
          Divisor(norm.channels / norm.groups),
          norm.groups,
          norm.channels,
          norm.samples};
}

}  // namespace

std::size_t sample_norm_scratch(const SampleNorm& norm) {
  return is_rows(norm) ? 0 : static_cast<std::size_t>(partial_sums(norm)) * sizeof(float);
}

void sample_norm(LaunchSink sink, const SampleNorm& norm, const void* x, const float* gamma, const float* beta, void* y,
                 float* mean, float* inv_std, void* scratch) {
  with_type(norm.type, [&]<class T>(T) {
    with_width<T>(norm, {x, y}, [&](auto width) {
      constexpr int V = width;
      if (is_rows(norm)) {
        const NormRows rows{norm.samples, norm.channels, RowLanes::of(norm.channels / V, false)};
        give<RowNorm<T, V>>(sink, {in<T>(x), gamma, beta, out<T>(y), mean, inv_std, rows, norm.epsilon});
        return;
      }
      const NormTiles tiles = tiles_of(norm, V);
      give<GroupSums<T, V>>(sink, {in<T>(x), out<float>(scratch), tiles});
      give<GroupStatistics<T>>(
          sink, {in<T>(x), in<float>(scratch), mean, inv_std, tiles, Divisor(norm.groups), norm.epsilon});
      give<GroupApply<T, V, false>>(
          sink, {in<T>(x), nullptr, gamma, beta, mean, inv_std, nullptr, nullptr, out<T>(y), places_of(norm, V)});
    });
  });
}

std::size_t sample_norm_gradient_scratch(const SampleNorm& norm) {
  const i64 lines = is_rows(norm) ? 0 : norm.samples * norm.groups;
  return static_cast<std::size_t>(partial_sums(norm) + 2 * lines) * sizeof(float);
}

void sample_norm_gradient(LaunchSink sink, const SampleNorm& norm, const SampleNormGradient& a) {
  auto* const partial = out<float>(a.scratch);
  with_type(norm.type, [&]<class T>(T) {
    with_width<T>(norm, {a.x, a.dy, a.dx}, [&](auto width) {
      constexpr int V = width;
      const NormTiles tiles = tiles_of(norm, V);
      const auto totals = [&] {
        give<NormParameterTotals>(sink, {partial, static_cast<u32>(tiles.chunks()), norm.channels, a.dgamma, a.dbeta});
      };
      if (is_rows(norm)) {
        // Before dx, which may overwrite dy.
        give<NormParameterSums<T, V, true>>(sink, {in<T>(a.x), in<T>(a.dy), a.mean, a.inv_std, partial, tiles});
        totals();
        const NormRows rows{norm.samples, norm.channels, RowLanes::of(norm.channels / V, false)};
        give<RowNormGradient<T, V>>(sink, {in<T>(a.x), in<T>(a.dy), a.gamma, a.mean, a.inv_std, out<T>(a.dx), rows});
        return;
      }
      float* const of_sum = partial + partial_sums(norm);
      float* const of_product = of_sum + norm.samples * norm.groups;
      give<NormParameterSums<T, V, false>>(sink, {in<T>(a.x), in<T>(a.dy), a.mean, a.inv_std, partial, tiles});
      totals();
      give<GroupGradientMeans>(sink, {partial, a.gamma, of_sum, of_product, tiles, Divisor(norm.groups)});
      give<GroupApply<T, V, true>>(sink, {in<T>(a.x), in<T>(a.dy), a.gamma, nullptr, a.mean, a.inv_std, of_sum,
                                          of_product, out<T>(a.dx), places_of(norm, V)});
    });
  });
}

}  // namespace ridgeline::cuda
