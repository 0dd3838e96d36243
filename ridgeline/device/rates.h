// ridgeline/device/rates.h
//
// How fast a device is, in one form for everybody who compares costs: passes, lanes, ranks, the tuner, reports of time
// beside the limit. A plain value. A device tells it twice: as orders of magnitude, by which compilation decides, so
// that plans do not change from run to run (Device::rates), and measured (Device::measured_rates).
#pragma once

#include "ridgeline/core/dtype.h"

namespace ridgeline {

struct DeviceRates {
  // FLOPs a second of multiply-adds on operands of these types; f64 counts as f32.
  double f32_flops = 0, bf16_flops = 0, f16_flops = 0;
  double memory_bytes = 0;     // a second, read from memory that no cache holds
  double launch_seconds = 0;   // of a launch, beside its work
  double barrier_seconds = 0;  // of handing work to all that compute and waiting for them

  double flops(DType operands) const {
    return operands == DType::bf16 ? bf16_flops : operands == DType::f16 ? f16_flops : f32_flops;
  }
  // FLOPs that take as long as a byte through memory.
  double flops_per_byte(DType operands) const { return flops(operands) / memory_bytes; }
  // Of so many FLOPs on f32 and bytes: whichever takes longer.
  double seconds(double flops, double bytes) const {
    const double computing = flops / f32_flops, moving = bytes / memory_bytes;
    return computing > moving ? computing : moving;
  }
};

struct MeasuredRates {
  DeviceRates best;   // the machine's limits
  DeviceRates usual;  // what is left of them beside whatever else runs on the machine
};

}  // namespace ridgeline
