// DenseNet-121 (Huang et al. 2017) in torchvision's names and structure: every layer of a block reads all earlier
// results of the block, batch norms come before their convolutions.
#include <array>
#include <string>

#include "ridgeline/nn/layers.h"
#include "ridgeline/nn/models/table.h"

namespace ridgeline::nn {
namespace {

constexpr std::array<int, 4> kBlocks = {6, 12, 24, 16};
constexpr std::int64_t kGrowth = 32, kFirstFeatures = 64, kBottleneck = 4 * kGrowth;

Value norm_relu_conv(ModelContext& context, Value x, const std::string& norm, const std::string& conv, std::int64_t out,
                     std::int64_t kernel) {
  x = relu(batch_norm_layer(context, x, {.name = norm}));
  return conv_layer(
      context, x,
      {.name = conv, .out = out, .kernel = kernel, .pad = kernel / 2, .bias = false, .weight_init = he_normal_fan_in});
}

Value build_densenet(ModelContext& context, const ModelOptions& options) {
  const std::string features = "features.";
  Value x = conv_layer(context, context.images,
                       {.name = features + "conv0",
                        .out = kFirstFeatures,
                        .kernel = 7,
                        .stride = 2,
                        .pad = 3,
                        .bias = false,
                        .weight_init = he_normal_fan_in});
  x = relu(batch_norm_layer(context, x, {.name = features + "norm0"}));
  x = max_pool(x, {.kernel = 3, .stride = 2, .pad = 1});
  for (std::size_t b = 0; b < kBlocks.size(); ++b) {
    const std::string number = std::to_string(b + 1);
    for (int i = 0; i < kBlocks[b]; ++i) {
      const std::string layer = features + "denseblock" + number + ".denselayer" + std::to_string(i + 1) + ".";
      Value y = norm_relu_conv(context, x, layer + "norm1", layer + "conv1", kBottleneck, 1);
      y = norm_relu_conv(context, y, layer + "norm2", layer + "conv2", kGrowth, 3);
      x = concat({x, y}, -1);
    }
    if (b + 1 == kBlocks.size()) break;
    const std::string transition = features + "transition" + number + ".";
    x = norm_relu_conv(context, x, transition + "norm", transition + "conv", x.shape()[-1] / 2, 1);
    x = avg_pool(x, {.kernel = 2, .stride = 2});
  }
  x = relu(batch_norm_layer(context, x, {.name = features + "norm5"}));
  return dense_layer(context, global_avg_pool(x),
                     {.name = "classifier", .out = options.num_classes, .bias_init = zero_init});
}

}  // namespace

ModelInfo densenet121_info() {
  ModelInfo info;
  info.name = "densenet121";
  info.description = "DenseNet-121 of torchvision";
  info.build = build_densenet;
  info.parameters = 7'978'856;
  info.inits = {"torchvision"};
  info.chain = {{7, 2, 3}, {3, 2, 1}, {2, 2, 0}, {2, 2, 0}, {2, 2, 0}};
  return info;
}

}  // namespace ridgeline::nn
