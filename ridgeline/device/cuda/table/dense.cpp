#include <fmt/format.h>

#include "ridgeline/device/cuda/table/entries.h"
#include "ridgeline/device/cuda/table/launched_kernel.h"
#include "ridgeline/graph/op/matmul.h"

namespace ridgeline::cuda {
namespace {

// Below, the kernels for few rows are as fast as a launch, and so are the library's.
constexpr std::int64_t kLeastFewRowsWeights = std::int64_t{1} << 20;

// Why the kernels for few rows do not take a layer; empty: they do.
std::string_view few_rows_refusal(const FewRowsShape& shape) {
  if (!is_few_rows(shape)) return "not a product of up to 32 rows of bf16 or f16 by a multiple of 8 inputs";
  if (shape.inputs * shape.outputs < kLeastFewRowsWeights) return "fewer than 2^20 weights";
  return {};
}

KernelChoice make_few_rows(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  const Shape &x = request.inputs[0].type.shape, &w = request.inputs[1].type.shape;
  const FewRowsShape shape{request.inputs[0].type.dtype, request.outputs[0].type.dtype, x[0], w[1], w[0]};
  if (const std::string_view refusal = few_rows_refusal(shape); !refusal.empty()) return Refusal{std::string(refusal)};
  auto kernel = launched(request, "few_rows",
                         [shape, epilogue = NodeEpilogue(request)](LaunchSink sink, const KernelArguments& a) {
                           few_rows(sink, shape, a.inputs[0], a.inputs[1], epilogue.of(a), a.outputs[0], a.scratch);
                         });
  kernel->scratch_bytes = few_rows_scratch(shape);
  kernel->products = shape.type;
  return kernel;
}

KernelChoice make_few_rows_data(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  const Shape &dy = request.inputs[0].type.shape, &w = request.inputs[1].type.shape;
  const FewRowsShape shape{request.inputs[0].type.dtype, request.outputs[0].type.dtype, dy[0], w[1], w[0]};
  if (const std::string_view refusal = few_rows_refusal(shape); !refusal.empty()) return Refusal{std::string(refusal)};
  auto kernel = launched(request, "few_rows", [shape](LaunchSink sink, const KernelArguments& a) {
    few_rows_gradient(sink, shape, a.inputs[0], a.inputs[1], a.outputs[0], a.scratch);
  });
  kernel->scratch_bytes = few_rows_gradient_scratch(shape);
  kernel->products = shape.type;
  return kernel;
}

KernelChoice make_direct_dense(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  const Shape &x = request.inputs[0].type.shape, &w = request.inputs[1].type.shape;
  // y[n,k]: rows of x times rows of w.
  const ProductShape shape{.type = request.inputs[0].type.dtype,
                           .result = request.outputs[0].type.dtype,
                           .rows = x[0],
                           .columns = w[0],
                           .inner = x[1],
                           .a_row = x[1],
                           .a_column = 1,
                           .b_row = 1,
                           .b_column = x[1]};
  return launched(request, "direct product",
                  [shape, epilogue = NodeEpilogue(request)](LaunchSink sink, const KernelArguments& a) {
                    direct_product(sink, shape, a.inputs[0], a.inputs[1], epilogue.of(a), a.outputs[0]);
                  });
}

KernelChoice make_direct_dense_data(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  const Shape &dy = request.inputs[0].type.shape, &w = request.inputs[1].type.shape;
  // dx[n,c]: rows of dy times columns of w.
  const ProductShape shape{.type = request.inputs[0].type.dtype,
                           .result = request.outputs[0].type.dtype,
                           .rows = dy[0],
                           .columns = w[1],
                           .inner = dy[1],
                           .a_row = dy[1],
                           .a_column = 1,
                           .b_row = w[1],
                           .b_column = 1};
  return launched(request, "direct product", [=](LaunchSink sink, const KernelArguments& a) {
    direct_product(sink, shape, a.inputs[0], a.inputs[1], {}, a.outputs[0]);
  });
}

KernelChoice make_direct_dense_weights(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  const Shape &x = request.inputs[0].type.shape, &dy = request.inputs[1].type.shape;
  // dw[k,c]: columns of dy times columns of x.
  const ProductShape shape{.type = request.inputs[0].type.dtype,
                           .result = request.outputs[0].type.dtype,
                           .rows = dy[1],
                           .columns = x[1],
                           .inner = x[0],
                           .a_row = 1,
                           .a_column = dy[1],
                           .b_row = x[1],
                           .b_column = 1};
  const bool bias = request.node.attributes.boolean("bias");
  const DType type = request.inputs[1].type.dtype;
  const DType bias_type = bias ? request.outputs[1].type.dtype : DType::f32;
  const std::int64_t rows = dy[0], channels = dy[1];
  auto kernel = launched(request, "direct product", [=](LaunchSink sink, const KernelArguments& a) {
    direct_product(sink, shape, a.inputs[1], a.inputs[0], {}, a.outputs[0]);
    if (bias) column_sums(sink, type, a.inputs[1], rows, channels, 1, bias_type, a.outputs[1], a.scratch);
  });
  if (bias) kernel->scratch_bytes = column_sums_scratch(type, rows, channels);
  return kernel;
}

KernelChoice make_direct_matmul(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  const ValueType &a_type = request.inputs[0].type, &b_type = request.inputs[1].type;
  const MatmulForm form = matmul_form(a_type.shape, b_type.shape, request.node.attributes).merged();
  const ProductShape shape{.type = a_type.dtype,
                           .result = request.outputs[0].type.dtype,
                           .rows = form.rows,
                           .columns = form.columns,
                           .inner = form.depth,
                           .a_row = form.transpose_a ? 1 : form.depth,
                           .a_column = form.transpose_a ? form.rows : 1,
                           .b_row = form.transpose_b ? 1 : form.columns,
                           .b_column = form.transpose_b ? form.depth : 1};
  std::vector<ProductBatch> batch;
  for (std::size_t axis = 0; axis < form.batch.size(); ++axis) {
    if (form.batch[axis] == 1) continue;
    batch.push_back({form.batch[axis], form.a_steps[axis] * form.rows * form.depth,
                     form.b_steps[axis] * form.depth * form.columns});
  }
  if (batch.size() > kProductAxes) return Refusal{fmt::format("more than {} axes of matrices", kProductAxes)};
  return launched(request, "direct product", [=](LaunchSink sink, const KernelArguments& a) {
    direct_products(sink, shape, batch, a.inputs[0], a.inputs[1], a.outputs[0]);
  });
}

// The kernels for few rows have not run on a card yet: the library comes first, and --tune compares the two.
constexpr KernelEntry kDense[] = {
    library_entry("dense", "cublaslt_tf32", make_library_product, "tf32"),
    library_entry("dense", "cublaslt", make_library_product),
    tensor_core_entry("dense", "few_rows", make_few_rows),
    own_entry("dense", "direct", make_direct_dense),
    library_entry("dense_bwd_data", "cublaslt_tf32", make_library_product, "tf32"),
    library_entry("dense_bwd_data", "cublaslt", make_library_product),
    tensor_core_entry("dense_bwd_data", "few_rows", make_few_rows_data),
    own_entry("dense_bwd_data", "direct", make_direct_dense_data),
    library_entry("dense_bwd_weights", "cublaslt_tf32", make_library_product, "tf32"),
    library_entry("dense_bwd_weights", "cublaslt", make_library_product),
    own_entry("dense_bwd_weights", "direct", make_direct_dense_weights),
    library_entry("matmul", "cublaslt_tf32", make_library_product, "tf32"),
    library_entry("matmul", "cublaslt", make_library_product),
    own_entry("matmul", "direct", make_direct_matmul),
};

}  // namespace

std::span<const KernelEntry> dense_entries() { return kDense; }

}  // namespace ridgeline::cuda
