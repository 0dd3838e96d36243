#include "ridgeline/device/cuda/kernels/copies.h"

#include <algorithm>
#include <vector>

#include "ridgeline/device/cuda/kernels/families.h"
#include "ridgeline/device/cuda/kernels/launches.h"
#include "ridgeline/device/cuda/kernels/with_type.h"
#include "ridgeline/device/cuda/kernels/with_word.h"

namespace ridgeline::cuda {

RIDGELINE_COPIES_KERNELS(RIDGELINE_SYMBOL)

std::span<const KernelRow* const> copies_rows() {
  static constexpr const KernelRow* kRows[] = {RIDGELINE_COPIES_KERNELS(RIDGELINE_ROW)};
  return kRows;
}

namespace {

// Whether an index of the axis is a position in `from`, all of which are there.
bool takes_all(const CopyAxis& axis) {
  return axis.first == 0 && axis.step == 1 && axis.every == 1 && axis.from_extent == axis.extent;
}

// The same copy with fewer axes: those of one element are left out, and where an axis takes all of `from` and is
// contiguous with the one around it on both sides, they are merged.
std::vector<CopyAxis> merged(std::span<const CopyAxis> axes) {
  std::vector<CopyAxis> few;
  for (const CopyAxis& axis : axes) {
    if (axis.extent == 1 && axis.first == 0 && axis.from_extent >= 1) continue;
    if (!few.empty()) {
      CopyAxis& around = few.back();
      if (takes_all(axis) && around.step == 1 && around.every == 1 &&
          around.to_stride == axis.extent * axis.to_stride && around.from_stride == axis.extent * axis.from_stride) {
        around = {.extent = around.extent * axis.extent,
                  .to_stride = axis.to_stride,
                  .first = around.first * axis.extent,
                  .from_extent = around.from_extent * axis.extent,
                  .from_stride = axis.from_stride};
        continue;
      }
    }
    few.push_back(axis);
  }
  return few;
}

// How many neighbouring elements one access may move: all strides, borders and addresses are multiples of it.
std::size_t width_of(std::span<const CopyAxis> axes, std::size_t element_bytes, const void* from, const void* to) {
  if (axes.empty()) return 1;
  const CopyAxis& inner = axes.back();
  if (inner.to_stride != 1 || inner.from_stride != 1 || inner.step != 1 || inner.every != 1) return 1;
  std::size_t width = 1;
  const auto fits = [&](std::size_t wanted) {
    const auto w = static_cast<std::int64_t>(wanted);
    if (inner.extent % w != 0 || inner.first % w != 0 || inner.from_extent % w != 0) return false;
    for (const CopyAxis& axis : axes.first(axes.size() - 1)) {
      if (axis.to_stride % w != 0 || axis.from_stride % w != 0) return false;
    }
    return aligned_to(wanted * element_bytes, {from, to});
  };
  while (2 * width * element_bytes <= sizeof(Quad) && fits(2 * width)) width *= 2;
  return width;
}

template <class Word, bool kSpread>
void give_copy(LaunchSink sink, const void* from, void* to, std::span<const CopyAxis> axes, u64 outside) {
  typename StridedCopy<Word, kSpread>::Parameters p{};
  p.from = in<Word>(from);
  p.to = out<Word>(to);
  p.elements = 1;
  p.outside = outside;
  for (std::size_t i = 0; i < kCopyAxes; ++i) {  // the innermost first
    const CopyAxis axis = i < axes.size() ? axes[axes.size() - 1 - i] : CopyAxis{};
    p.elements *= axis.extent;
    p.extent[i] = Divisor(std::max<i64>(1, axis.extent));
    p.stride[i] = axis.to_stride;
    p.from_stride[i] = axis.from_stride;
    p.first[i] = axis.first;
    p.step[i] = axis.step;
    p.from_extent[i] = axis.from_extent;
    if constexpr (kSpread) p.every[i] = Divisor(axis.every);
  }
  give<StridedCopy<Word, kSpread>>(sink, p);
}

}  // namespace

void cast(LaunchSink sink, DType from_type, const void* from, DType to_type, void* to, std::int64_t elements) {
  with_type(from_type, [&]<class From>(From) {
    with_type(to_type, [&]<class To>(To) {
      if constexpr (!std::is_same_v<From, To>) {
        give<Cast<From, To>>(sink, {in<From>(from), out<To>(to), elements, aligned_to(16, {from, to})});
      } else {
        RIDGELINE_CHECK(false, "a cast between two types is meant");
      }
    });
  });
}

void fill_words(LaunchSink sink, void* to, std::uint32_t word, std::int64_t words) {
  give<Fill>(sink, {out<u32>(to), word, words});
}

void transpose(LaunchSink sink, std::size_t element_bytes, const void* from, void* to, std::int64_t batch,
               std::int64_t rows, std::int64_t columns) {
  with_word(element_bytes, [&]<class Word>(Word) {
    if constexpr (sizeof(Word) <= 8) {
      using Body = Transpose<Word>;
      give<Body>(sink, {in<Word>(from), out<Word>(to), batch, rows, columns,
                        Divisor(std::max<i64>(1, divided_up(rows, Body::kTile)))});
    } else {
      RIDGELINE_CHECK(false, "elements have up to 8 bytes");
    }
  });
}

void resize_rows(LaunchSink sink, DType from_type, const void* from, std::int64_t from_width, DType to_type, void* to,
                 std::int64_t to_width, std::int64_t rows) {
  const auto run = [&]<class From, class To>(From, To) {
    give<ResizeRows<From, To>>(sink, {in<From>(from), out<To>(to), rows * to_width, static_cast<u32>(from_width),
                                      Divisor(std::max<i64>(1, to_width))});
  };
  with_type(from_type, [&]<class From>(From) {
    if (to_type == from_type) return run(From(), From());
    if constexpr (std::is_same_v<From, float>) {
      to_type == DType::bf16 ? run(float(), bfloat16()) : run(float(), float16());
    } else {
      RIDGELINE_CHECK(to_type == DType::f32, "rows are resized in one type, or from or to f32");
      run(From(), float());
    }
  });
}

void strided_copy(LaunchSink sink, std::size_t element_bytes, const void* from, void* to,
                  std::span<const CopyAxis> all_axes, std::uint64_t outside) {
  std::vector<CopyAxis> axes = merged(all_axes);
  RIDGELINE_CHECK(axes.size() <= kCopyAxes, "a strided copy has up to six axes");
  const std::size_t width = width_of(axes, element_bytes, from, to);
  if (width > 1) {
    const auto w = static_cast<std::int64_t>(width);
    for (CopyAxis& axis : axes) axis.to_stride /= w, axis.from_stride /= w;
    CopyAxis& inner = axes.back();
    inner.to_stride = inner.from_stride = 1;
    inner.extent /= w, inner.first /= w, inner.from_extent /= w;
  }
  const bool spread = std::any_of(axes.begin(), axes.end(), [](const CopyAxis& axis) { return axis.every != 1; });
  with_word(element_bytes * width, [&]<class Word>(Word) {
    const u64 word = repeated(outside, element_bytes);
    spread ? give_copy<Word, true>(sink, from, to, axes, word) : give_copy<Word, false>(sink, from, to, axes, word);
  });
}

}  // namespace ridgeline::cuda
