// ConvNeXt-Tiny (Liu et al. 2022) in torchvision's names and structure. A block is a depthwise 7x7 convolution, a layer
// norm, and two dense layers over the channels of each pixel; its result is scaled channel by channel and, in training,
// dropped for complete samples, more often in deeper blocks.
#include <array>
#include <string>

#include "ridgeline/nn/layers.h"
#include "ridgeline/nn/models/table.h"

namespace ridgeline::nn {
namespace {

struct ConvNextStage {
  std::int64_t channels;
  int blocks;
};
constexpr std::array<ConvNextStage, 4> kConvNextStages = {{{96, 3}, {192, 3}, {384, 9}, {768, 3}}};
constexpr int kAllBlocks = 18;
constexpr double kConvNextEpsilon = 1e-6;

Init weights(const Fans&) { return normal(0.02); }

Value convolution(ModelContext& context, Value x, const std::string& name, std::int64_t out, std::int64_t kernel,
                  bool depthwise) {
  return conv_layer(context, x,
                    {.name = name,
                     .out = out,
                     .kernel = kernel,
                     .stride = depthwise ? 1 : kernel,
                     .pad = depthwise ? kernel / 2 : 0,
                     .groups = depthwise ? out : 1,
                     .weight_init = weights,
                     .bias_init = zero_init});
}

Value block(ModelContext& context, Value x, const std::string& name, double keep) {
  const std::int64_t channels = x.shape()[-1];
  Value y = convolution(context, x, name + ".block.0", channels, 7, true);
  y = layer_norm_layer(context, y, {.name = name + ".block.2", .epsilon = kConvNextEpsilon});
  y = linear_layer(context, y,
                   {.name = name + ".block.3",
                    .out = 4 * channels,
                    .activation = Activation::gelu,
                    .weight_init = weights,
                    .bias_init = zero_init});
  y = linear_layer(context, y,
                   {.name = name + ".block.5", .out = channels, .weight_init = weights, .bias_init = zero_init});
  const Value scale = context.parameter(name + ".layer_scale", {channels, 1, 1}, constant(1e-6));
  y = y * reshape(scale, {channels});
  return drop_samples_layer(context, y, name + ".stochastic_depth", keep) + x;
}

Value build_convnext(ModelContext& context, const ModelOptions& options) {
  const auto norm = [&](Value x, const std::string& name) {
    return layer_norm_layer(context, x, {.name = name, .epsilon = kConvNextEpsilon});
  };
  Value x =
      norm(convolution(context, context.images, "features.0.0", kConvNextStages[0].channels, 4, false), "features.0.1");
  int number = 0, feature = 1;
  for (std::size_t s = 0; s < kConvNextStages.size(); ++s) {
    if (s > 0) {
      const std::string name = "features." + std::to_string(feature++);
      x = convolution(context, norm(x, name + ".0"), name + ".1", kConvNextStages[s].channels, 2, false);
    }
    const std::string stage = "features." + std::to_string(feature++) + ".";
    for (int i = 0; i < kConvNextStages[s].blocks; ++i, ++number) {
      const double dropped = (1 - *options.dropout_keep) * number / (kAllBlocks - 1);
      x = block(context, x, stage + std::to_string(i), 1 - dropped);
    }
  }
  x = norm(global_avg_pool(x), "classifier.0");
  return dense_layer(
      context, x, {.name = "classifier.2", .out = options.num_classes, .weight_init = weights, .bias_init = zero_init});
}

}  // namespace

ModelInfo convnext_tiny_info() {
  ModelInfo info;
  info.name = "convnext_tiny";
  info.description = "ConvNeXt-Tiny of torchvision; dropout_keep is that of the last block's samples";
  info.build = build_convnext;
  info.parameters = 28'589'128;
  info.evaluation.resize = 236;
  info.inits = {"torchvision"};
  info.dropout_keep = 0.9;
  info.chain = {{4, 4, 0}, {2, 2, 0}, {2, 2, 0}, {2, 2, 0}};
  return info;
}

}  // namespace ridgeline::nn
