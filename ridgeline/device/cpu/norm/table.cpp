#include "ridgeline/device/cpu/entry.h"
#include "ridgeline/device/cpu/families.h"

namespace ridgeline::device {

KernelFactory make_own_lrn, make_own_lrn_bwd;  // beta 0.75
KernelFactory make_own_batch_norm_train, make_own_batch_norm_bwd, make_own_batch_norm_eval;
KernelFactory make_own_sample_norm, make_own_sample_norm_bwd;

namespace {

constexpr KernelEntry entry(std::string_view op, KernelFactory* factory) {
  return own_entry(op, "own", factory, {.storage = kFloatOrHalf});
}

constexpr KernelEntry kTable[] = {
    entry("lrn", make_own_lrn),
    entry("lrn_bwd", make_own_lrn_bwd),
    entry("batch_norm_train", make_own_batch_norm_train),
    entry("batch_norm_bwd", make_own_batch_norm_bwd),
    entry("batch_norm_eval", make_own_batch_norm_eval),
    entry("layer_norm", make_own_sample_norm),
    entry("layer_norm_bwd", make_own_sample_norm_bwd),
    entry("group_norm", make_own_sample_norm),
    entry("group_norm_bwd", make_own_sample_norm_bwd),
};

}  // namespace

std::span<const KernelEntry> norm_kernels() { return kTable; }

}  // namespace ridgeline::device
