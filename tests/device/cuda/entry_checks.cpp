#include "tests/device/cuda/entry_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/device/cuda/node_problem.h"
#include "tests/graph/op_rows.h"

namespace ridgeline::cuda::testing {
namespace {

// Of the largest element of the result.
double tolerance_of(DType type) { return type == DType::f32 ? 2e-5 : type == DType::bf16 ? 2e-2 : 3e-3; }

// "" where each element is near the reference's, else the first that is not.
std::string far_from(const Tensor& got, const Tensor& expected, double tolerance) {
  double largest = 1e-6;
  for (std::int64_t i = 0; i < expected.elements(); ++i) largest = std::max(largest, std::abs(expected.at(i)));
  for (std::int64_t i = 0; i < got.elements(); ++i) {
    const double distance = std::abs(got.at(i) - expected.at(i));
    if (distance <= tolerance * largest || (std::isnan(got.at(i)) && std::isnan(expected.at(i)))) continue;
    return fmt::format("element {} is {}, expected {}", i, got.at(i), expected.at(i));
  }
  return "";
}

bool equal_bits(const Tensor& a, const Tensor& b) { return std::memcmp(a.raw(), b.raw(), a.byte_size()) == 0; }

std::vector<Tensor> operands_of(const test::OpRow& row, DType type) {
  std::vector<Tensor> operands;
  for (const test::OperandSpec& spec : row.operands) {
    const Tensor made = test::make_operand(spec, DType::f32, operands.size());
    Tensor t(made.dtype() == DType::f32 ? type : made.dtype(), made.shape());
    for (std::int64_t i = 0; i < t.elements(); ++i) t.set(i, made.at(i));
    operands.push_back(std::move(t));
  }
  return operands;
}

// The rows of the op table, and cases that entries take which refuse those.
std::vector<test::OpRow> rows_for_entries() {
  std::vector<test::OpRow> rows = test::op_rows();
  const std::vector<std::int64_t> pad = {1, 1, 1, 1};
  rows.push_back({.op = "conv2d",
                  .operands = {{{2, 5, 6, 8}}, {{8, 3, 3, 1}}},
                  .attributes = {{"pad", pad}, {"groups", std::int64_t{8}}}});
  rows.push_back(
      {.op = "conv2d_bwd_data",
       .operands = {{{2, 5, 6, 8}}, {{8, 3, 3, 1}}},
       .attributes = {{"pad", pad}, {"groups", std::int64_t{8}}, {"input", std::vector<std::int64_t>{2, 5, 6, 8}}}});
  rows.push_back(
      {.op = "conv2d_bwd_weights",
       .operands = {{{2, 5, 6, 8}}, {{2, 5, 6, 8}}},
       .attributes = {{"pad", pad}, {"groups", std::int64_t{8}}, {"kernel", std::vector<std::int64_t>{3, 3}}}});
  // Depthwise with results of a type that its kernels do not keep.
  rows.push_back({.op = "conv2d",
                  .operands = {{{2, 5, 6, 8}}, {{8, 3, 3, 1}}},
                  .attributes = {{"pad", pad}, {"groups", std::int64_t{8}}, {"f32_results", true}}});
  rows.push_back({.op = "conv2d_bwd_weights",
                  .operands = {{{2, 5, 6, 8}}, {{2, 5, 6, 8}}},
                  .attributes = {{"pad", pad},
                                 {"groups", std::int64_t{8}},
                                 {"kernel", std::vector<std::int64_t>{3, 3}},
                                 {"f32_results", true}}});
  // First layers, by tensor cores.
  rows.push_back({.op = "conv2d",
                  .operands = {{{2, 9, 20, 3}}, {{24, 5, 5, 3}}, {{24}}},
                  .attributes = {{"pad", std::vector<std::int64_t>{2, 2, 2, 2}},
                                 {"stride", std::vector<std::int64_t>{2, 2}},
                                 {"activation", std::string("relu")}}});
  for (const bool f32_results : {false, true}) {
    rows.push_back({.op = "conv2d_bwd_weights",
                    .operands = {{{2, 9, 20, 3}}, {{2, 5, 10, 24}}},
                    .attributes = {{"pad", std::vector<std::int64_t>{2, 2, 2, 2}},
                                   {"stride", std::vector<std::int64_t>{2, 2}},
                                   {"kernel", std::vector<std::int64_t>{5, 5}},
                                   {"bias", true},
                                   {"f32_results", f32_results}}});
  }
  // Dense layers of few rows, by tensor cores.
  rows.push_back({.op = "dense",
                  .operands = {{{3, 4104}}, {{260, 4104}}, {{260}}, {{3, 260}}},
                  .attributes = {{"activation", std::string("relu")}}});
  rows.push_back({.op = "dense", .operands = {{{20, 1032}}, {{1018, 1032}}}, .attributes = {{"f32_results", true}}});
  for (const bool f32_results : {false, true}) {
    rows.push_back({.op = "dense_bwd_data",
                    .operands = {{{3, 4110}}, {{4110, 264}}},
                    .attributes = {{"f32_results", f32_results}}});
  }
  rows.push_back({.op = "strided_slice_bwd",
                  .operands = {{{2, 3, 2, 5}}},
                  .attributes = {{"start", std::vector<std::int64_t>{0, 0, 0, 1}},
                                 {"stride", std::vector<std::int64_t>{1, 2, 3, 1}},
                                 {"input", std::vector<std::int64_t>{2, 6, 6, 8}}}});
  rows.push_back({.op = "cast", .operands = {{{3, 40}}}, .attributes = {{"to", DType::bf16}}});
  // Updates that compute their gradient from operands of 16 bits.
  for (const DType type : {DType::bf16, DType::f16}) {
    const auto whole = [&](Shape shape) { return test::OperandSpec{std::move(shape), test::Fill::integers, type, 5}; };
    for (const bool more : {false, true}) {
      const std::string rule = "x0 - x3 * (0.5 * x1 + x2); 0.5 * x1 + x2";
      rows.push_back(
          {.op = "dense_update",
           .operands = {{{70, 130}}, {{70, 130}}, whole({37, 130}), whole({37, 70}), {{}}},
           .attributes = {{"states", std::int64_t{2}},
                          {"expression",
                           rule + (more ? "; x0 - x3 * (0.5 * x1 + x2) : " + std::string(name_of(type)) : "")},
                          {"bias", more},
                          {"squares", more}},
           .f32_only = true});
    }
  }
  // Copies by several elements at once.
  using Integers = std::vector<std::int64_t>;
  const Attributes halved{{"start", Integers{0, 0, 0, 0}}, {"stride", Integers{1, 2, 2, 1}}};
  Attributes part = halved, back = halved;
  part.set("size", Integers{3, 4, 5, 16});
  back.set("input", Integers{3, 8, 10, 16});
  rows.push_back({.op = "strided_slice", .operands = {{{3, 8, 10, 16}}}, .attributes = part});
  rows.push_back({.op = "strided_slice_bwd", .operands = {{{3, 4, 5, 16}}}, .attributes = back});
  for (const std::int64_t by : {8, -8}) {
    rows.push_back({.op = "pad",
                    .operands = {{{3, 4, 5, 32}}},
                    .attributes = {{"low", Integers{0, 0, 0, by}}, {"high", Integers{0, 0, 0, by}}, {"value", 0.25}}});
  }
  rows.push_back(
      {.op = "transpose", .operands = {{{2, 5, 3, 4, 8}}}, .attributes = {{"permutation", Integers{2, 0, 3, 1, 4}}}});
  rows.push_back({.op = "concat", .operands = {{{3, 5, 16}}, {{3, 5, 24}}}, .attributes = {{"axis", std::int64_t{2}}}});
  rows.push_back({.op = "split",
                  .operands = {{{3, 5, 40}}},
                  .attributes = {{"axis", std::int64_t{-1}}, {"sizes", Integers{16, 24}}}});
  rows.push_back({.op = "gather", .operands = {{{7, 16}}, {{4}, test::Fill::integers, DType::i32, 7}}});
  return rows;
}

// What is wrong with the results of one kernel; "" where nothing is.
std::string wrong_with(CudaDevice& device, Kernel& kernel, const NodeProblem& problem,
                       const std::vector<Tensor>& expected, DType type) {
  const std::vector<Tensor> got = run_on_device(device, kernel, problem, false);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::string far = far_from(got[i], expected[i], tolerance_of(type));
    if (!far.empty()) return fmt::format("result {}: {}", i, far);
  }
  const std::vector<Tensor> replayed = run_on_device(device, kernel, problem, true);
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (!equal_bits(got[i], replayed[i])) return fmt::format("result {}: other bits as a recording", i);
  }
  return "";
}

}  // namespace

EntryChecks check_entries(CudaDevice& device) {
  EntryChecks checks;
  for (const test::OpRow& row : rows_for_entries()) {
    const std::vector<KernelEntry> entries = device.kernels(row.op);
    for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
      if (entries.empty() || (row.f32_only && type != DType::f32)) continue;
      const NodeProblem problem(row.op, operands_of(row, type), row.attributes);
      const std::vector<Tensor> expected = problem.reference();
      for (const KernelEntry& entry : entries) {
        KernelChoice choice = entry.make(problem.request(device));
        if (std::holds_alternative<Refusal>(choice)) continue;
        Kernel& kernel = *std::get<std::unique_ptr<Kernel>>(choice);
        checks.ran.insert(row.op + " " + std::string(entry.name));
        const std::string wrong = wrong_with(device, kernel, problem, expected, type);
        if (!wrong.empty())
          checks.wrong.push_back(fmt::format("{} by {} in {}, {}", row.op, kernel.name, name_of(type), wrong));
      }
    }
  }
  return checks;
}

}  // namespace ridgeline::cuda::testing
