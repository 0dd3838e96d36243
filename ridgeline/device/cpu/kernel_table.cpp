// The one list of CPU kernels. For each op, compilation takes the first that accepts; docs/device.md tells which orders
// were measured.
#include "ridgeline/device/cpu/kernel_table.h"

#include <algorithm>
#include <cstdlib>

#include "ridgeline/core/error.h"
#include "ridgeline/device/cpu/dense/kernels.h"
#include "ridgeline/device/cpu/direct/kernels.h"
#include "ridgeline/device/cpu/library.h"
#include "ridgeline/device/cpu/loop/kernels.h"
#include "ridgeline/device/cpu/own/few_rows.h"
#include "ridgeline/device/cpu/own/integers.h"
#include "ridgeline/device/cpu/own/kernels.h"
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

// The same wherever it can, on f32 alone: bf16 values that it would not make faster go to the f32 kernels between
// conversions.
constexpr KernelEntry transformed_any(std::string_view op, Factory factory) {
  return {op, "winograd_any", kOwn, factory, {DType::f32}, Arithmetic::f32, {Reproducibility::deterministic, false}};
}

// The place of the kernel library's entry, where the build has it (library.h).
constexpr KernelEntry library(std::string_view op) { return {op, "", Provider::library, nullptr}; }

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
    tiles("conv2d", "amx_blocks", make_amx_blocks_conv2d),
    tiles("conv2d", "amx", make_amx_conv2d),
    transformed("conv2d", "winograd", make_winograd_conv2d),
    tiles("conv2d", "dots", make_dots_conv2d),
    halves("conv2d", make_amx_halves_conv2d),
    own_on(kFloatOrHalf, "conv2d", "pixels", make_pixels_conv2d),
    library("conv2d"),
    transformed_any("conv2d", make_any_winograd_conv2d),
    tiles("conv2d", "dots_any", make_any_dots_conv2d),
    own_on(kFloatOrHalf, "conv2d", "pixels_any", make_any_pixels_conv2d),
    own("conv2d", "direct", make_direct_conv2d),
    tiles("conv2d_max_pool", "amx_blocks", make_amx_blocks_conv2d_max_pool),
    tiles("conv2d_max_pool", "amx", make_amx_conv2d_max_pool),
    transformed("conv2d_max_pool", "winograd", make_winograd_conv2d_max_pool),
    tiles("conv2d_max_pool", "dots", make_dots_conv2d_max_pool),
    tiles("conv2d_bwd_data", "amx", make_amx_conv2d_bwd_data),
    transformed("conv2d_bwd_data", "winograd", make_winograd_conv2d_bwd_data),
    tiles("conv2d_bwd_data", "dots", make_dots_conv2d_bwd_data),
    halves("conv2d_bwd_data", make_amx_halves_conv2d_bwd_data),
    own_on(kFloatOrHalf, "conv2d_bwd_data", "pixels", make_pixels_conv2d_bwd_data),
    library("conv2d_bwd_data"),
    transformed_any("conv2d_bwd_data", make_any_winograd_conv2d_bwd_data),
    tiles("conv2d_bwd_data", "dots_any", make_any_dots_conv2d_bwd_data),
    own_on(kFloatOrHalf, "conv2d_bwd_data", "pixels_any", make_any_pixels_conv2d_bwd_data),
    own("conv2d_bwd_data", "direct", make_direct_conv2d_bwd_data),
    tiles("conv2d_bwd_weights", "amx", make_amx_conv2d_bwd_weights),
    transformed("conv2d_bwd_weights", "winograd", make_winograd_conv2d_bwd_weights),
    tiles("conv2d_bwd_weights", "dots", make_dots_conv2d_bwd_weights),
    halves("conv2d_bwd_weights", make_amx_halves_conv2d_bwd_weights),
    own_on(kFloatOrHalf, "conv2d_bwd_weights", "pixels", make_pixels_conv2d_bwd_weights),
    library("conv2d_bwd_weights"),
    transformed_any("conv2d_bwd_weights", make_any_winograd_conv2d_bwd_weights),
    tiles("conv2d_bwd_weights", "dots_any", make_any_dots_conv2d_bwd_weights),
    own_on(kFloatOrHalf, "conv2d_bwd_weights", "pixels_any", make_any_pixels_conv2d_bwd_weights),
    own("conv2d_bwd_weights", "direct", make_direct_conv2d_bwd_weights),
    tiles("conv2d_max_pool_bwd_data", "amx", make_amx_conv2d_max_pool_bwd_data),
    tiles("conv2d_max_pool_bwd_data", "dots", make_dots_conv2d_max_pool_bwd_data),
    tiles("conv2d_max_pool_bwd_weights", "amx", make_amx_conv2d_max_pool_bwd_weights),
    tiles("conv2d_max_pool_bwd_weights", "dots", make_dots_conv2d_max_pool_bwd_weights),
    own_on(kFloatOrHalves, "dense", "few_rows", make_few_rows_dense),
    tiles("dense", "amx", make_amx_dense),
    tiles("dense", "dots", make_dots_dense),
    halves("dense", make_amx_halves_dense),
    own_on(kFloatOrHalf, "dense", "rows", make_rows_dense),
    library("dense"),
    own_on(kFloatOrHalf, "dense", "rows_any", make_any_rows_dense),
    own_on(kFloatOrHalves, "dense_bwd_data", "few_rows", make_few_rows_dense_bwd_data),
    tiles("dense_bwd_data", "amx", make_amx_dense_bwd_data),
    tiles("dense_bwd_data", "dots", make_dots_dense_bwd_data),
    halves("dense_bwd_data", make_amx_halves_dense_bwd_data),
    own_on(kFloatOrHalf, "dense_bwd_data", "rows", make_rows_dense_bwd_data),
    library("dense_bwd_data"),
    own_on(kFloatOrHalf, "dense_bwd_data", "rows_any", make_any_rows_dense_bwd_data),
    tiles("dense_bwd_weights", "amx", make_amx_dense_bwd_weights),
    own_on(kFloatOrHalves, "dense_bwd_weights", "few_rows", make_few_rows_dense_bwd_weights),
    tiles("dense_bwd_weights", "dots", make_dots_dense_bwd_weights),
    halves("dense_bwd_weights", make_amx_halves_dense_bwd_weights),
    own_on(kFloatOrHalf, "dense_bwd_weights", "rows", make_rows_dense_bwd_weights),
    library("dense_bwd_weights"),
    own_on(kFloatOrHalf, "dense_bwd_weights", "rows_any", make_any_rows_dense_bwd_weights),
    tiles("dense_update", "amx", make_amx_dense_update),
    own_on(kFloatOrHalves, "dense_update", "few_rows", make_few_rows_dense_update),
    tiles("dense_update", "dots", make_dots_dense_update),
    own_on(kFloatOrHalves, "dense_update", "rows", make_rows_dense_update),

    library("matmul"),
    own_on(kFloatOrHalf, "matmul", "products", make_own_matmul),

    own_on(kFloatOrHalf, "max_pool", "own", make_own_max_pool),
    own_on(kFloatOrHalf, "max_pool_bwd", "own", make_own_max_pool_bwd),  // the library adds in bf16
    library("max_pool_bwd"),
    library("avg_pool"),
    own("avg_pool", "own", make_own_avg_pool),
    own("avg_pool_bwd", "own", make_own_avg_pool_bwd),
    library("avg_pool_bwd"),

    library("lrn"),
    own_on(kFloatOrHalf, "lrn", "own", make_own_lrn),
    own_on(kFloatOrHalf, "lrn_bwd", "own", make_own_lrn_bwd),
    library("lrn_bwd"),
    own_on(kFloatOrHalf, "batch_norm_train", "own", make_own_batch_norm_train),
    library("batch_norm_train"),
    own_on(kFloatOrHalf, "batch_norm_bwd", "own", make_own_batch_norm_bwd),
    library("batch_norm_bwd"),
    own_on(kFloatOrHalf, "batch_norm_eval", "own", make_own_batch_norm_eval),
    library("batch_norm_eval"),
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

// The table's entries for an op, the library's in their place.
std::vector<KernelEntry> entries_of(std::string_view op) {
  std::vector<KernelEntry> entries;
  for (const KernelEntry& entry : kTable) {
    if (entry.op != op) continue;
    if (entry.provider != Provider::library) {
      entries.push_back(entry);
      continue;
    }
    for (const KernelEntry& known : library_kernels()) {
      if (known.op == op) entries.push_back(known);
    }
  }
  return entries;
}

}  // namespace

std::vector<KernelEntry> cpu_kernels(std::string_view op, std::optional<Provider> forced) {
  const OpDef* def = find_op(op);
  if (def == nullptr) return {};
  std::vector<KernelEntry> entries;
  if (forced != Provider::reference) {
    entries = entries_of(op);
    // The loop interpreter reads and writes bf16 and f16 itself.
    const bool widens = std::any_of(entries.begin(), entries.end(),
                                    [](const KernelEntry& entry) { return entry.arithmetic == Arithmetic::f32; });
    for (const KernelEntry& entry : loop_kernels()) {
      if (entry.op == op) entries.push_back(entry);
    }
    std::stable_partition(entries.begin(), entries.end(),
                          [&](const KernelEntry& entry) { return entry.provider == forced; });
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
