// MobileNetV2 (Sandler et al. 2018) in torchvision's names and structure: inverted residuals, each a 1x1 convolution
// that widens, a depthwise 3x3 convolution, and a 1x1 convolution that narrows without an activation.
#include <string>

#include "ridgeline/nn/layers.h"
#include "ridgeline/nn/models/table.h"

namespace ridgeline::nn {
namespace {

struct MobileNetStage {
  std::int64_t expansion, out;
  int blocks;
  std::int64_t stride;  // of the first block
};
constexpr MobileNetStage kMobileNetStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                                               {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
constexpr std::int64_t kFirstChannels = 32, kLastChannels = 1280;

Init mobile_dense_init(const Fans&) { return normal(0.01); }

// A convolution, its batch norm and what follows.
struct Unit {
  std::string conv, norm;
  std::int64_t out = 0, kernel = 1, stride = 1, groups = 1;
  Activation activation = Activation::relu6;
};

Value unit(ModelContext& context, Value x, const Unit& u) {
  return conv_layer(context, x,
                    {.name = u.conv,
                     .out = u.out,
                     .kernel = u.kernel,
                     .stride = u.stride,
                     .pad = u.kernel / 2,
                     .groups = u.groups,
                     .bias = false,
                     .norm = BatchNormLayer{.name = u.norm},
                     .activation = u.activation,
                     .weight_init = he_normal_fan_out});
}

Value inverted_residual(ModelContext& context, Value x, const std::string& name, const MobileNetStage& stage,
                        std::int64_t stride) {
  const std::int64_t in = x.shape()[-1], wide = in * stage.expansion;
  const std::string conv = name + ".conv.";
  Value y = x;
  int index = 0;  // in the `conv` of torchvision
  if (stage.expansion != 1) {
    y = unit(context, y, {.conv = conv + "0.0", .norm = conv + "0.1", .out = wide});
    index = 1;
  }
  const std::string depthwise = conv + std::to_string(index);
  y = unit(
      context, y,
      {.conv = depthwise + ".0", .norm = depthwise + ".1", .out = wide, .kernel = 3, .stride = stride, .groups = wide});
  y = unit(context, y,
           {.conv = conv + std::to_string(index + 1),
            .norm = conv + std::to_string(index + 2),
            .out = stage.out,
            .activation = Activation::none});
  return stride == 1 && in == stage.out ? x + y : y;
}

Value build_mobilenet_v2(ModelContext& context, const ModelOptions& options) {
  Value x = unit(context, context.images,
                 {.conv = "features.0.0", .norm = "features.0.1", .out = kFirstChannels, .kernel = 3, .stride = 2});
  int index = 1;  // in the `features` of torchvision
  for (const MobileNetStage& stage : kMobileNetStages) {
    for (int i = 0; i < stage.blocks; ++i) {
      x = inverted_residual(context, x, "features." + std::to_string(index++), stage, i == 0 ? stage.stride : 1);
    }
  }
  const std::string last = "features." + std::to_string(index);
  x = global_avg_pool(unit(context, x, {.conv = last + ".0", .norm = last + ".1", .out = kLastChannels}));
  x = dropout_layer(context, x, "classifier.0", *options.dropout_keep);
  return dense_layer(
      context, x,
      {.name = "classifier.1", .out = options.num_classes, .weight_init = mobile_dense_init, .bias_init = zero_init});
}

}  // namespace

ModelInfo mobilenet_v2_info() {
  ModelInfo info;
  info.name = "mobilenet_v2";
  info.description = "MobileNetV2 of torchvision";
  info.build = build_mobilenet_v2;
  info.parameters = 3'504'872;
  info.inits = {"torchvision"};
  info.dropout_keep = 0.8;
  info.chain.push_back({3, 2, 1});
  for (const MobileNetStage& stage : kMobileNetStages) {
    for (int i = 0; i < stage.blocks; ++i) info.chain.push_back({3, i == 0 ? static_cast<int>(stage.stride) : 1, 1});
  }
  return info;
}

}  // namespace ridgeline::nn
