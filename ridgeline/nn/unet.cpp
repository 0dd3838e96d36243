#include "ridgeline/nn/unet.h"

#include <string>

#include "ridgeline/core/error.h"
#include "ridgeline/core/location_text.h"
#include "ridgeline/nn/layers.h"

namespace ridgeline::nn {
namespace {

// Two convolutions of 3x3, each with its batch norm and relu.
Value double_conv(ModelContext& context, Value x, const std::string& name, std::int64_t out, const At& at) {
  for (const int i : {0, 3}) {
    x = conv_layer(context, x,
                   {.name = name + ".double_conv." + std::to_string(i),
                    .out = out,
                    .kernel = 3,
                    .pad = 1,
                    .bias = false,
                    .norm = BatchNormLayer{.name = name + ".double_conv." + std::to_string(i + 1)},
                    .activation = Activation::relu,
                    .weight_init = he_normal_fan_in},
                   at);
  }
  return x;
}

Value unet_of(ModelContext& context, const SegmentationOptions& options) {
  const Value images = context.builder.input(
      "images", {DType::f32, {options.batch_size, options.height, options.width, options.channels}});
  return unet(context, images, options.model);
}

Value labels_of(ModelContext& context, const SegmentationOptions& options) {
  return context.builder.input("labels", {DType::i32, {options.batch_size, options.height, options.width}});
}

}  // namespace

Value unet(ModelContext& context, Value images, const UnetOptions& options, const At& at) {
  const Shape shape = images.type(at).shape;
  const std::int64_t step = std::int64_t{1} << options.depth;
  if (shape.rank() != 4 || shape[1] % step != 0 || shape[2] % step != 0) {
    throw Error("[unet] images are " + images.type().to_string() + "; [N,H,W,C] is meant, with sides that " +
                std::to_string(step) + " divides (depth " + std::to_string(options.depth) + ")" + behind_message(at));
  }
  std::int64_t channels = options.channels;
  std::vector<Value> levels = {double_conv(context, images, "inc", channels, at)};
  for (int i = 1; i <= options.depth; ++i) {
    channels *= 2;
    const Value half = max_pool(levels.back(), {.kernel = 2, .stride = 2}, at);
    levels.push_back(double_conv(context, half, "down" + std::to_string(i) + ".maxpool_conv.1", channels, at));
  }
  Value x = levels.back();
  for (int i = 1; i <= options.depth; ++i) {
    channels /= 2;
    const std::string name = "up" + std::to_string(i);
    x = conv_transpose_layer(context, x, {.name = name + ".up", .out = channels, .kernel = 2, .stride = 2}, at);
    x = concat({levels[levels.size() - 1 - static_cast<std::size_t>(i)], x}, -1, at);
    x = double_conv(context, x, name + ".conv", channels, at);
  }
  return conv_layer(context, x, {.name = "outc.conv", .out = options.classes, .kernel = 1}, at);
}

Network segmentation_network(const SegmentationOptions& options) {
  if (options.batch_size < 1) {
    throw Error("batch_size is " + std::to_string(options.batch_size) + "; it must be at least 1", ErrorKind::usage);
  }
  Network network{.name = "unet", .loss = [options](ModelContext& context) {
                    const Value logits = unet_of(context, options);
                    return mean(softmax_cross_entropy(logits, labels_of(context, options), {}).loss);
                  }};
  network.evaluate = [options](ModelContext& context) {
    const Value logits = unet_of(context, options);
    const Value labels = labels_of(context, options);
    const double share = 1.0 / static_cast<double>(options.height * options.width);
    const std::int64_t pixels = options.batch_size * options.height * options.width;
    const Value hits = context.builder.apply(
        "argmax_accuracy", {reshape(logits, {pixels, options.model.classes}), reshape(labels, {pixels})});
    context.builder.returns("loss_sum", sum(softmax_cross_entropy(logits, labels, {}).loss) * share);
    context.builder.returns("correct", hits * share);
    context.builder.returns(kRowsResult, context.builder.constant(static_cast<double>(options.batch_size)));
  };
  network.predict = [options](ModelContext& context) {
    context.builder.returns("classes_of_pixels", softmax(unet_of(context, options)));
  };
  return network;
}

}  // namespace ridgeline::nn
