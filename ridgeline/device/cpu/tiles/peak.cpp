#include "ridgeline/device/cpu/tiles/peak.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "ridgeline/core/random.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/tiles/tiles.h"

namespace ridgeline::device::tiles {

double measure_tile_peak(Tiles tiles) {
  const TileCode& code = tile_code(tiles);
  // Dot products take some ten times as long.
  constexpr std::int64_t kSteps = 4096, kApart = 4;
  const std::int64_t kProducts = tiles == Tiles::amx ? 40 : 4;
  std::vector<std::int64_t> offsets;
  for (std::int64_t i = 0; i < kSteps; ++i) offsets.push_back(i % kApart * kTileValues);
  double best = 0;
  for (int run = 0; run < 20; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    parallel_team([&](int thread, int) {
      alignas(64) bfloat16 values[4 * kApart * kTileValues];
      alignas(64) float sums[4 * kTileSums];
      SampleRandom random(philox_key(static_cast<std::uint64_t>(thread), "peak"), 0, 0);
      for (bfloat16& v : values) v = to_bfloat16(static_cast<float>(random.uniform(-1, 1)));
      const auto part = [&](int i) { return values + i * kApart * kTileValues; };
      const TileScope scope(code);
      for (std::int64_t i = 0; i < kProducts; ++i) {
        code.multiply[1][1](
            {{part(0), part(1)}, 32, offsets.data(), {part(2), part(3)}, offsets.data(), kSteps, sums, false});
      }
    });
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const auto flops = static_cast<double>(kProducts * kSteps * 4 * kTileSums * kTileDepth * 2 * compute_threads());
    best = std::max(best, flops / seconds / 1e9);
  }
  return best;
}

}  // namespace ridgeline::device::tiles
