#include "ridgeline/device/cpu/products/products.h"

#include <algorithm>

#include "ridgeline/device/cpu/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/device/cpu/products/products.cpp"
#include "ridgeline/device/cpu/simd_targets.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "hwy/cache_control.h"
#include "ridgeline/device/cpu/for_lanes-inl.h"
#include "ridgeline/device/cpu/products/vectors-inl.h"
#include "ridgeline/device/cpu/storage-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ridgeline::device::products::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

namespace storage = device::HWY_NAMESPACE;
using storage::for_lanes;

constexpr std::int64_t kGroup = 4;  // steps of depth
constexpr std::int64_t kLine = 16;
constexpr std::int64_t kRowsAhead = 8;  // that turning asks for: rows lie too far apart for the processor to guess

// A block of rows in one step of depth.
struct Block {
  std::int64_t depth;
  const float* a;
  const float* b;
  float* c;
  const float* from;
  Ahead::Share ahead{};
};

// Rows x Vectors accumulators. They are added to `from` at the end and do not start from it: one rounding against the
// running sum for the whole depth. Every four steps prefetch `Ask` lines. Unrolled steps and a constant width of full
// panels save a tenth of the time.
template <int Rows, int Vectors, int Ask, bool List>
void multiply_block(const Product& p, const Block& block) {
  const Tag d;
  Vector sum[Rows][Vectors];
  unroll<Rows>([&](auto r)
                   RIDGELINE_INLINE { unroll<Vectors>([&](auto v) RIDGELINE_INLINE { sum[r][v] = hn::Zero(d); }); });
  const float* HWY_RESTRICT a = block.a;
  const float* HWY_RESTRICT b = block.b;
  const std::int64_t a_row = p.a_row, a_step = p.a_step, b_step = Vectors == kBlockVectors ? kPanel : p.b_step;
  const auto step = [&]() RIDGELINE_INLINE {
    Vector columns[Vectors];
    unroll<Vectors>([&](auto v) RIDGELINE_INLINE { columns[v] = hn::LoadU(d, b + v * kLanes); });
    unroll<Rows>([&](auto r) RIDGELINE_INLINE {
      const Vector factor = hn::Set(d, a[r * a_row]);
      unroll<Vectors>([&](auto v) RIDGELINE_INLINE { sum[r][v] = hn::MulAdd(factor, columns[v], sum[r][v]); });
    });
    a += a_step;
    b += b_step;
  };
  std::int64_t k = block.depth;
  if constexpr (Ask > 0) {
    const char* ahead = block.ahead.first;
    const char* const* list = block.ahead.list;
    for (; k >= kGroup; k -= kGroup) {
      unroll<kGroup>([&](auto i) RIDGELINE_INLINE {
        if constexpr (i % (kGroup / Ask) == 0) {
          __builtin_prefetch(List ? *list++ : ahead, 0, 2);
          ahead += kLineBytes;
        }
        step();
      });
    }
  }
  for (; k > 0; --k) step();

  const auto store = [&](auto add, auto stream) RIDGELINE_INLINE {
    unroll<Rows>([&](auto r) RIDGELINE_INLINE {
      unroll<Vectors>([&](auto v) RIDGELINE_INLINE {
        Vector value = sum[r][v];
        if constexpr (add) value = hn::Add(value, hn::LoadU(d, block.from + r * p.from_row + v * kLanes));
        float* const to = block.c + r * p.c_row + v * kLanes;
        if constexpr (stream)
          hn::Stream(value, d, to);
        else
          hn::StoreU(value, d, to);
      });
    });
  };
  using Yes = std::true_type;
  using No = std::false_type;
  if (block.from != nullptr)
    p.stream ? store(Yes(), Yes()) : store(Yes(), No());
  else
    p.stream ? store(No(), Yes()) : store(No(), No());
}

