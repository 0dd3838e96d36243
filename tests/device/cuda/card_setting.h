// tests/device/cuda/card_setting.h
//
// How a random step of a number is compiled for a card: the ways take turns.
#pragma once

#include <string>

#include "tests/compile/random_check.h"

namespace ridgeline::cuda::testing {

inline ridgeline::testing::Setting card_setting(const std::string& device, std::int64_t seed) {
  ridgeline::testing::Setting setting;
  setting.device = device;
  setting.threads = 1;
  setting.options.fusion = seed % 3 != 0;
  setting.options.reuse_memory = seed % 2 == 0;
  setting.options.verify = true;
  setting.forward_first = seed % 4 < 2;
  if (seed % 5 == 0) setting.options.precision = PrecisionPolicy::of(precision_mode_named("allow_mix_precision_bf16"));
  if (seed % 7 == 0) setting.memory_percent = 90;
  return setting;
}

}  // namespace ridgeline::cuda::testing
