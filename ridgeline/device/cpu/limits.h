// ridgeline/device/cpu/limits.h
//
// What the machine can do at most, measured on the compute team of the calling thread.
#pragma once

namespace ridgeline::device {

struct MachineLimits {
  double f32_gflops = 0;   // multiply-adds on registers (peak.h)
  double bf16_gflops = 0;  // products of bf16: on tiles where they are in force; else in f32, and the same number
  double gigabytes = 0;    // a second, read from memory (bandwidth.h)
};

// Takes about a second.
MachineLimits measure_limits();

}  // namespace ridgeline::device
