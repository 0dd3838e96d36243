#include "ridgeline/device/cpu/entry.h"
#include "ridgeline/device/cpu/families.h"
#include "ridgeline/graph/loop/expression.h"

namespace ridgeline::device {

KernelFactory make_own_reshape, make_own_flatten, make_own_unflatten, make_own_transpose, make_own_broadcast_to,
    make_own_pad, make_own_strided_slice, make_own_strided_slice_bwd, make_own_concat, make_own_split;
KernelFactory make_own_gather, make_own_gather_bwd;
// Copies packed values in any layout, except those that are in place already.
KernelFactory make_own_collective_start;
// A loop computes in f32, which does not hold the number of the next step.
KernelFactory make_own_integer_constant, make_own_integer_add;
KernelFactory make_own_image_tail;

namespace {

constexpr KernelEntry copies(std::string_view op, KernelFactory* factory) { return exact_entry(op, "own", factory); }

constexpr KernelEntry kTable[] = {
    copies("reshape", make_own_reshape),
    copies("flatten", make_own_flatten),
    copies("unflatten", make_own_unflatten),
    copies("transpose", make_own_transpose),
    copies("broadcast_to", make_own_broadcast_to),
    copies("pad", make_own_pad),
    copies("strided_slice", make_own_strided_slice),
    copies("strided_slice_bwd", make_own_strided_slice_bwd),
    copies("concat", make_own_concat),
    copies("split", make_own_split),
    copies("gather", make_own_gather),
    own_entry("gather_bwd", "own", make_own_gather_bwd, {.storage = kFloatOrHalf}),
    copies("collective_start", make_own_collective_start),
    exact_entry("constant", "integers", make_own_integer_constant),
    exact_entry("add", "integers", make_own_integer_add),
    own_entry("image_tail", "own", make_own_image_tail, {.storage = loop::kLoopStorage}),
};

}  // namespace

std::span<const KernelEntry> copy_kernels() { return kTable; }

}  // namespace ridgeline::device
