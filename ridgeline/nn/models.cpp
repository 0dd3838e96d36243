#include "ridgeline/nn/models.h"

#include <algorithm>
#include <cmath>

#include "ridgeline/core/error.h"
#include "ridgeline/nn/models/table.h"

namespace ridgeline::nn {
namespace {

// The side that an image is resized to before an evaluation crops it is at most twice this: 2^20, the resizer's
// largest.
constexpr std::int64_t kLargestImage = std::int64_t{1} << 19;

std::string listed(std::span<const std::string_view> names) {
  std::string text;
  for (std::string_view name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

[[noreturn]] void refuse(const ModelInfo& model, const std::string& what) {
  throw Error("[" + std::string(model.name) + "] " + what, ErrorKind::usage);
}

}  // namespace

std::span<const ModelInfo> all_models() {
  static const std::vector<ModelInfo> table = {alexnet_info(),
                                               alexnet_mindspore_info(),
                                               alexnet_torchvision_info(),
                                               convnext_tiny_info(),
                                               densenet121_info(),
                                               mobilenet_v2_info(),
                                               resnet18_info(),
                                               resnet20_info(),
                                               resnet50_info(),
                                               vgg11_info(),
                                               vgg16_info(),
                                               vit_tiny_info(),
                                               linear_info()};
  return table;
}

const ModelInfo* find_model(std::string_view name) {
  for (const ModelInfo& model : all_models()) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

const ModelInfo& model_named(std::string_view name) {
  if (const ModelInfo* model = find_model(name)) return *model;
  std::vector<std::string> names;
  std::vector<std::string_view> views;
  for (const ModelInfo& model : all_models()) {
    names.emplace_back(model.name);
    views.push_back(model.name);
  }
  throw Error(
      "unknown model '" + std::string(name) + "'" + did_you_mean(name, names) + " (allowed: " + listed(views) + ")",
      ErrorKind::usage);
}

int smallest_image_size(const ModelInfo& model) {
  int size = 1;
  for (auto link = model.chain.rbegin(); link != model.chain.rend(); ++link) {
    size = std::max(1, (size - 1) * link->stride + link->kernel - 2 * link->pad);
  }
  return size;
}

void check_image_size(const ModelInfo& model, std::int64_t image_size) {
  if (image_size > kLargestImage) {
    refuse(model, "image size " + std::to_string(image_size) + " is too large: it can be at most " +
                      std::to_string(kLargestImage));
  }
  const int smallest = smallest_image_size(model);
  if (image_size >= smallest) return;
  refuse(model, "image size " + std::to_string(image_size) + " is too small: the pooling chain needs at least " +
                    std::to_string(smallest));
}

ModelOptions complete_options(const ModelInfo& model, const ModelOptions& given) {
  ModelOptions options = given;
  if (options.num_classes == 0) options.num_classes = model.classes;
  if (options.num_classes < 1)
    refuse(model, "num_classes is " + std::to_string(options.num_classes) + "; it must be at least 1");
  if (options.init.empty()) options.init = model.inits.front();
  if (std::find(model.inits.begin(), model.inits.end(), options.init) == model.inits.end()) {
    refuse(model, "unknown " + std::string(model.init_flag) + " '" + options.init +
                      "' (allowed: " + listed(model.inits) + ")");
  }
  if (!options.dropout_keep) options.dropout_keep = model.dropout_keep;
  const double keep = *options.dropout_keep;
  if (!(keep > 0 && keep <= 1)) refuse(model, "dropout_keep is " + std::to_string(keep) + "; it must lie in (0, 1]");
  if (model.dropout_keep == 1 && keep != 1) refuse(model, "the model has no dropout, so dropout_keep can only be 1");
  if (!model.has_final_relu && options.final_relu.value_or(false)) refuse(model, "the model has no final_relu");
  if (!options.final_relu) options.final_relu = model.has_final_relu;
  return options;
}

EvaluationTransform evaluation_transform(const ModelInfo& model, std::int64_t image_size) {
  check_image_size(model, image_size);
  EvaluationTransform transform = model.evaluation;
  transform.resize =
      static_cast<int>(std::lround(static_cast<double>(image_size) * model.evaluation.resize / model.image_size));
  transform.crop = static_cast<int>(image_size);
  return transform;
}

std::vector<ParameterSpec> parameters_of(const ModelInfo& model, const ModelOptions& options, std::int64_t image_size) {
  check_image_size(model, image_size);
  GraphBuilder builder("parameters");
  std::vector<ParameterSpec> parameters;
  ModelContext context{.builder = builder,
                       .images = builder.input("images", {DType::f32, {1, image_size, image_size, 3}}),
                       .step = {},
                       .parameters = parameters};
  model.build(context, complete_options(model, options));
  return parameters;
}

std::string head_of(const ModelInfo& model) {
  const std::string last = parameters_of(model, {}, model.image_size).back().name;
  return last.substr(0, last.find_last_of("./"));
}

}  // namespace ridgeline::nn
