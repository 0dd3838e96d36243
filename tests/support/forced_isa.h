// tests/support/forced_isa.h
//
// Forces an instruction set for our kernels (not the library's) and restores the previous one at the end.
#pragma once

#include "ridgeline/device/cpu/isa.h"

namespace ridgeline {

class ForcedIsa {
 public:
  explicit ForcedIsa(device::Isa isa) : before_(device::active_isa()) { device::force_isa_for_test(isa); }
  ~ForcedIsa() { device::force_isa_for_test(before_); }
  ForcedIsa(const ForcedIsa&) = delete;
  ForcedIsa& operator=(const ForcedIsa&) = delete;

 private:
  device::Isa before_;
};

}  // namespace ridgeline
