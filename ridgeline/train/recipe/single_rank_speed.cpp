#include "ridgeline/train/recipe/single_rank_speed.h"

#include "ridgeline/train/loop/loop.h"
#include "ridgeline/train/loop/synthetic.h"
#include "ridgeline/train/recipe/optimization.h"
#include "ridgeline/train/recipe/recipe_model.h"
#include "ridgeline/train/recipe/session_options.h"

namespace ridgeline::train {
namespace {

// Steps after the first, which includes start-up.
constexpr std::int64_t kMeasuredSteps = 10;

// The time of all steps but the first.
class StepSeconds : public Callback {
 public:
  void step_end(RunContext& context) override {
    if (first_done_) seconds_ += context.loop_seconds(), steps_ += context.loop_steps();
    first_done_ = true;
  }
  double of_a_step() const { return steps_ > 0 ? seconds_ / static_cast<double>(steps_) : 0; }

 private:
  bool first_done_ = false;
  double seconds_ = 0;
  std::int64_t steps_ = 0;
};

// The recipe of a rank without others. Its batch, and the parts of that, stay the same.
Recipe without_others(Recipe recipe) {
  recipe.ranks = 1;
  recipe.rank = recipe.place = recipe.servers = 0;
  recipe.parallel = {};
  recipe.is_weight_update_sharding = recipe.hcom_parallel = false;
  recipe.trace.clear();
  recipe.dump_ir.clear();
  return recipe;
}

}  // namespace

double single_rank_speed(const Recipe& given, const RunData& data) {
  const Recipe recipe = without_others(given);
  Session session(session_options(recipe));
  const std::unique_ptr<Model> model = model_of(session, recipe, data.num_classes);
  model->prepare_training(training_options(recipe, optim::Constant{.base = recipe.lr}));
  std::unique_ptr<Feed> feed;
  if (recipe.synthetic) {
    feed = std::make_unique<SyntheticBatch>(step_options(recipe, data.num_classes), data.num_classes, recipe.seed,
                                            &session.device());
  } else {
    feed = std::make_unique<DatasetFeed>(*data.training,
                                         data::IteratorOptions{.workers = recipe.num_workers,
                                                               .memory_limit = recipe.batch_memory,
                                                               .epochs = data::kForever,
                                                               .raw_images = recipe.enable_data_pre_proc,
                                                               .bad_samples = recipe.bad_samples},
                                         model->network().columns, &session.device());
  }
  StepSeconds seconds;
  Loop steps(*model, *feed,
             {.total_steps = 1 + kMeasuredSteps,
              .steps_per_epoch = 1 + kMeasuredSteps,
              .loop = 1,
              .stop_if_not_finite = false});
  const RunContext end = steps.run({&seconds});
  if (end.reason() == StopReason::interrupted || seconds.of_a_step() <= 0) return 0;
  return static_cast<double>(recipe.batch_size * recipe.optimization.accumulate_steps) / seconds.of_a_step();
}

}  // namespace ridgeline::train
