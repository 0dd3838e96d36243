#include "ridgeline/compile/fusion_switch.h"

#include <string>

#include "ridgeline/core/error.h"

namespace ridgeline {

bool compiles_loops(const Device& device) { return device.fusion_limits().loop.terms > 0; }

void check_fusion(const Device& device, std::optional<bool> fusion) {
  if (!fusion.value_or(false) || compiles_loops(device)) return;
  throw Error("fusion: not supported on this backend: device '" + std::string(device.name()) +
                  "' has no compiler for fused loops (allowed: False, or leave it out)",
              ErrorKind::usage);
}

}  // namespace ridgeline
