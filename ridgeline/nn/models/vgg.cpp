// VGG-11 and VGG-16 without batch norm (Simonyan and Zisserman 2014, configurations A and D), in torchvision's names.
#include <span>
#include <string>

#include "ridgeline/nn/layers.h"
#include "ridgeline/nn/models/table.h"

namespace ridgeline::nn {
namespace {

struct VggConvolution {
  std::int64_t out;
  bool pool;  // max, 2x2, stride 2
};
constexpr VggConvolution kEleven[] = {{64, true},   {128, true}, {256, false}, {256, true},
                                      {512, false}, {512, true}, {512, false}, {512, true}};
constexpr VggConvolution kSixteen[] = {{64, false},  {64, true},   {128, false}, {128, true},  {256, false},
                                       {256, false}, {256, true},  {512, false}, {512, false}, {512, true},
                                       {512, false}, {512, false}, {512, true}};

Init vgg_dense_init(const Fans&) { return normal(0.01); }

Value build_vgg(ModelContext& context, const ModelOptions& options, std::span<const VggConvolution> convolutions) {
  Value x = context.images;
  int index = 0;  // in the `features` of torchvision: convolution, relu and pool count
  for (const VggConvolution& c : convolutions) {
    x = conv_layer(context, x,
                   {.name = "features." + std::to_string(index),
                    .out = c.out,
                    .kernel = 3,
                    .pad = 1,
                    .activation = Activation::relu,
                    .weight_init = he_normal_fan_out,
                    .bias_init = zero_init});
    if (c.pool) x = max_pool(x, {.kernel = 2, .stride = 2});
    index += c.pool ? 3 : 2;
  }
  x = flatten(adaptive_avg_pool(x, 7), FlattenOrder::chw);
  for (int i = 0; i < 2; ++i) {
    x = dense_layer(context, x,
                    {.name = "classifier." + std::to_string(3 * i),
                     .out = 4096,
                     .activation = Activation::relu,
                     .weight_init = vgg_dense_init,
                     .bias_init = zero_init});
    x = dropout_layer(context, x, "classifier." + std::to_string(3 * i + 2), *options.dropout_keep);
  }
  return dense_layer(
      context, x,
      {.name = "classifier.6", .out = options.num_classes, .weight_init = vgg_dense_init, .bias_init = zero_init});
}

Value build_11(ModelContext& context, const ModelOptions& options) { return build_vgg(context, options, kEleven); }
Value build_16(ModelContext& context, const ModelOptions& options) { return build_vgg(context, options, kSixteen); }

ModelInfo common(std::span<const VggConvolution> convolutions) {
  ModelInfo info;
  info.inits = {"torchvision"};
  info.dropout_keep = 0.5;
  for (const VggConvolution& c : convolutions) {
    info.chain.push_back({3, 1, 1});
    if (c.pool) info.chain.push_back({2, 2, 0});
  }
  return info;
}

}  // namespace

ModelInfo vgg11_info() {
  ModelInfo info = common(kEleven);
  info.name = "vgg11";
  info.description = "VGG-11 of torchvision, without batch norm";
  info.build = build_11;
  info.parameters = 132'863'336;
  return info;
}

ModelInfo vgg16_info() {
  ModelInfo info = common(kSixteen);
  info.name = "vgg16";
  info.description = "VGG-16 of torchvision, without batch norm";
  info.build = build_16;
  info.parameters = 138'357'544;
  return info;
}

}  // namespace ridgeline::nn
