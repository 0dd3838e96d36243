// ResNet-18 and ResNet-50 (He et al. 2015) in torchvision's names and structure: the stride of a bottleneck is in its
// 3x3 convolution, shortcuts of another size are 1x1 convolutions, and the last batch norm of a block starts at scale
// 1.
#include <array>
#include <string>

#include "ridgeline/nn/layers.h"
#include "ridgeline/nn/models/table.h"

namespace ridgeline::nn {
namespace {

Value conv_bn(ModelContext& context, Value x, const std::string& conv, const std::string& bn, std::int64_t out,
              std::int64_t kernel, std::int64_t stride) {
  x = conv_layer(context, x,
                 {.name = conv,
                  .out = out,
                  .kernel = kernel,
                  .stride = stride,
                  .pad = kernel / 2,
                  .bias = false,
                  .weight_init = he_normal_fan_out});
  return batch_norm_layer(context, x, {.name = bn});
}

// One block of `width` channels inside; a bottleneck has four times as many outside.
Value block(ModelContext& context, Value x, const std::string& name, std::int64_t width, std::int64_t stride,
            bool bottleneck) {
  const std::int64_t out = bottleneck ? 4 * width : width;
  Value y;
  if (bottleneck) {
    y = relu(conv_bn(context, x, name + ".conv1", name + ".bn1", width, 1, 1));
    y = relu(conv_bn(context, y, name + ".conv2", name + ".bn2", width, 3, stride));
    y = conv_bn(context, y, name + ".conv3", name + ".bn3", out, 1, 1);
  } else {
    y = relu(conv_bn(context, x, name + ".conv1", name + ".bn1", width, 3, stride));
    y = conv_bn(context, y, name + ".conv2", name + ".bn2", out, 3, 1);
  }
  if (stride != 1 || x.shape()[-1] != out) {
    x = conv_bn(context, x, name + ".downsample.0", name + ".downsample.1", out, 1, stride);
  }
  return relu(y + x);
}

Value build_resnet(ModelContext& context, const ModelOptions& options, const std::array<int, 4>& blocks,
                   bool bottleneck) {
  Value x = relu(conv_bn(context, context.images, "conv1", "bn1", 64, 7, 2));
  x = max_pool(x, {.kernel = 3, .stride = 2, .pad = 1});
  for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
    for (int i = 0; i < blocks[stage]; ++i) {
      const std::string name = "layer" + std::to_string(stage + 1) + "." + std::to_string(i);
      x = block(context, x, name, std::int64_t{64} << stage, stage > 0 && i == 0 ? 2 : 1, bottleneck);
    }
  }
  return dense_layer(context, global_avg_pool(x), {.name = "fc", .out = options.num_classes});
}

Value build_18(ModelContext& context, const ModelOptions& options) {
  return build_resnet(context, options, {2, 2, 2, 2}, false);
}
Value build_50(ModelContext& context, const ModelOptions& options) {
  return build_resnet(context, options, {3, 4, 6, 3}, true);
}

ModelInfo common() {
  ModelInfo info;
  info.inits = {"torchvision"};
  info.chain = {{7, 2, 3}, {3, 2, 1}, {3, 2, 1}, {3, 2, 1}, {3, 2, 1}};
  return info;
}

}  // namespace

ModelInfo resnet18_info() {
  ModelInfo info = common();
  info.name = "resnet18";
  info.description = "ResNet-18 of torchvision";
  info.build = build_18;
  info.parameters = 11'689'512;
  return info;
}

ModelInfo resnet50_info() {
  ModelInfo info = common();
  info.name = "resnet50";
  info.description = "ResNet-50 of torchvision";
  info.build = build_50;
  info.parameters = 25'557'032;
  return info;
}

}  // namespace ridgeline::nn
