// The one list of CPU kernels, and how fast they are: of the entries of an op compilation takes the fastest that
// accepts. The speeds are multiples of what the rates say of f32, coarse, by the measurements of docs/device.md and the
// pages of the families, which say them themselves where they depend on shapes.
#include "ridgeline/device/cpu/kernel_table.h"

#include <algorithm>
#include <cstdlib>

#include "ridgeline/core/error.h"
#include "ridgeline/device/cpu/copy/integers.h"
#include "ridgeline/device/cpu/dense/few_rows.h"
#include "ridgeline/device/cpu/dense/kernels.h"
#include "ridgeline/device/cpu/direct/kernels.h"
#include "ridgeline/device/cpu/library.h"
#include "ridgeline/device/cpu/loop/kernels.h"
#include "ridgeline/device/cpu/own_kernels.h"
#include "ridgeline/device/cpu/pixels/kernels.h"
#include "ridgeline/device/cpu/tiles/kernels.h"
#include "ridgeline/device/cpu/widened_kernel.h"
#include "ridgeline/device/cpu/winograd/kernels.h"
#include "ridgeline/device/reference_kernel.h"
#include "ridgeline/graph/loop/expression.h"

namespace ridgeline {
namespace {

using namespace device;

constexpr auto kOwn = Provider::own;

using Factory = KernelChoice (*)(const KernelRequest&);
using Share = double (*)(const KernelRequest&);

constexpr KernelEntry with(double speed, KernelEntry entry) {
  entry.speed = speed;
  return entry;
}
constexpr KernelEntry with(double speed, Share share, KernelEntry entry) {
  entry.speed = speed;
  entry.share = share;
  return entry;
}

// Our kernels on f32, whose sums have an order that follows from the shapes alone, one lane an element or sixteen
// virtual ones.
constexpr KernelEntry own(std::string_view op, std::string_view name, Factory factory) {
  return {op, name, kOwn, factory, {DType::f32}, Arithmetic::f32, {Reproducibility::portable, true}};
}

// The same on other types as well.
constexpr KernelEntry own_on(DTypeSet storage, std::string_view op, std::string_view name, Factory factory) {
  return {op, name, kOwn, factory, storage, Arithmetic::f32, {Reproducibility::portable, true}};
}
constexpr DTypeSet kFloatOrHalf{DType::f32, DType::bf16};
constexpr DTypeSet kFloatOrHalves{DType::f32, DType::bf16, DType::f16};

// A kernel that moves elements and computes nothing.
constexpr KernelEntry copies(std::string_view op, Factory factory) {
  return {op, "own", kOwn, factory, kFloatingTypes, Arithmetic::f64, {Reproducibility::portable, true}};
}

// A kernel on 64-bit integers.
constexpr KernelEntry integers(std::string_view op, Factory factory) {
  return {op, "integers", kOwn, factory, kFloatingTypes, Arithmetic::f64, {Reproducibility::portable, true}};
}

// Fewer multiplications, larger rounding errors. The choice of a rule knows the length of vectors.
constexpr KernelEntry transformed(std::string_view op, std::string_view name, Factory factory) {
  return {op, name, kOwn, factory, kFloatOrHalf, Arithmetic::f32, {Reproducibility::deterministic, false}};
}

// A kernel on bf16 tiles, in registers or of dot products; results and biases may be f32.
constexpr KernelEntry tiles(std::string_view op, std::string_view name, Factory factory) {
  return {op, name, kOwn, factory, {DType::f32, DType::bf16}, Arithmetic::f32, {Reproducibility::deterministic, true}};
}

// Three products on bf16 tiles for one of f32; only where that is asked for.
constexpr KernelEntry halves(std::string_view op, Factory factory) {
  return {op,
          "amx_bf16x3",
          kOwn,
          factory,
          {DType::f32},
          Arithmetic::f32,
          {.bits = Reproducibility::deterministic, .high_precision = false, .fp32_compute = kBf16x3}};
}

constexpr KernelEntry kTable[] = {
    with(5, tiles("conv2d", "amx_blocks", make_amx_blocks_conv2d)),
    with(4, tiles("conv2d", "amx", make_amx_conv2d)),
    with(1.6, winograd_conv2d_share, transformed("conv2d", "winograd", make_winograd_conv2d)),
    with(1.3, dots_conv2d_share, tiles("conv2d", "dots", make_dots_conv2d)),
    with(1.2, halves("conv2d", make_amx_halves_conv2d)),
    with(0.9, pixels_conv2d_share, own_on(kFloatOrHalf, "conv2d", "pixels", make_pixels_conv2d)),
    with(0.4, own("conv2d", "direct", make_direct_conv2d)),
    with(5, tiles("conv2d_max_pool", "amx_blocks", make_amx_blocks_conv2d_max_pool)),
    with(4, tiles("conv2d_max_pool", "amx", make_amx_conv2d_max_pool)),
    with(1.6, transformed("conv2d_max_pool", "winograd", make_winograd_conv2d_max_pool)),
    with(1.3, tiles("conv2d_max_pool", "dots", make_dots_conv2d_max_pool)),
    with(4, tiles("conv2d_bwd_data", "amx", make_amx_conv2d_bwd_data)),
    with(1.6, winograd_conv2d_bwd_data_share,
         transformed("conv2d_bwd_data", "winograd", make_winograd_conv2d_bwd_data)),
    with(1.3, dots_conv2d_bwd_data_share, tiles("conv2d_bwd_data", "dots", make_dots_conv2d_bwd_data)),
    with(1.2, halves("conv2d_bwd_data", make_amx_halves_conv2d_bwd_data)),
    with(0.9, pixels_conv2d_bwd_data_share,
         own_on(kFloatOrHalf, "conv2d_bwd_data", "pixels", make_pixels_conv2d_bwd_data)),
    with(0.4, own("conv2d_bwd_data", "direct", make_direct_conv2d_bwd_data)),
    with(4, tiles("conv2d_bwd_weights", "amx", make_amx_conv2d_bwd_weights)),
    with(1.6, winograd_conv2d_bwd_weights_share,
         transformed("conv2d_bwd_weights", "winograd", make_winograd_conv2d_bwd_weights)),
    with(1.3, dots_conv2d_bwd_weights_share, tiles("conv2d_bwd_weights", "dots", make_dots_conv2d_bwd_weights)),
    with(1.2, halves("conv2d_bwd_weights", make_amx_halves_conv2d_bwd_weights)),
    with(0.9, pixels_conv2d_bwd_weights_share,
         own_on(kFloatOrHalf, "conv2d_bwd_weights", "pixels", make_pixels_conv2d_bwd_weights)),
    with(0.4, own("conv2d_bwd_weights", "direct", make_direct_conv2d_bwd_weights)),
    with(4, tiles("conv2d_max_pool_bwd_data", "amx", make_amx_conv2d_max_pool_bwd_data)),
    with(1.3, tiles("conv2d_max_pool_bwd_data", "dots", make_dots_conv2d_max_pool_bwd_data)),
    with(4, tiles("conv2d_max_pool_bwd_weights", "amx", make_amx_conv2d_max_pool_bwd_weights)),
    with(1.3, tiles("conv2d_max_pool_bwd_weights", "dots", make_dots_conv2d_max_pool_bwd_weights)),

    // Few rows take the time of reading the weights once, which no other kernel does.
    with(6, own_on(kFloatOrHalves, "dense", "few_rows", make_few_rows_dense)),
    with(4, tiles("dense", "amx", make_amx_dense)),
    with(1.3, tiles("dense", "dots", make_dots_dense)),
    with(1.2, halves("dense", make_amx_halves_dense)),
    with(0.9, rows_dense_share, own_on(kFloatOrHalf, "dense", "rows", make_rows_dense)),
    with(6, own_on(kFloatOrHalves, "dense_bwd_data", "few_rows", make_few_rows_dense_bwd_data)),
    with(4, tiles("dense_bwd_data", "amx", make_amx_dense_bwd_data)),
    with(1.3, tiles("dense_bwd_data", "dots", make_dots_dense_bwd_data)),
    with(1.2, halves("dense_bwd_data", make_amx_halves_dense_bwd_data)),
    with(0.9, rows_dense_bwd_data_share, own_on(kFloatOrHalf, "dense_bwd_data", "rows", make_rows_dense_bwd_data)),
    with(4, tiles("dense_bwd_weights", "amx", make_amx_dense_bwd_weights)),
    with(2, own_on(kFloatOrHalves, "dense_bwd_weights", "few_rows", make_few_rows_dense_bwd_weights)),
    with(1.3, tiles("dense_bwd_weights", "dots", make_dots_dense_bwd_weights)),
    with(1.2, halves("dense_bwd_weights", make_amx_halves_dense_bwd_weights)),
    with(0.9, rows_dense_bwd_weights_share,
         own_on(kFloatOrHalf, "dense_bwd_weights", "rows", make_rows_dense_bwd_weights)),
    with(4, tiles("dense_update", "amx", make_amx_dense_update)),
    with(2, own_on(kFloatOrHalves, "dense_update", "few_rows", make_few_rows_dense_update)),
    with(1.3, tiles("dense_update", "dots", make_dots_dense_update)),
    with(0.9, own_on(kFloatOrHalves, "dense_update", "rows", make_rows_dense_update)),

    with(0.7, own_on(kFloatOrHalf, "matmul", "products", make_own_matmul)),

    own_on(kFloatOrHalf, "max_pool", "own", make_own_max_pool),
    own_on(kFloatOrHalf, "max_pool_bwd", "own", make_own_max_pool_bwd),  // the library adds in bf16
    own("avg_pool", "own", make_own_avg_pool),
    own("avg_pool_bwd", "own", make_own_avg_pool_bwd),
    own_on(kFloatOrHalf, "lrn", "own", make_own_lrn),
    own_on(kFloatOrHalf, "lrn_bwd", "own", make_own_lrn_bwd),
    own_on(kFloatOrHalf, "batch_norm_train", "own", make_own_batch_norm_train),
    own_on(kFloatOrHalf, "batch_norm_bwd", "own", make_own_batch_norm_bwd),
    own_on(kFloatOrHalf, "batch_norm_eval", "own", make_own_batch_norm_eval),
    own_on(kFloatOrHalf, "layer_norm", "own", make_own_sample_norm),
    own_on(kFloatOrHalf, "layer_norm_bwd", "own", make_own_sample_norm_bwd),
    own_on(kFloatOrHalf, "group_norm", "own", make_own_sample_norm),
    own_on(kFloatOrHalf, "group_norm_bwd", "own", make_own_sample_norm_bwd),

    own("reduce_sum", "own", make_own_reduce),
    own("reduce_mean", "own", make_own_reduce),
    own("reduce_max", "own", make_own_reduce),
    own("l2_penalty", "own", make_own_l2_penalty),
    own("update_group", "own", make_own_update_group),
    own("softmax", "own", make_own_softmax),
    own("softmax_bwd", "own", make_own_softmax_bwd),
    own("softmax_cross_entropy", "own", make_own_softmax_cross_entropy),
    own("softmax_cross_entropy_bwd", "own", make_own_softmax_cross_entropy_bwd),
    own("top_k_accuracy", "own", make_own_top_k_accuracy),
    own("argmax_accuracy", "own", make_own_argmax_accuracy),

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
    own_on(kFloatOrHalf, "gather_bwd", "own", make_own_gather_bwd),
    copies("collective_start", make_own_collective_start),
    integers("constant", make_own_integer_constant),
    integers("add", make_own_integer_add),
    {"image_tail",
     "own",
     kOwn,
     make_own_image_tail,
     loop::kLoopStorage,
     Arithmetic::f32,
     {Reproducibility::portable, true}},
};

}  // namespace

std::vector<KernelEntry> cpu_kernels(std::string_view op, std::optional<Provider> forced) {
  const OpDef* def = find_op(op);
  if (def == nullptr) return {};
  std::vector<KernelEntry> entries;
  if (forced != Provider::reference) {
    const auto add = [&](std::span<const KernelEntry> family) {
      std::copy_if(family.begin(), family.end(), std::back_inserter(entries),
                   [&](const KernelEntry& entry) { return entry.op == op; });
    };
    add(kTable);
    add(library_kernels());
    // The loop interpreter reads and writes bf16 and f16 itself.
    const bool widens = std::any_of(entries.begin(), entries.end(),
                                    [](const KernelEntry& entry) { return entry.arithmetic == Arithmetic::f32; });
    add(loop_kernels());
    for (KernelEntry& entry : entries) entry.asked_for = entry.provider == forced;
    // As fast as they are at their best, for who knows no shapes.
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
