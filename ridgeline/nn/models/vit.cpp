// ViT-Tiny (Dosovitskiy et al. 2021, in the size of Touvron et al. 2021) in the names and structure of torchvision's
// VisionTransformer: patches of 16x16 pixels, preceded by a class token, twelve blocks of attention and two dense
// layers, each after its layer norm.
#include <cmath>
#include <string>
#include <vector>

#include "ridgeline/nn/layers.h"
#include "ridgeline/nn/models/table.h"

namespace ridgeline::nn {
namespace {

constexpr std::int64_t kPatch = 16, kWidth = 192, kHeads = 3, kInner = 4 * kWidth;
constexpr int kLayers = 12;
constexpr double kVitEpsilon = 1e-6;

Init patch_init(const Fans& fans) { return normal(std::sqrt(1.0 / static_cast<double>(fans.in))); }
Init small(const Fans&) { return normal(1e-6); }

Value pad_rows(Value x, std::int64_t before, std::int64_t after) {
  return x.builder().apply(
      "pad", {x}, {{"low", std::vector<std::int64_t>{0, before, 0}}, {"high", std::vector<std::int64_t>{0, after, 0}}});
}

// Patches [N,T-1,D] after a row for the class, with the embedding of the positions added. The token is added to the
// first position, which leaves every number as it is and needs no copy of the token for each sample.
Value tokens(ModelContext& context, Value patches) {
  const std::int64_t count = patches.shape()[1] + 1;
  const Value token = context.parameter("class_token", {1, 1, kWidth}, zeros());
  const Value positions = context.parameter("encoder.pos_embedding", {1, count, kWidth}, normal(0.02));
  const GraphBuilder::Scope scope(context.builder, "encoder.pos_embedding");
  return pad_rows(patches, 1, 0) + (positions + pad_rows(token, 0, count - 1));
}

Value layer(ModelContext& context, Value x, const std::string& name) {
  const auto norm = [&](const char* suffix) {
    return layer_norm_layer(context, x, {.name = name + suffix, .epsilon = kVitEpsilon});
  };
  x = attention_layer(context, norm(".ln_1"), {.name = name + ".self_attention", .heads = kHeads}) + x;
  Value y = linear_layer(context, norm(".ln_2"),
                         {.name = name + ".mlp.0",
                          .out = kInner,
                          .activation = Activation::gelu,
                          .weight_init = glorot_uniform,
                          .bias_init = small});
  y = linear_layer(context, y,
                   {.name = name + ".mlp.3", .out = kWidth, .weight_init = glorot_uniform, .bias_init = small});
  return y + x;
}

Value build_vit(ModelContext& context, const ModelOptions& options) {
  Value x = conv_layer(context, context.images,
                       {.name = "conv_proj",
                        .out = kWidth,
                        .kernel = kPatch,
                        .stride = kPatch,
                        .weight_init = patch_init,
                        .bias_init = zero_init});
  const std::int64_t rows = x.shape()[0];
  x = tokens(context, reshape(x, {rows, x.shape()[1] * x.shape()[2], kWidth}));
  for (int i = 0; i < kLayers; ++i) {
    x = layer(context, x, "encoder.layers.encoder_layer_" + std::to_string(i));
  }
  // Of the class's row alone: a layer norm sees each row by itself.
  const std::vector<std::int64_t> start(3, 0), stride(3, 1), size = {rows, 1, kWidth};
  x = x.builder().apply("strided_slice", {x}, {{"start", start}, {"stride", stride}, {"size", size}});
  x = layer_norm_layer(context, reshape(x, {rows, kWidth}), {.name = "encoder.ln", .epsilon = kVitEpsilon});
  return dense_layer(
      context, x, {.name = "heads.head", .out = options.num_classes, .weight_init = zero_init, .bias_init = zero_init});
}

}  // namespace

ModelInfo vit_tiny_info() {
  ModelInfo info;
  info.name = "vit_tiny";
  info.description = "ViT-Tiny with patches of 16 pixels, as torchvision's VisionTransformer";
  info.build = build_vit;
  info.parameters = 5'717'416;
  info.inits = {"torchvision"};
  info.chain = {{static_cast<int>(kPatch), static_cast<int>(kPatch), 0}};
  return info;
}

}  // namespace ridgeline::nn
