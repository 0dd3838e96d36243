#include "ridgeline/train/recipe/recipe_model.h"

#include "ridgeline/train/ranks.h"

namespace ridgeline::train {

nn::StepOptions step_options(const Recipe& recipe, std::int64_t num_classes) {
  nn::StepOptions options;
  options.model = &nn::model_named(recipe.model);
  options.model_options = recipe.model_options;
  options.model_options.num_classes = num_classes;
  options.batch_size = recipe.batch_size;
  options.image_size = recipe.image_size == 0 ? options.model->image_size : recipe.image_size;
  options.images = recipe.enable_data_pre_proc ? nn::ImageForm::u8 : nn::ImageForm::f32;
  options.label_smoothing = recipe.label_smoothing;
  options.seed = recipe.seed;
  options.label_shares = mixes(recipe);
  options.row_mask = !recipe.synthetic && recipe.bad_samples.policy == data::BadSamplePolicy::skip;
  return options;
}

CompileOptions compile_options(const Recipe& recipe) {
  return {.fusion = recipe.fusion,
          .disabled_passes = recipe.disabled_passes,
          .precision = policy_of(recipe.precision),
          .soft_placement = recipe.allow_soft_placement,
          .memory_limit = static_cast<std::size_t>(recipe.memory_limit),
          .dump_directory = recipe.dump_ir};
}

Distribution distribution_of(const Recipe& recipe) {
  return {.ranks = recipe.ranks,
          .group = kWorld,
          .overlap = recipe.hcom_parallel,
          .split = recipe.gradient_split,
          .each_batch = recipe.ordered,
          .rank = recipe.rank,
          .shard_updates = recipe.is_weight_update_sharding};
}

std::unique_ptr<Model> model_of(Session& session, const Recipe& recipe, std::int64_t num_classes) {
  nn::StepOptions options = step_options(recipe, num_classes);
  options.batch_size /= recipe.parts;
  return std::make_unique<Model>(
      session, nn::image_classifier(options),
      ModelSettings{.seed = recipe.seed,
                    .compile = compile_options(recipe),
                    .distribution = distribution_of(recipe),
                    .parts = {.parts = recipe.parts, .ranks = recipe.ranks, .place = recipe.place}});
}

}  // namespace ridgeline::train
