// AlexNet as in torchvision (torchvision.models.alexnet): 64 channels in the first layer, adaptive pooling to 6x6,
// dropout before each of the two large dense layers, features flattened channel by channel.
#include <string>

#include "ridgeline/nn/layers.h"
#include "ridgeline/nn/models/table.h"

namespace ridgeline::nn {
namespace {

struct TorchvisionConvolution {
  int index;  // in the `features` of torchvision
  std::int64_t out;
  std::int64_t kernel, stride, pad;
  bool pool;  // max, 3x3, stride 2
};
constexpr TorchvisionConvolution kTorchvisionConvolutions[] = {{0, 64, 11, 4, 2, true},
                                                               {3, 192, 5, 1, 2, true},
                                                               {6, 384, 3, 1, 1, false},
                                                               {8, 256, 3, 1, 1, false},
                                                               {10, 256, 3, 1, 1, true}};

Value build_alexnet_torchvision(ModelContext& context, const ModelOptions& options) {
  Value x = context.images;
  for (const TorchvisionConvolution& c : kTorchvisionConvolutions) {
    x = conv_layer(context, x,
                   {.name = "features." + std::to_string(c.index),
                    .out = c.out,
                    .kernel = c.kernel,
                    .stride = c.stride,
                    .pad = c.pad,
                    .activation = Activation::relu});
    if (c.pool) x = max_pool(x, {.kernel = 3, .stride = 2});
  }
  x = flatten(adaptive_avg_pool(x, 6), FlattenOrder::chw);
  x = dropout_layer(context, x, "classifier.0", *options.dropout_keep);
  x = dense_layer(context, x, {.name = "classifier.1", .out = 4096, .activation = Activation::relu});
  x = dropout_layer(context, x, "classifier.3", *options.dropout_keep);
  x = dense_layer(context, x, {.name = "classifier.4", .out = 4096, .activation = Activation::relu});
  return dense_layer(context, x, {.name = "classifier.6", .out = options.num_classes});
}

}  // namespace

ModelInfo alexnet_torchvision_info() {
  ModelInfo info;
  info.name = "alexnet_torchvision";
  info.description = "AlexNet of torchvision";
  info.build = build_alexnet_torchvision;
  info.parameters = 61'100'840;
  info.inits = {"torchvision"};
  info.dropout_keep = 0.5;
  for (const TorchvisionConvolution& c : kTorchvisionConvolutions) {
    info.chain.push_back({static_cast<int>(c.kernel), static_cast<int>(c.stride), static_cast<int>(c.pad)});
    if (c.pool) info.chain.push_back({3, 2, 0});
  }
  return info;
}

}  // namespace ridgeline::nn
