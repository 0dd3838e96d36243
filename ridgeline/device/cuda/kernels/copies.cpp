#include "ridgeline/device/cuda/kernels/copies.h"

#include "ridgeline/device/cuda/kernels/families.h"
#include "ridgeline/device/cuda/kernels/launches.h"
#include "ridgeline/device/cuda/kernels/with_type.h"

namespace ridgeline::cuda {

RIDGELINE_COPIES_KERNELS(RIDGELINE_SYMBOL)

std::span<const KernelRow* const> copies_rows() {
  static constexpr const KernelRow* kRows[] = {RIDGELINE_COPIES_KERNELS(RIDGELINE_ROW)};
  return kRows;
}

namespace {

// run(Word()) for elements of so many bytes.
template <class Run>
void with_word(std::size_t bytes, const Run& run) {
  switch (bytes) {
    case 1: return run(u8());
    case 2: return run(u16());
    case 4: return run(u32());
    case 8: return run(u64());
    default: RIDGELINE_CHECK(false, "elements have 1, 2, 4 or 8 bytes");
  }
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
    using Body = Transpose<Word>;
    give<Body>(sink, {in<Word>(from), out<Word>(to), batch, rows, columns,
                      Divisor(std::max<i64>(1, divided_up(rows, Body::kTile)))});
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
                  std::span<const CopyAxis> axes) {
  RIDGELINE_CHECK(axes.size() <= kCopyAxes, "a strided copy has up to six axes");
  with_word(element_bytes, [&]<class Word>(Word) {
    typename StridedCopy<Word>::Parameters p{};
    p.from = in<Word>(from);
    p.to = out<Word>(to);
    p.elements = 1;
    for (std::size_t i = 0; i < kCopyAxes; ++i) {  // the innermost first
      const CopyAxis axis = i < axes.size() ? axes[axes.size() - 1 - i] : CopyAxis{};
      p.elements *= axis.extent;
      p.extent[i] = Divisor(std::max<i64>(1, axis.extent));
      p.stride[i] = axis.to_stride;
      p.from_stride[i] = axis.from_stride;
      p.first[i] = axis.first;
      p.step[i] = axis.step;
      p.from_extent[i] = axis.from_extent;
    }
    give<StridedCopy<Word>>(sink, p);
  });
}

}  // namespace ridgeline::cuda
