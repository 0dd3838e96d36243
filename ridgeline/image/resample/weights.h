// ridgeline/image/resample/weights.h
//
// The positions and weights of one axis. Private to this folder.
#pragma once

#include "ridgeline/image/resample/resample.h"

namespace ridgeline::image {

// Pillow's precompute_coeffs and normalize_coeffs_8bpc: result positions begin..end-1 of `out`, sources in 0..in-1; the
// box's borders as Pillow keeps them, in float.
void antialiased_weights(Filter filter, int in, float box_begin, float box_end, int out, int begin, int end,
                         Resizer::Axis& axis);
// torchvision's tensors without antialiasing (ATen's upsample kernels for bytes): half-pixel centres; taps beyond the
// border use the border's pixel; 22-bit weights and an 8-bit intermediate image as above, while ATen's weights have 15
// bits or fewer.
void torch_weights(Filter filter, int in, int out, int begin, int end, Resizer::Axis& axis);
// Pillow's nearest neighbour: ImagingScaleAffine accumulates the scale.
void nearest_positions(int in, float box_begin, float box_end, int out, int begin, int end, Resizer::Axis& axis);
// TensorFlow 1: source position x * scale in float, its neighbour, and the fraction between them.
void tf1_positions(int in, float box_begin, float box_end, int out, int begin, int end, Resizer::Axis& axis);

}  // namespace ridgeline::image
