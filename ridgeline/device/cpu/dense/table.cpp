#include "ridgeline/device/cpu/dense/dense.h"
#include "ridgeline/device/cpu/entry.h"
#include "ridgeline/device/cpu/families.h"

namespace ridgeline::device {

KernelFactory make_rows_dense, make_rows_dense_bwd_data, make_rows_dense_bwd_weights, make_rows_dense_update;
KernelFactory make_few_rows_dense, make_few_rows_dense_bwd_data, make_few_rows_dense_bwd_weights,
    make_few_rows_dense_update;
KernelFactory make_own_matmul;

namespace dense {
namespace {

double share_of(const ValueType& x, const ValueType& w) {
  const Dense d(x, w);
  const bool known = d.rows <= speeds::kMostDenseRows && d.inputs * d.outputs >= speeds::kLeastDenseWeights;
  return known ? 1 : speeds::kDenseRows.elsewhere;
}
double forward_share(const KernelRequest& request) { return share_of(request.inputs[0].type, request.inputs[1].type); }
double backward_data_share(const KernelRequest& request) {
  return share_of(request.outputs[0].type, request.inputs[1].type);
}
double backward_weights_share(const KernelRequest& request) {
  return share_of(request.inputs[0].type, request.outputs[0].type);
}

constexpr KernelEntry rows(std::string_view op, KernelFactory* factory, KernelShare* share) {
  return own_entry(op, "rows", factory, {.storage = kFloatOrHalf, .speed = speeds::kDenseRows, .share = share});
}

constexpr KernelEntry few_rows(std::string_view op, KernelFactory* factory, KernelSpeed speed) {
  return own_entry(op, "few_rows", factory, {.storage = kFloatOrHalves, .speed = speed});
}

constexpr KernelEntry kTable[] = {
    few_rows("dense", make_few_rows_dense, speeds::kFewRows),
    rows("dense", make_rows_dense, forward_share),
    few_rows("dense_bwd_data", make_few_rows_dense_bwd_data, speeds::kFewRows),
    rows("dense_bwd_data", make_rows_dense_bwd_data, backward_data_share),
    few_rows("dense_bwd_weights", make_few_rows_dense_bwd_weights, speeds::kFewRowsGradients),
    rows("dense_bwd_weights", make_rows_dense_bwd_weights, backward_weights_share),
    few_rows("dense_update", make_few_rows_dense_update, speeds::kFewRowsGradients),
    // Who asks for it knows what it saves (FusionLimits::forms).
    own_entry("dense_update", "rows", make_rows_dense_update, {.storage = kFloatOrHalves, .speed = speeds::kDenseRows}),
    own_entry("matmul", "products", make_own_matmul, {.storage = kFloatOrHalf, .speed = speeds::kMatmul}),
};

}  // namespace
}  // namespace dense

std::span<const KernelEntry> dense_kernels() { return dense::kTable; }

}  // namespace ridgeline::device
