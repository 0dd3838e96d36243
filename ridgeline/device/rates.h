// ridgeline/device/rates.h
//
// How fast a device is, for all code that compares costs: passes, lanes, ranks, the tuner, reports of time compared
// with the limit. A plain value. A device gives two: orders of magnitude, for decisions of compilation, so that plans
// do not change from run to run (Device::rates), and measured ones (Device::measured_rates).
#pragma once

#include "ridgeline/core/dtype.h"

namespace ridgeline {

struct DeviceRates {
  // FLOPs per second of multiply-adds on operands of these types; f64 counts as f32.
  double f32_flops = 0, bf16_flops = 0, f16_flops = 0;
  double memory_bytes = 0;     // per second, read from memory that no cache holds
  double launch_seconds = 0;   // of a launch, without its work
  double barrier_seconds = 0;  // of giving work to all threads and waiting for them

  double flops(DType operands) const {
    return operands == DType::bf16 ? bf16_flops : operands == DType::f16 ? f16_flops : f32_flops;
  }
  // FLOPs that take as long as moving a byte through memory.
  double flops_per_byte(DType operands) const { return flops(operands) / memory_bytes; }
  // The time of this many FLOPs on f32, or of this many bytes, whichever takes longer.
  double seconds(double flops, double bytes) const {
    const double computing = flops / f32_flops, moving = bytes / memory_bytes;
    return computing > moving ? computing : moving;
  }
};

struct MeasuredRates {
  DeviceRates best;   // the machine's limits
  DeviceRates usual;  // what remains of them with everything else that runs on the machine
};

}  // namespace ridgeline
