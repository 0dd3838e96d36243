// ridgeline/device/cpu/kernel_table.h
//
// The kernels of the CPU: the families of families.h as one table, and the switch that forces a provider.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ridgeline/device/kernel.h"

namespace ridgeline {

// KernelPromise::fp32_compute: three products of bf16 halves for each of f32, on tile registers.
inline constexpr std::string_view kBf16x3 = "bf16x3";

// The entries for `op`, ordered by their best speed (device/ranked_entries.h asks each for its speed at a request); the
// op's reference implementation is always last. Entries of the `forced` provider come first, so all others take only
// what these refuse. Provider::reference leaves only the reference. Empty for an unknown op.
std::vector<KernelEntry> cpu_kernels(std::string_view op, std::optional<Provider> forced = std::nullopt);

// RIDGELINE_KERNELS=reference|library|own; nullopt when it is not set. An unknown name is an Error, and so is
// `library` in a build without it.
std::optional<Provider> forced_provider();

}  // namespace ridgeline
