#include "ridgeline/device/cpu/entry.h"
#include "ridgeline/device/cpu/families.h"

namespace ridgeline::device {

KernelFactory make_own_reduce;      // over any axes
KernelFactory make_own_l2_penalty;  // operands in any layout, since padding is zero
KernelFactory make_own_softmax, make_own_softmax_bwd, make_own_softmax_cross_entropy,
    make_own_softmax_cross_entropy_bwd;
KernelFactory make_own_top_k_accuracy, make_own_argmax_accuracy;

namespace {

constexpr KernelEntry entry(std::string_view op, KernelFactory* factory) { return own_entry(op, "own", factory); }

constexpr KernelEntry kTable[] = {
    entry("reduce_sum", make_own_reduce),
    entry("reduce_mean", make_own_reduce),
    entry("reduce_max", make_own_reduce),
    entry("l2_penalty", make_own_l2_penalty),
    entry("softmax", make_own_softmax),
    entry("softmax_bwd", make_own_softmax_bwd),
    entry("softmax_cross_entropy", make_own_softmax_cross_entropy),
    entry("softmax_cross_entropy_bwd", make_own_softmax_cross_entropy_bwd),
    entry("top_k_accuracy", make_own_top_k_accuracy),
    entry("argmax_accuracy", make_own_argmax_accuracy),
};

}  // namespace

std::span<const KernelEntry> sum_kernels() { return kTable; }

}  // namespace ridgeline::device
