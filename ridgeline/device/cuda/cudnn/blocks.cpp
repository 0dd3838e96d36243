#include "ridgeline/device/cuda/cudnn/blocks.h"

#include <array>

#include "ridgeline/device/cuda/kernels/launches.h"

namespace ridgeline::cuda::cudnn {
namespace {

constexpr std::int64_t kGroup = 8;        // channels that tensor cores take at once
constexpr std::int64_t kFewChannels = 4;  // at most

std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

std::optional<Blocks> blocks_of(const Convolution& c) {
  const std::int64_t stride = c.window.stride[0], channels = c.image[3];
  const bool wanted = c.pass != Pass::backward_data && channels <= kFewChannels && stride > 1 &&
                      c.window.stride[1] == stride && c.filter[3] == channels && c.window.dilation[0] == 1 &&
                      c.window.dilation[1] == 1 && c.image[1] % stride == 0 && c.image[2] % stride == 0;
  if (!wanted) return std::nullopt;
  Blocks blocks;
  blocks.image = c.image;
  blocks.filter = c.filter;
  blocks.stride = stride;
  blocks.channels = channels;
  while (stride * stride * blocks.channels % kGroup != 0) ++blocks.channels;
  blocks.lead_h = divided_up(c.window.pad_before[0], stride);
  blocks.lead_w = divided_up(c.window.pad_before[1], stride);
  blocks.shift_h = blocks.lead_h * stride - c.window.pad_before[0];
  blocks.shift_w = blocks.lead_w * stride - c.window.pad_before[1];
  const std::int64_t a = divided_up(c.filter[1] + blocks.shift_h, stride);
  const std::int64_t b = divided_up(c.filter[2] + blocks.shift_w, stride);
  const std::int64_t values = stride * stride * blocks.channels;
  blocks.convolution = c;
  blocks.convolution.image = {c.image[0], c.result[1] + a - 1, c.result[2] + b - 1, values};
  blocks.convolution.filter = {c.filter[0], a, b, values};
  blocks.convolution.window = Window{.kernel = {a, b}};
  return blocks;
}

std::size_t Blocks::image_bytes() const { return convolution.image.bytes(size_of(convolution.operands)); }
std::size_t Blocks::filter_bytes() const { return convolution.filter.bytes(size_of(convolution.operands)); }
std::size_t Blocks::padded_filter_bytes() const { return filter_bytes(); }

// Axes n, i, j of blocks, then u, v, c within one. A row of a block is contiguous in both where its channels are not
// padded; it is copied in the largest words to which all of its addresses are aligned.
void Blocks::block_image(LaunchSink sink, const void* from, void* to) const {
  const std::int64_t h = image[1], w = image[2], c = image[3];
  const Shape& blocked = convolution.image;
  const bool whole = channels == c;
  std::size_t word = size_of(convolution.operands);
  std::int64_t each = 1;  // elements of a word
  while (whole && word < 8 && w * c % (2 * each) == 0 && stride * c % (2 * each) == 0) word *= 2, each *= 2;
  const std::int64_t values = blocked[3];
  const std::array<CopyAxis, 6> axes = {
      CopyAxis{.extent = blocked[0],
               .to_stride = blocked[1] * blocked[2] * values / each,
               .from_extent = blocked[0],
               .from_stride = h * w * c / each},
      CopyAxis{.extent = blocked[1],
               .to_stride = blocked[2] * values / each,
               .first = -lead_h,
               .from_extent = h / stride,
               .from_stride = stride * w * c / each},
      CopyAxis{.extent = blocked[2],
               .to_stride = values / each,
               .first = -lead_w,
               .from_extent = w / stride,
               .from_stride = stride * c / each},
      CopyAxis{
          .extent = stride, .to_stride = stride * channels / each, .from_extent = stride, .from_stride = w * c / each},
      whole ? CopyAxis{.extent = 1, .from_extent = 1}
            : CopyAxis{.extent = stride, .to_stride = channels, .from_extent = stride, .from_stride = c},
      whole ? CopyAxis{.extent = stride * c / each, .to_stride = 1, .from_extent = stride * c / each, .from_stride = 1}
            : CopyAxis{.extent = channels, .to_stride = 1, .from_extent = c, .from_stride = 1},
  };
  strided_copy(sink, word, from, to, axes);
}

namespace {

// Between [K, A*stride, B*stride, C'] and [K, A, B, stride, stride, C'], either way.
void permute(LaunchSink sink, const Blocks& b, const void* from, void* to, bool to_blocks) {
  const Shape& blocked = b.convolution.filter;
  const std::int64_t s = b.stride, c = b.channels, width = blocked[2] * s * c;
  const std::int64_t values = blocked[3];
  const auto axis = [&](std::int64_t extent, std::int64_t rows_stride, std::int64_t blocks_stride) {
    return CopyAxis{.extent = extent,
                    .to_stride = to_blocks ? blocks_stride : rows_stride,
                    .from_extent = extent,
                    .from_stride = to_blocks ? rows_stride : blocks_stride};
  };
  const std::array<CopyAxis, 6> axes = {
      axis(blocked[0], blocked[1] * s * width, blocked[1] * blocked[2] * values),
      axis(blocked[1], s * width, blocked[2] * values),
      axis(blocked[2], s * c, values),
      axis(s, width, s * c),
      axis(s, c, c),
      axis(c, 1, 1),
  };
  strided_copy(sink, size_of(b.convolution.operands), from, to, axes);
}

}  // namespace

void Blocks::block_filter(LaunchSink sink, const void* from, void* padded, void* to) const {
  const Shape& blocked = convolution.filter;
  const std::int64_t rows = blocked[1] * stride, columns = blocked[2] * stride;
  const std::array<CopyAxis, 4> axes = {
      CopyAxis{.extent = blocked[0],
               .to_stride = rows * columns * channels,
               .from_extent = blocked[0],
               .from_stride = filter[1] * filter[2] * filter[3]},
      CopyAxis{.extent = rows,
               .to_stride = columns * channels,
               .first = -shift_h,
               .from_extent = filter[1],
               .from_stride = filter[2] * filter[3]},
      CopyAxis{.extent = columns,
               .to_stride = channels,
               .first = -shift_w,
               .from_extent = filter[2],
               .from_stride = filter[3]},
      CopyAxis{.extent = channels, .to_stride = 1, .from_extent = filter[3], .from_stride = 1},
  };
  strided_copy(sink, size_of(convolution.operands), from, padded, axes);
  permute(sink, *this, padded, to, true);
}

void Blocks::unblock_filter(LaunchSink sink, const void* from, void* padded, void* to) const {
  permute(sink, *this, from, padded, false);
  const Shape& blocked = convolution.filter;
  const std::int64_t rows = blocked[1] * stride, columns = blocked[2] * stride;
  const std::array<CopyAxis, 4> axes = {
      CopyAxis{.extent = filter[0],
               .to_stride = filter[1] * filter[2] * filter[3],
               .from_extent = filter[0],
               .from_stride = rows * columns * channels},
      CopyAxis{.extent = filter[1],
               .to_stride = filter[2] * filter[3],
               .first = shift_h,
               .from_extent = rows,
               .from_stride = columns * channels},
      CopyAxis{.extent = filter[2],
               .to_stride = filter[3],
               .first = shift_w,
               .from_extent = columns,
               .from_stride = channels},
      CopyAxis{.extent = filter[3], .to_stride = 1, .from_extent = channels, .from_stride = 1},
  };
  strided_copy(sink, size_of(convolution.operands), padded, to, axes);
}

}  // namespace ridgeline::cuda::cudnn
