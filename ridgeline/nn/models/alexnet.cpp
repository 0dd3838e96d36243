// AlexNet with the widths of the ModelZoo recipe (Krizhevsky, "One weird trick for parallelizing convolutional neural
// networks", 2014, with 96 channels in the first layer): no response normalisation, dropout after each of the two large
// dense layers, and a relu on the logits, as in the recipe's own graph.
#include <string>

#include "ridgeline/nn/layers.h"
#include "ridgeline/nn/models/table.h"

namespace ridgeline::nn {
namespace {

struct Convolution {
  std::int64_t out;
  std::int64_t kernel, stride, pad;
  bool pool;  // max, 3x3, stride 2
};
constexpr Convolution kConvolutions[] = {
    {96, 11, 4, 2, true}, {192, 5, 1, 2, true}, {384, 3, 1, 1, false}, {256, 3, 1, 1, false}, {256, 3, 1, 1, true}};

InitRule rule_named(const std::string& name) {
  if (name == "xavier") return glorot_uniform;
  if (name == "he_uniform_custom") return scaled_uniform;
  return he_uniform;
}

Value build_alexnet(ModelContext& context, const ModelOptions& options) {
  const InitRule rule = rule_named(options.init);
  Value x = context.images;
  int index = 0;
  for (const Convolution& c : kConvolutions) {
    x = conv_layer(context, x,
                   {.name = numbered_name("conv2d", index++),
                    .out = c.out,
                    .kernel = c.kernel,
                    .stride = c.stride,
                    .pad = c.pad,
                    .activation = Activation::relu,
                    .weight_init = rule,
                    .bias_init = zero_init,
                    .suffixes = kTensorFlowSuffixes});
    if (c.pool) x = max_pool(x, {.kernel = 3, .stride = 2});
  }
  x = flatten(x, FlattenOrder::hwc);
  for (int i = 0; i < 2; ++i) {
    x = dense_layer(context, x,
                    {.name = numbered_name("dense", i),
                     .out = 4096,
                     .activation = Activation::relu,
                     .weight_init = rule,
                     .bias_init = zero_init,
                     .suffixes = kTensorFlowSuffixes});
    x = dropout_layer(context, x, numbered_name("dropout", i), *options.dropout_keep);
  }
  return dense_layer(context, x,
                     {.name = numbered_name("dense", 2),
                      .out = options.num_classes,
                      .activation = *options.final_relu ? Activation::relu : Activation::none,
                      .weight_init = rule,
                      .bias_init = zero_init,
                      .suffixes = kTensorFlowSuffixes});
}

}  // namespace

ModelInfo alexnet_info() {
  ModelInfo info;
  info.name = "alexnet";
  info.description = "AlexNet of the ModelZoo recipe: 96 channels in front, relu on the logits";
  info.build = build_alexnet;
  info.parameters = 61'266'088;
  info.evaluation = {ResizeRule::exact, 256, 224};
  info.inits = {"he_uniform", "xavier", "he_uniform_custom"};
  info.init_flag = "alexnet_version";
  info.dropout_keep = 0.65;
  info.has_final_relu = true;
  for (const Convolution& c : kConvolutions) {
    info.chain.push_back({static_cast<int>(c.kernel), static_cast<int>(c.stride), static_cast<int>(c.pad)});
    if (c.pool) info.chain.push_back({3, 2, 0});
  }
  return info;
}

}  // namespace ridgeline::nn
