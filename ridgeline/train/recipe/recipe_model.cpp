#include "ridgeline/train/recipe/recipe_model.h"

#include "ridgeline/core/threads.h"
#include "ridgeline/train/ranks/rank_rates.h"
#include "ridgeline/train/ranks/ranks.h"
#include "ridgeline/train/recipe/session_options.h"

namespace ridgeline::train {

nn::StepOptions step_options(const Recipe& recipe, std::int64_t num_classes) {
  nn::StepOptions options;
  options.model = &nn::model_named(recipe.model);
  options.model_options = recipe.model_options;
  options.model_options.num_classes = num_classes;
  options.batch_size = recipe.batch_size / recipe.parallel.micro_batches_of_step();
  options.image_size = recipe.image_size == 0 ? options.model->image_size : recipe.image_size;
  options.images = recipe.enable_data_pre_proc ? nn::ImageForm::u8 : nn::ImageForm::f32;
  options.label_smoothing = recipe.label_smoothing;
  options.seed = recipe.seed;
  options.label_shares = mixes(recipe) || recipe.class_weights == "balanced";
  options.smooth_shares = recipe.class_weights == "balanced";
  options.row_mask = !recipe.synthetic && recipe.bad_samples.policy == data::BadSamplePolicy::skip;
  return options;
}

CompileOptions compile_options(const Recipe& recipe) {
  return {.fusion = recipe.fusion,
          .disabled_passes = recipe.disabled_passes,
          .precision = policy_of(original_precision(recipe.experimental.accelerate, precision_of(recipe))),
          .soft_placement = recipe.allow_soft_placement,
          .memory_limit = static_cast<std::size_t>(recipe.memory_limit),
          .dump_directory = recipe.dump_ir};
}

Distribution distribution_of(const Recipe& recipe) {
  const ParallelSettings& parallel = recipe.parallel;
  const PipelinePlan pipeline{parallel.pipeline_stages, parallel.micro_batches_of_step(),
                              pipeline_order_named(parallel.pipeline_order)};
  return {.ranks = recipe.ranks,
          .rank = recipe.rank,
          .group = kWorld,
          .overlap = recipe.hcom_parallel,
          .split = recipe.gradient_split,
          .each_batch = recipe.ordered,
          .shard_updates = recipe.is_weight_update_sharding,
          .mode = parallel_mode_named(parallel.mode),
          .pipeline = pipeline,
          .servers = recipe.servers};
}

namespace {

// For divisions by cost: measured on all ranks at once, with the links of a cluster where one is named.
RankRates rates_for(Session& session, const Recipe& recipe) {
  const auto world = session.groups().find(kWorld);
  if (parallel_mode_named(recipe.parallel.mode) != ParallelMode::auto_parallel || world == session.groups().end())
    return {};
  const ComputeScope team(session.compute_threads());
  const RankRates measured = measure_rates(*world->second, session.device());
  if (recipe.parallel.rates == kMeasuredRates) return measured;
  return rates_of(comm::cluster_named(recipe.parallel.rates), measured);
}

}  // namespace

std::unique_ptr<Model> model_of(Session& session, const Recipe& recipe, std::int64_t num_classes) {
  nn::StepOptions options = step_options(recipe, num_classes);
  options.batch_size /= recipe.parts;
  ModelSettings settings{.seed = recipe.seed,
                         .compile = compile_options(recipe),
                         .distribution = distribution_of(recipe),
                         .parts = {.parts = recipe.parts, .ranks = recipe.ranks, .place = recipe.place},
                         .shards = shards_of(recipe.parallel),
                         .stages = stages_of(recipe.parallel),
                         .server_parameters = recipe.parallel.server_parameters};
  settings.distribution.rates = rates_for(session, recipe);
  return std::make_unique<Model>(session, nn::image_classifier(options), std::move(settings));
}

}  // namespace ridgeline::train
