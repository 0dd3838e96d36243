#include "ridgeline/train/recipe/optimization.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>

#include "ridgeline/core/error.h"
#include "ridgeline/train/recipe/recipe.h"
#include "ridgeline/train/recipe/session_options.h"

namespace ridgeline::train {

void check(const Optimization& o) {
  optim::optimizer_named(o.optimizer).make(o.arguments);
  // Its lengths in steps follow from the data: checked once they are known.
  optim::schedule_named(o.schedule);
  if (!(o.ema >= 0 && o.ema < 1)) {
    throw Error(fmt::format("--ema={} is out of range (allowed: [0, 1))", o.ema), ErrorKind::usage);
  }
}

nn::GradientRules gradient_rules(const Recipe& recipe) {
  const Optimization& o = recipe.optimization;
  nn::GradientRules rules{.clip_value = o.clip_value, .clip_norm = o.clip_norm, .accumulate = o.accumulate_steps};
  if (!o.loss_scale.empty()) {
    rules.loss_scale = optim::parse_loss_scale(o.loss_scale);
  } else if (scales_loss(precision_of(recipe))) {
    rules.loss_scale = optim::LossScale::dynamic();
  }
  rules.check();
  return rules;
}

optim::Schedule schedule_of(const Recipe& recipe, std::int64_t steps_per_epoch) {
  const Optimization& o = recipe.optimization;
  return optim::schedule_named(o.schedule)
      .make({.lr = recipe.lr,
             .steps_per_epoch = steps_per_epoch,
             .epochs = recipe.max_epochs,
             .warmup_epochs = recipe.warmup_epochs,
             .factor = o.factor,
             .decay_epochs = o.decay_epochs,
             .end = o.end,
             .power = o.power});
}

nn::TrainingOptions training_options(const Recipe& recipe, const optim::Schedule& schedule) {
  const Optimization& o = recipe.optimization;
  const std::int64_t batches = recipe.data_ranks() * recipe.parts;  // each with a loss and statistics of its own
  return {.optimizer = optim::optimizer_named(o.optimizer).make(o.arguments),
          .schedule = schedule,
          .weight_decay = recipe.weight_decay,
          .decay_vectors = o.decay_vectors,
          .groups = o.groups,
          .gradients = gradient_rules(recipe),
          .average = o.ema,
          .statistics_ranks = recipe.sync_batch_norm ? batches : 1,
          .loss_ranks = batches};
}

std::string optimizer_settings(const Optimization& o) {
  std::vector<std::string> settings;
  const auto add = [&](const char* name, const std::optional<double>& value) {
    if (value) settings.push_back(fmt::format("{}={}", name, *value));
  };
  add("beta1", o.arguments.beta1);
  add("beta2", o.arguments.beta2);
  add("rho", o.arguments.rho);
  add("trust", o.arguments.trust);
  add("epsilon", o.arguments.epsilon);
  return fmt::format("{}", fmt::join(settings, ", "));
}

std::string schedule_settings(const Optimization& o) {
  std::vector<std::string> settings;
  for (const std::string_view name : optim::schedule_named(o.schedule).arguments) {
    if (name == "factor") settings.push_back(fmt::format("factor={}", o.factor));
    if (name == "decay_epochs") settings.push_back(fmt::format("decay_epochs={}", fmt::join(o.decay_epochs, " ")));
    if (name == "end") settings.push_back(fmt::format("end={}", o.end));
    if (name == "power") settings.push_back(fmt::format("power={}", o.power));
  }
  return fmt::format("{}", fmt::join(settings, ", "));
}

std::string group_settings(const Optimization& o) {
  std::vector<std::string> settings;
  for (const nn::ParameterGroup& group : o.groups) {
    settings.push_back(group.frozen ? "freeze " + group.pattern
                                    : fmt::format("{} times {}", group.pattern, group.rate_factor));
  }
  if (!o.decay_vectors) settings.emplace_back("vectors do not decay");
  return fmt::format("{}", fmt::join(settings, ", "));
}

}  // namespace ridgeline::train
