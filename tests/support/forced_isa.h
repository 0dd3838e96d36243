// tests/support/forced_isa.h
//
// Puts an instruction set in force, and the earlier one again at the end: for our kernels, not for the library's.
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
