// One dense layer over the pixels: what can be learned without any understanding of images. A yardstick.
#include "ridgeline/nn/layers.h"
#include "ridgeline/nn/models/table.h"

namespace ridgeline::nn {
namespace {

Value build_linear(ModelContext& context, const ModelOptions& options) {
  return dense_layer(context, flatten(context.images, FlattenOrder::hwc),
                     {.name = "linear", .out = options.num_classes});
}

}  // namespace

ModelInfo linear_info() {
  ModelInfo info;
  info.name = "linear";
  info.description = "one dense layer over the pixels: a yardstick";
  info.build = build_linear;
  info.classes = 10;
  info.parameters = 64 * 64 * 3 * 10 + 10;
  info.image_size = 64;
  info.evaluation = {ResizeRule::short_side, 73, 64};
  info.inits = {"torchvision"};
  info.chain = {{1, 1, 0}};
  return info;
}

}  // namespace ridgeline::nn