template <int Vectors>
void multiply_rows(const Product& p, Block block, Ahead& ahead) {
  const char* list[Ahead::kMost];
  const std::int64_t a_block = p.a_block > 0 ? p.a_block : kBlockRows * p.a_row;
  std::int64_t rows = p.rows;
  for (; rows >= kBlockRows; rows -= kBlockRows) {
    block.ahead = ahead.next(block.depth / kGroup, list);
    switch (block.ahead.list == nullptr ? block.ahead.lines : -block.ahead.lines) {
      case 0: multiply_block<kBlockRows, Vectors, 0, false>(p, block); break;
      case 1: multiply_block<kBlockRows, Vectors, 1, false>(p, block); break;
      case 2: multiply_block<kBlockRows, Vectors, 2, false>(p, block); break;
      case 4: multiply_block<kBlockRows, Vectors, 4, false>(p, block); break;
      case -1: multiply_block<kBlockRows, Vectors, 1, true>(p, block); break;
      case -2: multiply_block<kBlockRows, Vectors, 2, true>(p, block); break;
      default: multiply_block<kBlockRows, Vectors, 4, true>(p, block);
    }
    block.a += a_block;
    block.c += kBlockRows * p.c_row;
    if (block.from != nullptr) block.from += kBlockRows * p.from_row;
  }
  unroll<kBlockRows - 1>([&](auto r) RIDGELINE_INLINE {
    if (rows == r + 1) multiply_block<r + 1, Vectors, 0, false>(p, block);
  });
}

void multiply(const Product& p, Ahead& ahead) {
  const auto vectors = static_cast<int>((p.columns + kLanes - 1) / kLanes);
  Product step = p;
  for (std::int64_t k = 0; k < p.depth; k += p.depth_step) {
    const std::int64_t depth = std::min(p.depth_step, p.depth - k);
    const Block block{depth, p.a + k * p.a_step, p.b + k * p.b_step, p.c, step.from, {}};
    unroll<kBlockVectors>([&](auto v) RIDGELINE_INLINE {
      if (vectors == v + 1) multiply_rows<v + 1>(step, block, ahead);
    });
    step.from = p.c;
    step.from_row = p.c_row;
  }
}

// The last vector of a row overlaps the one before; rows shorter than a vector use shorter ones.
template <class Value>
HWY_INLINE void copy_row(const Value* from, std::int64_t columns, float* to) {
  const auto vectors = [&](auto d) RIDGELINE_INLINE {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const std::int64_t last = columns - lanes;
    for (std::int64_t j = 0; j < last; j += lanes) hn::StoreU(storage::load(d, from + j), d, to + j);
    hn::StoreU(storage::load(d, from + last), d, to + last);
  };
  if (columns >= kLanes) return vectors(Tag());
  if (columns >= 8) return vectors(hn::CappedTag<float, 8>());
  if (columns >= 4) return vectors(hn::FixedTag<float, 4>());
  vectors(hn::FixedTag<float, 1>());
}

template <class Value>
void copy(const Value* from, std::int64_t from_step, std::int64_t rows, std::int64_t columns, float* to,
          std::int64_t to_step) {
  for (std::int64_t i = 0; i < rows; ++i, from += from_step, to += to_step) copy_row(from, columns, to);
}

template <class Value>
void transpose(const Value* from, std::int64_t from_step, std::int64_t rows, std::int64_t columns, float* to,
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
      const Value* const at = from + i * from_step + j;
      if (j % kLine == 0) {
        for (std::int64_t row = 0; row < 4; ++row) __builtin_prefetch(at + (kRowsAhead + row) * from_step);
      }
      const auto a = storage::load(d, at), b = storage::load(d, at + from_step),
                 e = storage::load(d, at + 2 * from_step), f = storage::load(d, at + 3 * from_step);
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
      copy_row(from + i * from_step + j, 1, to + j * to_step + i);
  }
}

template <class Value>
void finish(const float* sums, const Ending<Value>& ending, std::int64_t n, Value* y) {
  for_lanes(n, [&](auto d, std::int64_t i) HWY_ATTR {
    auto v = hn::LoadU(d, sums + i);
    if (ending.bias != nullptr) v = hn::Add(v, hn::LoadU(d, ending.bias + i));
    if (ending.addend != nullptr) v = hn::Add(v, storage::load(d, ending.addend + i));
    if (ending.relu) v = hn::IfThenElseZero(hn::Or(hn::Gt(v, hn::Zero(d)), hn::IsNaN(v)), v);  // NaN stays
    storage::store(v, d, y + i);
  });
}

