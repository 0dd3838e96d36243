#include "ridgeline/core/joined_names.h"
#include "ridgeline/optim/momentum.h"
#include "ridgeline/train/recipe/options.h"

namespace ridgeline::train {
namespace {

// By default the optimizer's own; for one that does not read them, those of momentum.
SettingValue momentum_of(const Recipe& recipe) {
  const Optimization& o = recipe.optimization;
  const optim::OptimizerArguments& own = optim::optimizer_named(o.optimizer).defaults;
  return o.arguments.momentum.value_or(own.momentum.value_or(optim::Momentum{}.momentum));
}
SettingValue nesterov_of(const Recipe& recipe) {
  const Optimization& o = recipe.optimization;
  const optim::OptimizerArguments& own = optim::optimizer_named(o.optimizer).defaults;
  return o.arguments.nesterov.value_or(own.nesterov.value_or(optim::Momentum{}.nesterov));
}

}  // namespace

std::vector<RecipeOption> optimization_options() {
  using A = RecipeArguments;
  const OptionGroup group{"Optimization"}, evaluated{"Optimization", kInEvaluations};
  const OptionRange epochs{"1 to 1000000000", 1, kMostEpochs}, to_a_million{"0 to 1000000", 0, 1e6};
  return {
      {"batch_size",
       evaluated,
       "images a step and rank",
       [](A& a) -> std::int64_t& { return a.recipe.batch_size; },
       verdict::defines({.kept = [](const Recipe& r) { return SettingValue(r.batch_size * r.data_ranks()); },
                         .shared = [](const Recipe& r) { return SettingValue(r.batch_size); }}),
       {"1 or more", 1}},
      {"max_epochs", group, "length of the run and of the learning-rate schedule",
       [](A& a) -> std::int64_t& { return a.recipe.max_epochs; }, verdict::changes(), epochs},
      {"max_train_steps", group, "stop here instead of after max_epochs; 0: off",
       [](A& a) -> std::int64_t& { return a.max_train_steps; },
       verdict::alike([](const Recipe& r) { return SettingValue(r.max_train_steps.value_or(0)); })},
      {"warmup_epochs",
       group,
       "epochs of linear warm-up",
       [](A& a) -> std::int64_t& { return a.recipe.warmup_epochs; },
       verdict::changes(),
       {"0 to 1000000000", 0, kMostEpochs}},
      {"lr", group, "base learning rate (0.06 for 1024 images a step, 0.015 for 256)",
       [](A& a) -> double& { return a.recipe.lr; }, verdict::changes(), to_a_million},
      {"lr_schedule", group, joined_names(optim::schedules()),
       [](A& a) -> std::string& { return a.recipe.optimization.schedule; }, verdict::changes()},
      {.name = "lr_factor",
       .group = group,
       .help = "of step, multi_step and exponential",
       .field = [](A& a) -> double& { return a.recipe.optimization.factor; },
       .verdict = verdict::part_of("schedule settings"),
       .of_schedule = "factor"},
      {.name = "lr_decay_epochs",
       .group = group,
       .help = "of multi_step: where the rate is multiplied, by commas: 30,60,90",
       .field = [](A& a) -> std::string& { return a.decay_epochs; },
       .verdict = verdict::part_of("schedule settings"),
       .of_schedule = "decay_epochs"},
      {.name = "lr_end",
       .group = group,
       .help = "of cosine and polynomial: the last rate",
       .field = [](A& a) -> double& { return a.recipe.optimization.end; },
       .verdict = verdict::part_of("schedule settings"),
       .of_schedule = "end"},
      {.name = "lr_power",
       .group = group,
       .help = "of polynomial; 1: a line",
       .field = [](A& a) -> double& { return a.recipe.optimization.power; },
       .verdict = verdict::part_of("schedule settings"),
       .of_schedule = "power"},
      {"optimizer", group, joined_names(optim::optimizers()),
       [](A& a) -> std::string& { return a.recipe.optimization.optimizer; }, verdict::defines()},
      {.name = "momentum",
       .group = group,
       .help = "of momentum, rmsprop (0 where it is not given), lars: in [0, 1)",
       .field = [](A& a) -> double& { return a.momentum; },
       .verdict = verdict::changes({.kept = momentum_of}),
       .of_optimizer = "momentum"},
      {.name = "use_nesterov",
       .group = group,
       .help = "Nesterov's form of momentum (lars: off where it is not given)",
       .field = [](A& a) -> bool& { return a.nesterov; },
       .verdict = verdict::changes({.kept = nesterov_of}),
       .of_optimizer = "nesterov"},
      {.name = "beta1",
       .group = group,
       .help = "of adam, adamw, lamb: share of the mean that is kept",
       .field = [](A& a) -> double& { return a.beta1; },
       .verdict = verdict::part_of("optimizer settings"),
       .of_optimizer = "beta1"},
      {.name = "beta2",
       .group = group,
       .help = "of adam, adamw, lamb: share of the mean square that is kept",
       .field = [](A& a) -> double& { return a.beta2; },
       .verdict = verdict::part_of("optimizer settings"),
       .of_optimizer = "beta2"},
      {.name = "epsilon",
       .group = group,
       .help = "added to the root of the mean square (lamb: 1e-06)",
       .field = [](A& a) -> double& { return a.epsilon; },
       .verdict = verdict::part_of("optimizer settings"),
       .of_optimizer = "epsilon"},
      {.name = "rms_rho",
       .group = group,
       .help = "of rmsprop: share of the mean square that is kept",
       .field = [](A& a) -> double& { return a.rho; },
       .verdict = verdict::part_of("optimizer settings"),
       .of_optimizer = "rho"},
      {.name = "lars_trust",
       .group = group,
       .help = "of lars: step as a share of the parameter's norm",
       .field = [](A& a) -> double& { return a.trust; },
       .verdict = verdict::part_of("optimizer settings"),
       .of_optimizer = "trust"},
      {"weight_decay", group, "factor of the L2 penalty over all parameters; of adamw and lamb, of the decay itself",
       [](A& a) -> double& { return a.recipe.weight_decay; }, verdict::changes(), to_a_million},
      {"decay_vectors", group, "whether biases and the scales of norms decay, too",
       [](A& a) -> bool& { return a.recipe.optimization.decay_vectors; }, verdict::part_of("parameter groups")},
      {"freeze", group, "parameters that are not trained, by pattern: 'features.*'; may be given several times",
       [](A& a) -> std::vector<std::string>& { return a.frozen; }, verdict::part_of("parameter groups")},
      {"lr_scale", group, "PATTERN=FACTOR of the rate of some parameters; may be given several times",
       [](A& a) -> std::vector<std::string>& { return a.scaled; }, verdict::part_of("parameter groups")},
      {"clip_norm", group, "most that the norm of all gradients may be; 0: any",
       [](A& a) -> double& { return a.recipe.optimization.clip_norm; }, verdict::changes()},
      {"clip_value", group, "most that an element of a gradient may be; 0: any",
       [](A& a) -> double& { return a.recipe.optimization.clip_value; }, verdict::changes()},
      {"accumulate_steps",
       group,
       "batches whose gradients make one step",
       [](A& a) -> std::int64_t& { return a.recipe.optimization.accumulate_steps; },
       verdict::defines(),
       {"1 or more", 1}},
      {"loss_scale", group,
       "of 16-bit runs: a number, dynamic[,INIT,FACTOR,WINDOW] or exponential,INIT,INCR_EVERY; a step that overflows "
       "is "
       "skipped",
       [](A& a) -> std::string& { return a.recipe.optimization.loss_scale; }, verdict::defines()},
      {"ema", group, "share of the old averages of parameters, such as 0.999; evaluations use them; 0: none",
       [](A& a) -> double& { return a.recipe.optimization.ema; }, verdict::defines()},
      {"early_stopping",
       group,
       "stop when so many evaluations were not better than the best one; 0: never",
       [](A& a) -> std::int64_t& { return a.recipe.early_stopping; },
       verdict::alike(),
       {"0 (never) or more", 0}},
      {"label_smoothing",
       evaluated,
       "share of the label that all classes get; evaluate: by default that of the checkpoint",
       [](A& a) -> double& { return a.recipe.label_smoothing; },
       verdict::changes(),
       {"[0, 1)", 0, 1, false, true}},
      {"seed", group, "of initial weights, data order, augmentation and dropout",
       [](A& a) -> std::uint64_t& { return a.recipe.seed; }, verdict::identity()},
  };
}

}  // namespace ridgeline::train
