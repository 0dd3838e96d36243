#include "ridgeline/device/cuda/cublas/product.h"

#include <fmt/format.h>

#include <numeric>

#include "ridgeline/core/error.h"

namespace ridgeline::cuda::cublas {
namespace {

DataType type_of(DType type) {
  switch (type) {
    case DType::f32: return DataType::f32;
    case DType::bf16: return DataType::bf16;
    case DType::f16: return DataType::f16;
    default: RIDGELINE_CHECK(false, "a type that no entry of cuBLASLt takes"); return DataType::f32;
  }
}

std::uint32_t epilogue_of(const Product& product) {
  if (product.bias_gradient) return kBiasGradientOfB;
  if (product.bias) return product.relu ? kReluBias : kBias;
  return product.relu ? kRelu : kPlain;
}

// Every value of a program begins at a multiple of it.
constexpr std::uint32_t kAlignment = 16;

// The alignment of every matrix of an operand.
std::uint32_t alignment_of(DType type, std::int64_t step) {
  const auto bytes = static_cast<std::uint64_t>(step) * size_of(type);
  return static_cast<std::uint32_t>(std::gcd(std::uint64_t{kAlignment}, bytes));  // 0: the same again
}

}  // namespace

std::string_view name_of(Pass pass) {
  switch (pass) {
    case Pass::forward: return "dense";
    case Pass::backward_data: return "dense_bwd_data";
    case Pass::backward_weights: return "dense_bwd_weights";
    case Pass::matrices: return "matmul";
  }
  return "";
}

std::string Product::text() const {
  std::string text =
      fmt::format("{} {}{} rows {} inputs {} outputs {} written {}", name_of(pass), ridgeline::name_of(operands),
                  tf32 ? " as tf32" : "", rows, inputs, outputs, ridgeline::name_of(written));
  if (addend) text += " addend";
  if (bias) text += fmt::format(" bias {}", ridgeline::name_of(bias_type));
  if (relu) text += " relu";
  if (bias_gradient) text += fmt::format(" bias gradient {}", ridgeline::name_of(bias_type));
  if (pass == Pass::matrices) {
    text += fmt::format(" matrices {} steps {} {}", count, first_step, second_step);
    if (transpose_first) text += " first transposed";
    if (transpose_second) text += " second transposed";
  }
  return text;
}

ProductPlan::Owned ProductPlan::layout(DType type, std::int64_t rows, std::int64_t columns, std::int64_t step) const {
  RawDescriptor raw = nullptr;
  functions_.check(functions_.create_layout(&raw, type_of(type), static_cast<std::uint64_t>(rows),
                                            static_cast<std::uint64_t>(columns), rows),
                   "cuBLASLt describes a matrix");
  Owned owned(raw, functions_.destroy_layout);
  if (product_.count > 1) {
    const auto matrices = static_cast<std::int32_t>(product_.count);
    functions_.check(functions_.set_layout(raw, LayoutAttribute::matrices, &matrices, sizeof matrices),
                     "cuBLASLt describes matrices");
    functions_.check(functions_.set_layout(raw, LayoutAttribute::step, &step, sizeof step),
                     "cuBLASLt describes matrices");
  }
  return owned;
}

// The library's matrices are column-major, so a row-major [n,c] is its c x n. With D = A * B:
//   y^T  [k,n] = w  [k,c] * x^T [c,n], where A = w is stored as c x k and transposed
//   dx^T [c,n] = w^T[c,k] * dy^T[k,n]
//   dw^T [c,k] = x^T[c,n] * dy  [n,k], where B = dy is stored as k x n and transposed
//   y^T  [k,n] = b^T[k,c] * a^T [c,n], where A = b, which is stored as k x c, or as c x k and transposed, and B = a
ProductPlan::ProductPlan(const Functions& functions, Handle handle, const Product& product, std::size_t workspace_bytes,
                         int algorithms)
    : functions_(functions),
      handle_(handle),
      product_(product),
      description_(nullptr, functions.destroy_product),
      a_(nullptr, functions.destroy_layout),
      b_(nullptr, functions.destroy_layout),
      d_(nullptr, functions.destroy_layout) {
  const Product& p = product;
  RawDescriptor raw = nullptr;
  functions.check(functions.create_product(&raw, p.tf32 ? ComputeType::tf32 : ComputeType::f32, DataType::f32),
                  "cuBLASLt describes a product");
  description_.reset(raw);
  const auto set = [&](ProductAttribute attribute, auto value) {
    functions.check(functions.set_product(raw, attribute, &value, sizeof value), "cuBLASLt describes a product");
  };
  set(ProductAttribute::transpose_a, std::int32_t{p.pass == Pass::forward || p.transpose_second ? 1 : 0});
  set(ProductAttribute::transpose_b, std::int32_t{p.pass == Pass::backward_weights || p.transpose_first ? 1 : 0});
  set(ProductAttribute::epilogue, epilogue_of(p));
  if (p.bias || p.bias_gradient) {
    set(ProductAttribute::bias_type, static_cast<std::int32_t>(type_of(p.bias_type)));
    set(ProductAttribute::bias_address, std::uintptr_t{kAlignment});  // the heuristics look at its alignment alone
  }
  switch (p.pass) {
    case Pass::forward:
      a_ = layout(p.operands, p.inputs, p.outputs);
      b_ = layout(p.operands, p.inputs, p.rows);
      d_ = layout(p.written, p.outputs, p.rows);
      break;
    case Pass::backward_data:
      a_ = layout(p.operands, p.inputs, p.outputs);
      b_ = layout(p.operands, p.outputs, p.rows);
      d_ = layout(p.written, p.inputs, p.rows);
      break;
    case Pass::backward_weights:
      a_ = layout(p.operands, p.inputs, p.rows);
      b_ = layout(p.operands, p.outputs, p.rows);
      d_ = layout(p.written, p.inputs, p.outputs);
      break;
    case Pass::matrices:
      a_ = p.transpose_second ? layout(p.operands, p.inputs, p.outputs, p.second_step)
                              : layout(p.operands, p.outputs, p.inputs, p.second_step);
      b_ = p.transpose_first ? layout(p.operands, p.rows, p.inputs, p.first_step)
                             : layout(p.operands, p.inputs, p.rows, p.first_step);
      d_ = layout(p.written, p.outputs, p.rows, p.rows * p.outputs);
      break;
  }
  RawDescriptor raw_preference = nullptr;
  functions.check(functions.create_preference(&raw_preference), "cuBLASLt describes a preference");
  const Owned preference(raw_preference, functions.destroy_preference);
  const auto prefer = [&](PreferenceAttribute attribute, auto value) {
    functions.check(functions.set_preference(raw_preference, attribute, &value, sizeof value),
                    "cuBLASLt describes a preference");
  };
  prefer(PreferenceAttribute::workspace_bytes, static_cast<std::uint64_t>(workspace_bytes));
  prefer(PreferenceAttribute::reduction_schemes, kReduceInComputeType);
  const std::uint32_t written = p.count > 1 ? alignment_of(p.written, p.rows * p.outputs) : kAlignment;
  const std::uint32_t alignments[] = {alignment_of(p.operands, p.second_step), alignment_of(p.operands, p.first_step),
                                      written, written};
  for (int matrix = 0; matrix < 4; ++matrix) {
    prefer(static_cast<PreferenceAttribute>(static_cast<int>(PreferenceAttribute::alignment_a) + matrix),
           alignments[matrix]);
  }
  algorithms_.resize(static_cast<std::size_t>(algorithms));
  int found = 0;
  functions.check(functions.heuristics(handle, raw, a_.get(), b_.get(), d_.get(), d_.get(), raw_preference, algorithms,
                                       algorithms_.data(), &found),
                  "cuBLASLt chooses an algorithm");
  algorithms_.resize(static_cast<std::size_t>(found));
  std::erase_if(algorithms_, [&](const HeuristicResult& result) {
    return result.status != 0 || result.workspace_bytes > workspace_bytes;
  });
  if (algorithms_.empty()) throw Failure("cuBLASLt has no algorithm for it");
}

std::string ProductPlan::name() const {
  const auto get = [&](AlgorithmAttribute attribute) {
    std::int32_t value = 0;
    std::size_t written = 0;
    functions_.get_algorithm(&algorithms_[chosen_].algorithm, attribute, &value,
                             attribute == AlgorithmAttribute::cluster ? sizeof(std::uint16_t) : sizeof value, &written);
    return value;
  };
  return fmt::format("algorithm {} (tile {}, stages {}, splits {}, cluster {})", get(AlgorithmAttribute::id),
                     get(AlgorithmAttribute::tile), get(AlgorithmAttribute::stages), get(AlgorithmAttribute::splits),
                     get(AlgorithmAttribute::cluster));
}

void ProductPlan::run(const ProductAddresses& addresses, void* workspace, void* stream) {
  if (product_.bias || product_.bias_gradient) {
    functions_.check(functions_.set_product(description_.get(), ProductAttribute::bias_address, &addresses.bias,
                                            sizeof addresses.bias),
                     "cuBLASLt takes an address");
  }
  const bool weights_first = product_.pass != Pass::backward_weights;
  const void* const a = weights_first ? addresses.second : addresses.first;
  const void* const b = weights_first ? addresses.first : addresses.second;
  const float alpha = 1.0f, beta = product_.addend ? 1.0f : 0.0f;
  const HeuristicResult& algorithm = algorithms_[chosen_];
  functions_.check(
      functions_.multiply(handle_, description_.get(), &alpha, a, a_.get(), b, b_.get(), &beta,
                          product_.addend ? addresses.addend : addresses.written, d_.get(), addresses.written, d_.get(),
                          &algorithm.algorithm, workspace, algorithm.workspace_bytes, stream),
      "cuBLASLt multiplies");
}

}  // namespace ridgeline::cuda::cublas
