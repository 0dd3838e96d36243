// ridgeline/nn/unet.h
//
// U-Net (Ronneberger et al. 2015): a class for every pixel: convolutions that reduce the resolution step by step, and a
// way back up, where each step also reads the features of the same size from the way down. Padded convolutions with
// batch norms and transposed convolutions upwards; parameters are named as in milesial/Pytorch-UNet. Free functions
// without state.
#pragma once

#include "ridgeline/nn/functional.h"
#include "ridgeline/nn/module.h"
#include "ridgeline/nn/network.h"

namespace ridgeline::nn {

struct UnetOptions {
  std::int64_t classes = 2;
  std::int64_t channels = 64;  // of the first step; each step down has twice as many
  int depth = 4;               // steps down
};

// images [N,H,W,C], whose sides 2^depth divides; logits [N,H,W,classes].
Value unet(ModelContext& context, Value images, const UnetOptions& options = {}, const At& at = At::current());

struct SegmentationOptions {
  UnetOptions model;
  std::int64_t batch_size = 0;
  std::int64_t height = 0, width = 0, channels = 3;  // of images
};
// A network with inputs "images" f32 [N,H,W,C] and "labels" i32 [N,H,W]: the loss is the mean over all pixels of the
// cross-entropy of their classes; an evaluation counts `loss_sum` and `correct` per image, as means over its pixels; a
// prediction returns `classes_of_pixels`, f32 probabilities [N,H,W,classes].
Network segmentation_network(const SegmentationOptions& options);

}  // namespace ridgeline::nn
