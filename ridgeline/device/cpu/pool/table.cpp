#include "ridgeline/device/cpu/entry.h"
#include "ridgeline/device/cpu/families.h"

namespace ridgeline::device {

KernelFactory make_own_max_pool, make_own_max_pool_bwd, make_own_avg_pool, make_own_avg_pool_bwd;

namespace {

constexpr KernelEntry kTable[] = {
    own_entry("max_pool", "own", make_own_max_pool, {.storage = kFloatOrHalf}),
    own_entry("max_pool_bwd", "own", make_own_max_pool_bwd, {.storage = kFloatOrHalf}),  // the library adds in bf16
    own_entry("avg_pool", "own", make_own_avg_pool),
    own_entry("avg_pool_bwd", "own", make_own_avg_pool_bwd),
};

}  // namespace

std::span<const KernelEntry> pool_kernels() { return kTable; }

}  // namespace ridgeline::device
