#include "ridgeline/device/cpu/dense/products.h"

#include <algorithm>

#include "ridgeline/device/cpu/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/device/cpu/dense/products.cpp"
#include "ridgeline/device/cpu/simd_targets.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "hwy/cache_control.h"
#include "ridgeline/device/cpu/own/for_lanes-inl.h"
#include "ridgeline/device/cpu/winograd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ridgeline::device::dense::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET <= HWY_AVX2

using device::HWY_NAMESPACE::for_lanes;
using winograd::HWY_NAMESPACE::kBlockVectors;
using winograd::HWY_NAMESPACE::kLanes;
using winograd::HWY_NAMESPACE::Tag;
using winograd::HWY_NAMESPACE::unroll;
using winograd::HWY_NAMESPACE::Vector;

constexpr std::int64_t kGroup = 4;  // steps of depth
constexpr std::int64_t kLine = 16;
constexpr std::int64_t kRowsAhead = 8;  // that turning asks for: rows lie too far apart for the processor to guess

HWY_NOINLINE void ask(Ahead& ahead) {
  for (ahead.due += ahead.pace; ahead.due >= Ahead::kWhole; ahead.due -= Ahead::kWhole) {
    if (ahead.left == 0) {
      if (ahead.rows == 0) {
        ahead.pace = ahead.due = 0;
        return;
      }
      ahead.at = *ahead.row++;
      ahead.left = ahead.lines;
      --ahead.rows;
    }
    __builtin_prefetch(ahead.at, 0, 2);
    ahead.at += kLine;
    --ahead.left;
  }
}

// Rows x Vectors accumulators. They are added to c at the end and do not start from it: one rounding against the
// running sum for the whole depth.
template <int Rows, int Vectors>
void multiply_block(const Product& p, const float* HWY_RESTRICT a, float* c, Ahead& ahead) {
  constexpr int kPitch = Vectors * kLanes;
  const Tag d;
  Vector sum[Rows][Vectors];
  unroll<Rows>([&](auto r)
                   RIDGELINE_INLINE { unroll<Vectors>([&](auto v) RIDGELINE_INLINE { sum[r][v] = hn::Zero(d); }); });
  const float* HWY_RESTRICT b = p.b;
  const std::int64_t a_row = p.a_row;
  const auto step = [&](const float* values, const float* panel) RIDGELINE_INLINE {
    Vector columns[Vectors];
    unroll<Vectors>([&](auto v) RIDGELINE_INLINE { columns[v] = hn::LoadU(d, panel + v * kLanes); });
    unroll<Rows>([&](auto r) RIDGELINE_INLINE {
      const Vector factor = hn::Set(d, values[r * a_row]);
      unroll<Vectors>([&](auto v) RIDGELINE_INLINE { sum[r][v] = hn::MulAdd(factor, columns[v], sum[r][v]); });
    });
  };
  for (std::int64_t k = p.depth; k > 0;) {
    if (ahead.pace > 0) ask(ahead);
    const std::int64_t end = std::max<std::int64_t>(0, k - kGroup);
    for (; k > end; --k) {
      step(a, b);
      ++a;
      b += kPitch;
    }
  }
  unroll<Rows>([&](auto r) RIDGELINE_INLINE {
    unroll<Vectors>([&](auto v) RIDGELINE_INLINE {
      float* const at = c + r * p.c_row + v * kLanes;
      hn::StoreU(p.add ? hn::Add(sum[r][v], hn::LoadU(d, at)) : sum[r][v], d, at);
    });
  });
}

template <int Vectors>
void multiply_rows(const Product& p, Ahead& ahead) {
  std::int64_t rows = p.rows;
  const float* a = p.a;
  float* c = p.c;
  for (; rows >= kBlockRows; rows -= kBlockRows) {
    multiply_block<kBlockRows, Vectors>(p, a, c, ahead);
    a += kBlockRows * p.a_row;
    c += kBlockRows * p.c_row;
  }
  unroll<kBlockRows - 1>([&](auto r) RIDGELINE_INLINE {
    if (rows == r + 1) multiply_block<r + 1, Vectors>(p, a, c, ahead);
  });
}

void multiply(const Product& p, Ahead& ahead) {
  const auto vectors = static_cast<int>((p.columns + kLanes - 1) / kLanes);
  unroll<kBlockVectors>([&](auto v) RIDGELINE_INLINE {
    if (vectors == v + 1) multiply_rows<v + 1>(p, ahead);
  });
}

