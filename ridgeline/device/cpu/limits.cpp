#include "ridgeline/device/cpu/limits.h"

#include "ridgeline/device/cpu/amx/peak.h"
#include "ridgeline/device/cpu/bandwidth.h"
#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/device/cpu/peak.h"

namespace ridgeline::device {

MachineLimits measure_limits() {
  const double f32 = measure_f32_rate().best;
  return {.f32_gflops = f32,
          .bf16_gflops = active_isa() == Isa::amx ? amx::measure_tile_peak() : f32,
          .gigabytes = measure_memory_rate().best};
}

}  // namespace ridgeline::device
