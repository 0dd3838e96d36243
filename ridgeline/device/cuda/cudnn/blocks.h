// ridgeline/device/cuda/cudnn/blocks.h
//
// A strided convolution over few channels as one of stride 1 over blocks of pixels. Tensor cores multiply channels in
// groups of eight: over an image of 3 channels they are mostly idle, and over blocks of stride x stride pixels, whose
// 12 or 48 values are the channels, they are not. 11x11 of stride 4 over 3 channels becomes 4x4 over 48.
//
//   row of tap r of result oh = stride * oh - pad + r = stride * (oh - lead + a) + u,
//   with lead = ceil(pad / stride), a = (r + shift) / stride, u = (r + shift) % stride, shift = lead * stride - pad.
//
// So blocked image [N, OH+A-1, OW+B-1, stride*stride*C'] with `lead` blocks of zeros in front, and blocked filter [K,
// A, B, stride*stride*C'] with zeros for missing taps. C' is C padded with zeros such that the channels of a block are
// a multiple of eight.
#pragma once

#include <optional>

#include "ridgeline/device/cuda/cudnn/convolution.h"
#include "ridgeline/device/cuda/kernels/row.h"

namespace ridgeline::cuda::cudnn {

struct Blocks {
  Convolution convolution;                // over blocks
  Shape image, filter;                    // of the original convolution
  std::int64_t stride = 1, channels = 0;  // C'
  std::int64_t lead_h = 0, lead_w = 0, shift_h = 0, shift_w = 0;

  std::size_t image_bytes() const;
  std::size_t filter_bytes() const;
  // Room for the step between a filter and its blocks.
  std::size_t padded_filter_bytes() const;
  void block_image(LaunchSink sink, const void* image, void* blocked) const;
  void block_filter(LaunchSink sink, const void* filter, void* padded, void* blocked) const;
  // Computes the filter's gradient from that of its blocks.
  void unblock_filter(LaunchSink sink, const void* blocked, void* padded, void* filter) const;
};

// nullopt if it would not help, or if an image does not divide into blocks.
std::optional<Blocks> blocks_of(const Convolution& convolution);

}  // namespace ridgeline::cuda::cudnn
