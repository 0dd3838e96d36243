#include "ridgeline/device/cuda/kernels/image_tail.h"

#include "ridgeline/device/cuda/kernels/families.h"
#include "ridgeline/device/cuda/kernels/launches.h"
#include "ridgeline/device/cuda/kernels/with_type.h"

namespace ridgeline::cuda {

RIDGELINE_IMAGE_TAIL_KERNELS(RIDGELINE_SYMBOL)

std::span<const KernelRow* const> image_tail_rows() {
  static constexpr const KernelRow* kRows[] = {RIDGELINE_IMAGE_TAIL_KERNELS(RIDGELINE_ROW)};
  return kRows;
}

namespace {

NormaliseTable table_of(std::span<const float, 768> table) {
  NormaliseTable copy;
  std::copy(table.begin(), table.end(), copy.at);
  return copy;
}

}  // namespace

void image_tail(LaunchSink sink, const ImageTailShape& s, const void* images, const void* flip,
                std::span<const float, 768> table, void* y) {
  RIDGELINE_CHECK(s.channels == 3 || s.channels == 8, "images get 3 or 8 channels");
  with_type(s.type, [&]<class T>(T) {
    if (s.channels == 8) {
      give<ImageTailEight<T>>(sink, {in<u8>(images), in<u8>(flip), out<T>(y), s.n * s.h * s.w, Divisor(s.w),
                                     Divisor(s.h), table_of(table)});
    } else {
      const bool wide = aligned_to(8, {images}) && aligned_to(8 * sizeof(T), {y});
      give<ImageTail<T>>(sink, {in<u8>(images), in<u8>(flip), out<T>(y), s.n * s.h * s.w * 3, Divisor(3 * s.w),
                                Divisor(s.h), wide, table_of(table)});
    }
  });
}

void image_tail_blocks(LaunchSink sink, const ImageTailShape& s, const ImageBlocks& b, const void* images,
                       const void* flip, std::span<const float, 768> table, void* y) {
  with_type(s.type, [&]<class T>(T) {
    const auto i = [](std::int64_t v) { return static_cast<i32>(v); };
    give<ImageTailBlocks<T>>(sink, {in<u8>(images), in<u8>(flip), out<T>(y), i(s.h), i(s.w), i(b.top), i(b.left),
                                    s.n * b.rows * b.columns * b.side, Divisor(b.side), Divisor(b.columns),
                                    Divisor(b.rows), b.side == 4 && aligned_to(4 * sizeof(T), {y}), table_of(table)});
  });
}

}  // namespace ridgeline::cuda
