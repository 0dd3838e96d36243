#include "ridgeline/device/cpu/sum/column_sums.h"

#include <algorithm>

#include "ridgeline/core/dtype.h"
#include "ridgeline/core/threads.h"

namespace ridgeline::device {

namespace {

double summand(float value) { return static_cast<double>(value); }
double summand(bfloat16 value) { return static_cast<double>(to_float(value)); }

}  // namespace

template <class Value>
void sum_columns(const Value* from, std::int64_t step, std::int64_t rows, std::int64_t columns, float* to) {
  constexpr std::int64_t kColumns = 16;
  constexpr std::int64_t kLeast = 1 << 13;  // values that are worth a thread
  const std::int64_t grain = std::max(kColumns, kLeast / rows / kColumns * kColumns);
  parallel_for(columns, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t j = begin; j < end; j += kColumns) {
      const std::int64_t count = std::min(kColumns, end - j);
      double sums[kColumns] = {};
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t l = 0; l < count; ++l) sums[l] += summand(from[i * step + j + l]);
      }
      std::transform(sums, sums + count, to + j, [](double sum) { return static_cast<float>(sum); });
    }
  });
}

template void sum_columns(const float*, std::int64_t, std::int64_t, std::int64_t, float*);
template void sum_columns(const bfloat16*, std::int64_t, std::int64_t, std::int64_t, float*);

}  // namespace ridgeline::device
