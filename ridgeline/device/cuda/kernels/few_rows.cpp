#include "ridgeline/device/cuda/kernels/few_rows.h"

#include <algorithm>

#include "ridgeline/device/cuda/kernels/families.h"
#include "ridgeline/device/cuda/kernels/launches.h"
#include "ridgeline/device/cuda/kernels/rows_of_channels.h"
#include "ridgeline/device/cuda/kernels/with_type.h"

namespace ridgeline::cuda {

RIDGELINE_FEW_ROWS_KERNELS(RIDGELINE_SYMBOL)

std::span<const KernelRow* const> few_rows_rows() {
  static constexpr const KernelRow* kRows[] = {RIDGELINE_FEW_ROWS_KERNELS(RIDGELINE_ROW)};
  return kRows;
}

namespace {

constexpr i64 kMostLength = i64{1} << 30;  // of a row: turns count beyond its end

// Parts for sums of `length` products by `blocks` blocks, of which each has `width` columns: as many as give the card's
// multiprocessors a block each, but of 64 Ki weights at least. Smaller ones are read faster than parts are added.
SumParts parts_of(i64 blocks, i64 length, i64 width, i64 turn) {
  constexpr i64 kMultiprocessors = kFullCard / 8, kLeastWeights = i64{1} << 16;
  const i64 wanted = std::max<i64>(1, std::min(kMultiprocessors / blocks, length * width / kLeastWeights));
  SumParts parts;
  parts.turns = static_cast<i32>(divided_up(divided_up(length, wanted), turn));
  parts.length = static_cast<i32>(parts.turns * turn);
  parts.count = static_cast<i32>(divided_up(length, parts.length));
  return parts;
}

// The same for both types and any number of rows.
SumParts forward_parts(const FewRowsShape& s) {
  using Body = FewRows<bfloat16, 1>;
  return parts_of(divided_up(s.outputs, Body::kOutputs), s.inputs, Body::kOutputs, Body::kTurn);
}
SumParts gradient_parts(const FewRowsShape& s) {
  using Body = FewRowsGradient<bfloat16, 1>;
  return parts_of(divided_up(s.inputs, Body::kInputs), s.outputs, Body::kInputs, Body::kTurn);
}

std::size_t parts_bytes(const SumParts& parts, i64 elements) {
  return parts.count == 1 ? 0 : static_cast<std::size_t>(parts.count * elements) * sizeof(float);
}

// Rows of dy begin at 8 bytes, as they are or as a copy.
i64 dy_row(const FewRowsShape& s) { return divided_up(s.outputs, 4) * 4; }

template <class T>
Bias<T> operand_of(DType type, const void* values) {
  Bias<T> operand;
  if (type == DType::f32)
    operand.wide = in<float>(values);
  else
    operand.narrow = in<T>(values);
  return operand;
}

template <class T>
SumsResult<T> result_of(const FewRowsShape& s, const Epilogue& e, void* y) {
  SumsResult<T> result;
  result.bias = operand_of<T>(e.bias_type, e.bias);
  result.addend = operand_of<T>(s.result, e.addend);
  result.relu = e.relu;
  if (s.result == DType::f32)
    result.wide = out<float>(y);
  else
    result.narrow = out<T>(y);
  return result;
}

// give_products(result, parts), and the sum of its parts.
template <class T, class GiveProducts>
void give_in_parts(LaunchSink sink, SumParts parts, const SumsResult<T>& result, i64 rows, i64 columns, void* scratch,
                   const GiveProducts& give_products) {
  if (parts.count == 1) return give_products(result, parts);
  parts.sums = out<float>(scratch);
  give_products(SumsResult<T>(), parts);
  give<FewRowsSums<T>>(sink, {parts.sums, result, parts.count, rows * columns, Divisor(columns)});
}

void check_few_rows(const FewRowsShape& s, std::initializer_list<const void*> addresses) {
  RIDGELINE_CHECK(is_few_rows(s) && aligned_to(16, addresses),
                  "not a product of few rows, or its values are not aligned");
}

}  // namespace

bool is_few_rows(const FewRowsShape& s) {
  return (s.type == DType::bf16 || s.type == DType::f16) && (s.result == s.type || s.result == DType::f32) &&
         s.rows >= 1 && s.rows <= kMostFewRows && s.inputs >= 8 && s.inputs % 8 == 0 && s.outputs >= 1 &&
         s.inputs <= kMostLength && s.outputs <= kMostLength && s.inputs * s.outputs < kMostElements;
}

std::size_t few_rows_scratch(const FewRowsShape& s) { return parts_bytes(forward_parts(s), s.rows * s.outputs); }

void few_rows(LaunchSink sink, const FewRowsShape& s, const void* x, const void* w, const Epilogue& e, void* y,
              void* scratch) {
  check_few_rows(s, {x, w});
  const i32 rows = static_cast<i32>(s.rows), inputs = static_cast<i32>(s.inputs), outputs = static_cast<i32>(s.outputs);
  with_narrow_type(s.type, [&]<class T>(T) {
    give_in_parts(sink, forward_parts(s), result_of<T>(s, e, y), rows, outputs, scratch,
                  [&](const SumsResult<T>& result, const SumParts& parts) {
                    if (rows <= 16)
                      give<FewRows<T, 1>>(sink, {in<T>(x), in<T>(w), result, parts, rows, inputs, outputs});
                    else
                      give<FewRows<T, 2>>(sink, {in<T>(x), in<T>(w), result, parts, rows, inputs, outputs});
                  });
  });
}

std::size_t few_rows_gradient_scratch(const FewRowsShape& s) {
  const std::size_t copy = dy_row(s) == s.outputs ? 0 : static_cast<std::size_t>(s.rows * dy_row(s)) * size_of(s.type);
  return parts_bytes(gradient_parts(s), s.rows * s.inputs) + copy;
}

void few_rows_gradient(LaunchSink sink, const FewRowsShape& s, const void* dy, const void* w, void* dx, void* scratch) {
  check_few_rows(s, {dy, w, dx});
  const SumParts parts = gradient_parts(s);
  if (dy_row(s) != s.outputs) {
    void* const copy = out<char>(scratch) + parts_bytes(parts, s.rows * s.inputs);
    resize_rows(sink, s.type, dy, s.outputs, s.type, copy, dy_row(s), s.rows);
    dy = copy;
  }
  const i32 rows = static_cast<i32>(s.rows), inputs = static_cast<i32>(s.inputs), outputs = static_cast<i32>(s.outputs);
  const i32 row = static_cast<i32>(dy_row(s));
  with_narrow_type(s.type, [&]<class T>(T) {
    give_in_parts(sink, parts, result_of<T>(s, {}, dx), rows, inputs, scratch,
                  [&](const SumsResult<T>& result, const SumParts& of) {
                    if (rows <= 16)
                      give<FewRowsGradient<T, 1>>(sink, {in<T>(dy), in<T>(w), result, of, rows, inputs, outputs, row});
                    else
                      give<FewRowsGradient<T, 2>>(sink, {in<T>(dy), in<T>(w), result, of, rows, inputs, outputs, row});
                  });
  });
}

}  // namespace ridgeline::cuda
