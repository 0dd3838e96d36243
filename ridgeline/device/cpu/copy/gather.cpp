#include "ridgeline/graph/op/gather.h"

#include <cstring>

#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/common.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/device/cpu/copy/gather.cpp"
#include "ridgeline/device/cpu/simd_targets.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ridgeline/device/cpu/for_lanes-inl.h"
#include "ridgeline/device/cpu/storage-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ridgeline::device::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// to = the sum of `count` rows of n values, in their order, rounded once; a row is rows[i] * n values after `from`.
template <class Value>
void sum_named_rows(const Value* HWY_RESTRICT from, const std::int64_t* HWY_RESTRICT rows, std::int64_t count,
                    std::int64_t n, Value* HWY_RESTRICT to) {
  for_lanes(n, [&](auto d, std::int64_t c) HWY_ATTR {
    auto sum = hn::Zero(d);
    for (std::int64_t i = 0; i < count; ++i) sum = hn::Add(sum, load(d, from + rows[i] * n + c));
    store(sum, d, to + c);
  });
}
void sum_named_rows_f32(const float* from, const std::int64_t* rows, std::int64_t count, std::int64_t n, float* to) {
  sum_named_rows(from, rows, count, n, to);
}
void sum_named_rows_bf16(const bfloat16* from, const std::int64_t* rows, std::int64_t count, std::int64_t n,
                         bfloat16* to) {
  sum_named_rows(from, rows, count, n, to);
}

}  // namespace ridgeline::device::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::device {

HWY_EXPORT(sum_named_rows_f32);
HWY_EXPORT(sum_named_rows_bf16);

namespace {

void sum_named_rows_of(const float* from, const std::int64_t* rows, std::int64_t count, std::int64_t n, float* to) {
  HWY_DYNAMIC_DISPATCH(sum_named_rows_f32)(from, rows, count, n, to);
}
void sum_named_rows_of(const bfloat16* from, const std::int64_t* rows, std::int64_t count, std::int64_t n,
                       bfloat16* to) {
  HWY_DYNAMIC_DISPATCH(sum_named_rows_bf16)(from, rows, count, n, to);
}

std::int64_t row_grain(std::int64_t bytes) {
  return std::max<std::int64_t>(1, 64 * 1024 / std::max<std::int64_t>(1, bytes));
}

// The positions of each row's indices, grouped by row: those of row r are places[starts[r]] to places[starts[r + 1]].
void sort_by_row(const std::int32_t* indices, const GatherForm& form, std::int64_t* starts, std::int64_t* places) {
  std::fill(starts, starts + form.rows + 1, 0);
  for (std::int64_t i = 0; i < form.count; ++i) ++starts[indices[i] + 1];
  for (std::int64_t r = 0; r < form.rows; ++r) starts[r + 1] += starts[r];
  for (std::int64_t i = 0; i < form.count; ++i) places[starts[indices[i]]++] = i;
  for (std::int64_t r = form.rows; r > 0; --r) starts[r] = starts[r - 1];
  starts[0] = 0;
}

}  // namespace

KernelChoice make_own_gather(const KernelRequest& request) {
  const GatherForm form =
      gather_form(request.inputs[0].type.shape, request.inputs[1].type.shape, request.node.attributes.integer("axis"));
  const auto bytes = form.inner * static_cast<std::int64_t>(size_of(request.inputs[0].type.dtype));
  return make_body_kernel("own gather", [form, bytes](const KernelArguments& a) {
    const auto* indices = input<std::int32_t>(a, 1);
    check_indices("gather", indices, form);
    if (bytes == 0) return;
    parallel_for(form.outer * form.count, row_grain(bytes), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t at = begin; at < end; ++at) {
        const std::int64_t row = at / form.count * form.rows + indices[at % form.count];
        std::memcpy(output<char>(a, 0) + at * bytes, input<const char>(a, 0) + row * bytes,
                    static_cast<std::size_t>(bytes));
      }
    });
  });
}

KernelChoice make_own_gather_bwd(const KernelRequest& request) {
  const ValueType& table = request.outputs[0].type;
  const GatherForm form =
      gather_form(table.shape, request.inputs[1].type.shape, request.node.attributes.integer("axis"));
  auto kernel = make_body_kernel(own_name("gather_bwd"), [form, dtype = table.dtype](const KernelArguments& a) {
    const auto* indices = input<std::int32_t>(a, 1);
    check_indices("gather_bwd", indices, form);
    auto* const starts = static_cast<std::int64_t*>(a.scratch);
    auto* const places = starts + form.rows + 1;
    sort_by_row(indices, form, starts, places);
    with_type(dtype, [&](auto value) {
      using Value = decltype(value);
      const auto bytes = form.inner * static_cast<std::int64_t>(sizeof(Value));
      parallel_for(form.outer * form.rows, row_grain(bytes), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t at = begin; at < end; ++at) {
          const std::int64_t row = at % form.rows;
          sum_named_rows_of(input<const Value>(a, 0) + at / form.rows * form.count * form.inner, places + starts[row],
                            starts[row + 1] - starts[row], form.inner, output<Value>(a, 0) + at * form.inner);
        }
      });
    });
  });
  kernel->scratch_bytes = static_cast<std::size_t>(form.rows + 1 + form.count) * sizeof(std::int64_t);
  return kernel;
}

}  // namespace ridgeline::device
#endif  // HWY_ONCE