void copy(const float* from, std::int64_t from_step, std::int64_t rows, std::int64_t columns, float* to,
          std::int64_t to_step) {
  const Tag d;
  const std::int64_t whole = columns / kLanes * kLanes;
  for (std::int64_t i = 0; i < rows; ++i, from += from_step, to += to_step) {
    for (std::int64_t j = 0; j < whole; j += kLanes) hn::StoreU(hn::LoadU(d, from + j), d, to + j);
    if (whole == columns) continue;
    hn::StoreU(hn::Zero(d), d, to + whole);
    std::copy(from + whole, from + columns, to + whole);
  }
}

void transpose(const float* from, std::int64_t from_step, std::int64_t rows, std::int64_t columns, float* to,
               std::int64_t to_step) {
  const hn::FixedTag<float, 4> d;
  const hn::FixedTag<std::uint64_t, 2> pairs;
  const auto low = [&](auto x, auto y) HWY_ATTR {
    return hn::BitCast(d, hn::InterleaveLower(pairs, hn::BitCast(pairs, x), hn::BitCast(pairs, y)));
  };
  const auto high = [&](auto x, auto y) HWY_ATTR {
    return hn::BitCast(d, hn::InterleaveUpper(pairs, hn::BitCast(pairs, x), hn::BitCast(pairs, y)));
  };
  const std::int64_t whole_rows = rows / 4 * 4, whole_columns = columns / 4 * 4;
  for (std::int64_t i = 0; i < whole_rows; i += 4) {
    for (std::int64_t j = 0; j < whole_columns; j += 4) {
      const float* const at = from + i * from_step + j;
      if (j % kLine == 0) {
        for (std::int64_t row = 0; row < 4; ++row) __builtin_prefetch(at + (kRowsAhead + row) * from_step);
      }
      const auto a = hn::LoadU(d, at), b = hn::LoadU(d, at + from_step), e = hn::LoadU(d, at + 2 * from_step),
                 f = hn::LoadU(d, at + 3 * from_step);
      const auto ab = hn::InterleaveLower(d, a, b), ab2 = hn::InterleaveUpper(d, a, b);
      const auto ef = hn::InterleaveLower(d, e, f), ef2 = hn::InterleaveUpper(d, e, f);
      float* const out = to + j * to_step + i;
      hn::StoreU(low(ab, ef), d, out);
      hn::StoreU(high(ab, ef), d, out + to_step);
      hn::StoreU(low(ab2, ef2), d, out + 2 * to_step);
      hn::StoreU(high(ab2, ef2), d, out + 3 * to_step);
    }
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = i < whole_rows ? whole_columns : 0; j < columns; ++j)
      to[j * to_step + i] = from[i * from_step + j];
  }
}

void finish(const float* sums, const Ending& ending, std::int64_t n, float* y) {
  for_lanes(n, [&](auto d, std::int64_t i) HWY_ATTR {
    auto v = hn::LoadU(d, sums + i);
    if (ending.bias != nullptr) v = hn::Add(v, hn::LoadU(d, ending.bias + i));
    if (ending.addend != nullptr) v = hn::Add(v, hn::LoadU(d, ending.addend + i));
    if (ending.relu) v = hn::IfThenElseZero(hn::Or(hn::Gt(v, hn::Zero(d)), hn::IsNaN(v)), v);  // NaN stays
    hn::StoreU(v, d, y + i);
  });
}

void stream(const float* from, std::int64_t n, float* to) {
  const Tag d;
  std::int64_t i = 0;
  if (reinterpret_cast<std::uintptr_t>(to) % 64 == 0) {
    for (; i + kLine <= n; i += kLine) {
      for (std::int64_t j = 0; j < kLine; j += kLanes) hn::Stream(hn::LoadU(d, from + i + j), d, to + i + j);
    }
  }
  std::copy(from + i, from + n, to + i);
}

const ProductCode kCode = {kLanes, kLanes* kBlockVectors, multiply, copy, transpose, finish, stream};

const ProductCode* find_code() { return &kCode; }

#else  // below AVX2 no kernel is made (see isa.h), so none is compiled

const ProductCode* find_code() { return nullptr; }

#endif

}  // namespace ridgeline::device::dense::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::device::dense {

HWY_EXPORT(find_code);

void Ahead::start(const float* const* first, std::int64_t count, std::int64_t floats, std::int64_t blocks,
                  std::int64_t depth) {
  *this = {};
  const std::int64_t times = blocks * (depth / 4);
  if (count == 0 || times == 0) return;
  row = first;
  rows = count;
  lines = (floats + 15) / 16;
  pace = (rows * lines * kWhole + times - 1) / times;
}

const ProductCode& product_code() {
  active_isa();
  return *HWY_DYNAMIC_DISPATCH(find_code)();
}

}  // namespace ridgeline::device::dense
#endif  // HWY_ONCE
