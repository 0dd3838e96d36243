// AlexNet with the widths of the MindSpore recipe: narrower convolutions, "same" padding, dropout after each of the two
// large dense layers, no relu on the logits, features flattened channel by channel.
#include <algorithm>
#include <string>

#include "ridgeline/nn/layers.h"
#include "ridgeline/nn/models/table.h"

namespace ridgeline::nn {
namespace {

struct MindSporeConvolution {
  std::int64_t out;
  std::int64_t kernel, stride;
  bool pool;  // max, 3x3, stride 2
};
constexpr MindSporeConvolution kMindSporeConvolutions[] = {
    {64, 11, 4, true}, {128, 5, 1, true}, {192, 3, 1, false}, {256, 3, 1, false}, {256, 3, 1, true}};

// A map of ceil(side / stride) positions; with an odd number of zeros the greater half is at the end.
Padding same_padding(const Shape& image, const MindSporeConvolution& c) {
  const auto total = [&](std::int64_t side) {
    const std::int64_t positions = (side + c.stride - 1) / c.stride;
    return std::max<std::int64_t>(0, (positions - 1) * c.stride + c.kernel - side);
  };
  const std::int64_t rows = total(image[1]), columns = total(image[2]);
  return {rows / 2, rows - rows / 2, columns / 2, columns - columns / 2};
}

Value build_alexnet_mindspore(ModelContext& context, const ModelOptions& options) {
  Value x = context.images;
  int index = 1;
  for (const MindSporeConvolution& c : kMindSporeConvolutions) {
    x = conv_layer(context, x,
                   {.name = "conv" + std::to_string(index++),
                    .out = c.out,
                    .kernel = c.kernel,
                    .stride = c.stride,
                    .pad = same_padding(x.shape(), c),
                    .activation = Activation::relu,
                    .bias_init = zero_init});
    if (c.pool) x = max_pool(x, {.kernel = 3, .stride = 2});
  }
  x = flatten(x, FlattenOrder::chw);
  for (const char* name : {"fc1", "fc2"}) {
    x = dense_layer(context, x, {.name = name, .out = 4096, .activation = Activation::relu, .bias_init = zero_init});
    x = dropout_layer(context, x, std::string(name) + ".dropout", *options.dropout_keep);
  }
  return dense_layer(context, x, {.name = "fc3", .out = options.num_classes, .bias_init = zero_init});
}

}  // namespace

ModelInfo alexnet_mindspore_info() {
  ModelInfo info;
  info.name = "alexnet_mindspore";
  info.description = "AlexNet of the MindSpore recipe: 64 channels in front, same padding";
  info.build = build_alexnet_mindspore;
  info.parameters = 60'113'448;
  info.evaluation = {ResizeRule::exact, 256, 224};
  info.inits = {"mindspore"};
  info.dropout_keep = 0.65;
  for (const MindSporeConvolution& c : kMindSporeConvolutions) {
    info.chain.push_back({1, static_cast<int>(c.stride), 0});  // how many positions "same" padding gives
    if (c.pool) info.chain.push_back({3, 2, 0});
  }
  return info;
}

}  // namespace ridgeline::nn