// A vector of either type, from the address of its values in f32.
HWY_INLINE void stream_vector(const float* from, float* to) { hn::Stream(hn::LoadU(Tag(), from), Tag(), to); }
HWY_INLINE void stream_vector(const float* from, bfloat16* to) {
  storage::stream_both(hn::LoadU(Tag(), from), hn::LoadU(Tag(), from + kLanes), Tag(), to);
}

template <class Value>
void stream(const float* from, std::int64_t n, Value* to) {
  constexpr std::int64_t kOfLine = kLineBytes / sizeof(Value);
  constexpr std::int64_t kOfVector = kLanes * sizeof(float) / sizeof(Value);
  std::int64_t i = 0;
  if (reinterpret_cast<std::uintptr_t>(to) % kLineBytes == 0) {
    for (; i + kOfLine <= n; i += kOfLine) {
      for (std::int64_t j = 0; j < kOfLine; j += kOfVector) stream_vector(from + i + j, to + i + j);
    }
  }
  finish<Value>(from + i, {}, n - i, to + i);
}

void zero(void* to, std::int64_t bytes) {
  const Tag d;
  auto* at = static_cast<char*>(to);
  char* const end = at + bytes;
  char* const lines = at + (64 - reinterpret_cast<std::uintptr_t>(at) % 64) % 64;
  if (lines >= end) {
    std::fill(at, end, 0);
    return;
  }
  std::fill(at, lines, 0);
  for (at = lines; at + 64 <= end; at += 64) {
    for (std::int64_t j = 0; j < kLine; j += kLanes) hn::Stream(hn::Zero(d), d, reinterpret_cast<float*>(at) + j);
  }
  std::fill(at, end, 0);
}

template <class Value>
void slice(const Value* from, std::int64_t n, float* to, std::int64_t slice) {
  constexpr std::int64_t kStored = 8;  // more than a block has: the next one overwrites what is beyond it
  const hn::CappedTag<float, kStored> d;
  std::int64_t j = 0;
  for (; j + kStored <= n; j += kBlockRows, to += slice) {
    for (std::int64_t i = 0; i < kStored; i += static_cast<std::int64_t>(hn::Lanes(d)))
      hn::StoreU(storage::load(d, from + j + i), d, to + i);
  }
  for (; j < n; j += kBlockRows, to += slice) copy_row(from + j, std::min<std::int64_t>(n - j, kBlockRows), to);
}

template <class Value>
constexpr Moves<Value> kMoves = {copy<Value>, transpose<Value>, slice<Value>, finish<Value>, stream<Value>};

const ProductCode kCode = {{kMoves<float>}, kMoves<bfloat16>, kLanes, kLanes* kBlockVectors, multiply, zero};

const ProductCode* find_code() { return &kCode; }

#else  // below AVX2 and NEON no kernel is made (isa.h), so none is compiled

const ProductCode* find_code() { return nullptr; }

#endif

}  // namespace ridgeline::device::products::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::device::products {

HWY_EXPORT(find_code);

Ahead::Ahead(std::span<const Lines> pieces, std::int64_t fours) : pieces_(pieces) {
  for (const Lines& piece : pieces) left_ += piece.count;
  if (fours > 0) pace_ = left_ * 2 * kHalf / fours;
}

Ahead::Share Ahead::listed(int each, std::int64_t count, const char** list) {
  for (std::int64_t i = 0; i < count;) {
    while (left_of_piece_ == 0 && left_ > 0) {
      at_ = pieces_.front().begin;
      left_of_piece_ = pieces_.front().count;
      pieces_ = pieces_.subspan(1);
    }
    if (left_ == 0) {  // the last line again
      std::fill(list + i, list + count, at_ - kLineBytes);
      break;
    }
    const std::int64_t run = std::min(left_of_piece_, count - i);
    for (std::int64_t line = 0; line < run; ++line) list[i + line] = at_ + line * kLineBytes;
    at_ += run * kLineBytes;
    left_of_piece_ -= run;
    left_ -= run;
    i += run;
  }
  return {each, nullptr, list};
}

const ProductCode& product_code() {
  active_isa();
  return *HWY_DYNAMIC_DISPATCH(find_code)();
}

}  // namespace ridgeline::device::products
#endif  // HWY_ONCE
