#include "ridgeline/device/cpu/limits.h"

#include "ridgeline/device/cpu/bandwidth.h"
#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/device/cpu/peak.h"
#include "ridgeline/device/cpu/tiles/peak.h"

namespace ridgeline::device {

MachineLimits measure_limits() {
  const double f32 = measure_f32_rate().best;
  const bool tiles = active_isa() == Isa::amx;
  const double bf16_gflops =
      tiles || fast_bf16_dots() ? tiles::measure_tile_peak(tiles ? tiles::Tiles::amx : tiles::Tiles::dots) : f32;
  return {.f32_gflops = f32, .bf16_gflops = bf16_gflops, .gigabytes = measure_memory_rate().best};
}

}  // namespace ridgeline::device
