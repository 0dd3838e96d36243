#include "ridgeline/device/cpu/kernel_table.h"

#include <algorithm>
#include <cstdlib>

#include "ridgeline/core/error.h"
#include "ridgeline/device/cpu/families.h"
#include "ridgeline/device/cpu/library.h"
#include "ridgeline/device/cpu/widened_kernel.h"
#include "ridgeline/device/reference_kernel.h"

namespace ridgeline {

using namespace device;

std::vector<KernelEntry> cpu_kernels(std::string_view op, std::optional<Provider> forced) {
  const OpDef* def = find_op(op);
  if (def == nullptr) return {};
  std::vector<KernelEntry> entries;
  if (forced != Provider::reference) {
    // Of equally fast entries the first one is asked first.
    for (const auto family :
         {tile_kernels(), winograd_kernels(), pixel_kernels(), depthwise_kernels(), direct_kernels(), dense_kernels(),
          pool_kernels(), norm_kernels(), sum_kernels(), copy_kernels(), library_kernels(), loop_kernels()}) {
      std::copy_if(family.begin(), family.end(), std::back_inserter(entries),
                   [&](const KernelEntry& entry) { return entry.op == op; });
    }
    // The loop interpreter reads and writes bf16 and f16 itself.
    const bool widens = !def->has(kPointwise) &&
                        std::any_of(entries.begin(), entries.end(),
                                    [](const KernelEntry& entry) { return entry.arithmetic == Arithmetic::f32; });
    for (KernelEntry& entry : entries) entry.asked_for = entry.provider == forced;
    // By their best speeds, for callers without shapes.
    std::stable_sort(entries.begin(), entries.end(), [](const KernelEntry& a, const KernelEntry& b) {
      return a.asked_for != b.asked_for ? a.asked_for : a.speed > b.speed;
    });
    if (widens) entries.push_back(widened_entry(*def));
  }
  if (def->reference) entries.push_back(reference_entry(*def));
  return entries;
}

std::optional<Provider> forced_provider() {
  const char* name = std::getenv("RIDGELINE_KERNELS");
  if (name == nullptr || *name == '\0') return std::nullopt;
  for (const Provider provider : {Provider::reference, Provider::library, Provider::own}) {
    if (name_of(provider) != name) continue;
    if (provider == Provider::library && library_kernels().empty()) {
      throw Error("RIDGELINE_KERNELS is 'library', and this build has no kernel library (allowed: reference, own)",
                  ErrorKind::usage);
    }
    return provider;
  }
  throw Error("RIDGELINE_KERNELS is '" + std::string(name) + "' (allowed: reference, library, own)", ErrorKind::usage);
}

}  // namespace ridgeline
