// ResNet-20 for CIFAR-10 (He et al. 2015, section 4.2), in the names and structure of
// github.com/akamaster/pytorch_resnet_cifar10. Shortcuts of another size have no parameters (option A): every second
// pixel, and new channels of zeros, half of them in front.
#include <string>
#include <vector>

#include "ridgeline/nn/layers.h"
#include "ridgeline/nn/models/table.h"

namespace ridgeline::nn {
namespace {

Value conv_bn(ModelContext& context, Value x, const std::string& prefix, const std::string& number, std::int64_t out,
              std::int64_t stride) {
  x = conv_layer(context, x,
                 {.name = prefix + "conv" + number,
                  .out = out,
                  .kernel = 3,
                  .stride = stride,
                  .pad = 1,
                  .bias = false,
                  .weight_init = he_normal_fan_in});
  return batch_norm_layer(context, x, {.name = prefix + "bn" + number});
}

Value shortcut(Value x, std::int64_t out) {
  const Shape& shape = x.shape();
  const std::int64_t added = out - shape[3];
  const std::vector<std::int64_t> size = {shape[0], (shape[1] + 1) / 2, (shape[2] + 1) / 2, shape[3]};
  x = x.builder().apply("strided_slice", {x},
                        {{"start", std::vector<std::int64_t>{0, 0, 0, 0}},
                         {"stride", std::vector<std::int64_t>{1, 2, 2, 1}},
                         {"size", size}});
  return x.builder().apply("pad", {x},
                           {{"low", std::vector<std::int64_t>{0, 0, 0, added / 2}},
                            {"high", std::vector<std::int64_t>{0, 0, 0, added - added / 2}}});
}

Value build_resnet20(ModelContext& context, const ModelOptions& options) {
  Value x = relu(conv_bn(context, context.images, "", "1", 16, 1));
  for (int stage = 0; stage < 3; ++stage) {
    const std::int64_t width = std::int64_t{16} << stage;
    for (int i = 0; i < 3; ++i) {
      const std::string prefix = "layer" + std::to_string(stage + 1) + "." + std::to_string(i) + ".";
      const bool halve = stage > 0 && i == 0;
      Value y = relu(conv_bn(context, x, prefix, "1", width, halve ? 2 : 1));
      y = conv_bn(context, y, prefix, "2", width, 1);
      x = relu(y + (halve ? shortcut(x, width) : x));
    }
  }
  return dense_layer(context, global_avg_pool(x),
                     {.name = "linear", .out = options.num_classes, .weight_init = he_normal_fan_in});
}

}  // namespace

ModelInfo resnet20_info() {
  ModelInfo info;
  info.name = "resnet20";
  info.description = "ResNet-20 for CIFAR-10, shortcuts without parameters";
  info.build = build_resnet20;
  info.classes = 10;
  info.parameters = 269'722;
  info.image_size = 32;
  info.evaluation = {ResizeRule::exact, 32, 32};
  info.inits = {"akamaster"};
  info.chain = {{3, 1, 1}, {3, 2, 1}, {3, 2, 1}};
  return info;
}

}  // namespace ridgeline::nn
