#include "ridgeline/cli/optimization_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>

#include "ridgeline/core/error.h"

namespace ridgeline::cli {
namespace {

// A flag and the name of the argument that it gives.
struct ArgumentFlag {
  const char* flag;
  std::string_view argument;
};
constexpr ArgumentFlag kOptimizerFlags[] = {
    {"--momentum", "momentum"}, {"--use_nesterov", "nesterov"}, {"--beta1", "beta1"},     {"--beta2", "beta2"},
    {"--epsilon", "epsilon"},   {"--rms_rho", "rho"},           {"--lars_trust", "trust"}};
constexpr ArgumentFlag kScheduleFlags[] = {
    {"--lr_factor", "factor"}, {"--lr_decay_epochs", "decay_epochs"}, {"--lr_end", "end"}, {"--lr_power", "power"}};

// A flag that is given and that `entry` does not read is a mistake.
template <class Entry>
void refuse_unread(const Command& app, std::span<const ArgumentFlag> flags, const char* kind, const Entry& entry) {
  const auto reads = [&](std::string_view argument) {
    return std::find(entry.arguments.begin(), entry.arguments.end(), argument) != entry.arguments.end();
  };
  std::string read;
  for (const ArgumentFlag& f : flags) {
    if (reads(f.argument)) read += (read.empty() ? "" : ", ") + std::string(f.flag);
  }
  for (const ArgumentFlag& f : flags) {
    if (!app.given(f.flag) || reads(f.argument)) continue;
    throw Error(fmt::format("{} means nothing to the {} {} (it reads {})", f.flag, kind, entry.name,
                            read.empty() ? "none of these flags" : read),
                ErrorKind::usage);
  }
}

template <class Number>
Number number(const std::string& text, const std::string& flag, const char* meaning) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  throw Error(fmt::format("{}: '{}' is no {}", flag, text, meaning), ErrorKind::usage);
}

std::vector<std::int64_t> epochs(const std::string& list) {
  std::vector<std::int64_t> values;
  std::size_t begin = 0;
  while (begin < list.size()) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    values.push_back(number<std::int64_t>(list.substr(begin, end - begin), "--lr_decay_epochs=" + list, "epoch"));
    begin = end + 1;
  }
  return values;
}

nn::ParameterGroup scaled_group(const std::string& text) {
  const std::size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0) {
    throw Error(fmt::format("--lr_scale={}: PATTERN=FACTOR is meant, such as features.*=0.1", text), ErrorKind::usage);
  }
  return {.pattern = text.substr(0, at),
          .rate_factor = number<double>(text.substr(at + 1), "--lr_scale=" + text, "number")};
}

}  // namespace

void add_optimization_flags(Command& app, OptimizationFlags& f, train::Recipe& r, std::int64_t& max_train_steps) {
  train::Optimization& o = r.optimization;
  const char* group = "Optimization";
  app.option("--batch_size", r.batch_size, "images a step and rank").group(group);
  app.option("--max_epochs", r.max_epochs, "length of the run and of the learning-rate schedule").group(group);
  app.option("--max_train_steps", max_train_steps, "stop here instead of after max_epochs; 0: off").group(group);
  app.option("--warmup_epochs", r.warmup_epochs, "epochs of linear warm-up").group(group);
  app.option("--lr", r.lr, "base learning rate (0.06 for 1024 images a step, 0.015 for 256)").group(group);
  app.option("--lr_schedule", o.schedule, joined_names(optim::schedules())).group(group);
  app.option("--lr_factor", o.factor, "of step, multi_step and exponential").group(group);
  app.option("--lr_decay_epochs", f.decay_epochs, "of multi_step: where the rate is multiplied, by commas: 30,60,90")
      .group(group);
  app.option("--lr_end", o.end, "of cosine and polynomial: the last rate").group(group);
  app.option("--lr_power", o.power, "of polynomial; 1: a line").group(group);
  app.option("--optimizer", o.optimizer, joined_names(optim::optimizers())).group(group);
  app.option("--momentum", f.momentum, "of momentum, rmsprop (0 where it is not given), lars: in [0, 1)").group(group);
  app.boolean("--use_nesterov", f.nesterov, "Nesterov's form of momentum (lars: off where it is not given)")
      .group(group);
  app.option("--beta1", f.beta1, "of adam, adamw, lamb: share of the mean that is kept").group(group);
  app.option("--beta2", f.beta2, "of adam, adamw, lamb: share of the mean square that is kept").group(group);
  app.option("--epsilon", f.epsilon, "added to the root of the mean square (lamb: 1e-06)").group(group);
  app.option("--rms_rho", f.rho, "of rmsprop: share of the mean square that is kept").group(group);
  app.option("--lars_trust", f.trust, "of lars: step as a share of the parameter's norm").group(group);
  app.option("--weight_decay", r.weight_decay,
             "factor of the L2 penalty over all parameters; of adamw and lamb, of the decay itself")
      .group(group);
  app.boolean("--decay_vectors", o.decay_vectors, "whether biases and the scales of norms decay, too").group(group);
  app.option("--freeze", f.frozen,
             "parameters that are not trained, by pattern: 'features.*'; may be given several times")
      .group(group);
  app.option("--lr_scale", f.scaled, "PATTERN=FACTOR of the rate of some parameters; may be given several times")
      .group(group);
  app.option("--clip_norm", o.clip_norm, "most that the norm of all gradients may be; 0: any").group(group);
  app.option("--clip_value", o.clip_value, "most that an element of a gradient may be; 0: any").group(group);
  app.option("--accumulate_steps", o.accumulate_steps, "batches whose gradients make one step").group(group);
  app.option("--loss_scale", o.loss_scale,
             "of 16-bit runs: a number, dynamic[,INIT,FACTOR,WINDOW] or exponential,INIT,INCR_EVERY; a step that "
             "overflows is skipped")
      .group(group);
  app.option("--ema", o.ema, "share of the old averages of parameters, such as 0.999; evaluations use them; 0: none")
      .group(group);
  app.option("--early_stopping", r.early_stopping,
             "stop when so many evaluations were not better than the best one; 0: never")
      .group(group);
  app.option("--label_smoothing", r.label_smoothing, "in [0, 1)").group(group);
  app.option("--seed", r.seed, "of initial weights, data order, augmentation and dropout").group(group);
}

void finish_optimization_flags(const Command& app, const OptimizationFlags& f, train::Recipe& r) {
  train::Optimization& o = r.optimization;
  refuse_unread(app, kOptimizerFlags, "optimizer", optim::optimizer_named(o.optimizer));
  refuse_unread(app, kScheduleFlags, "schedule", optim::schedule_named(o.schedule));
  const auto given = [&](const char* flag, auto& target, auto value) {
    if (app.given(flag)) target = value;
  };
  given("--momentum", o.arguments.momentum, f.momentum);
  given("--use_nesterov", o.arguments.nesterov, f.nesterov);
  given("--beta1", o.arguments.beta1, f.beta1);
  given("--beta2", o.arguments.beta2, f.beta2);
  given("--epsilon", o.arguments.epsilon, f.epsilon);
  given("--rms_rho", o.arguments.rho, f.rho);
  given("--lars_trust", o.arguments.trust, f.trust);
  o.decay_epochs = epochs(f.decay_epochs);
  if (o.schedule == "multi_step" && o.decay_epochs.empty()) {
    throw Error("--lr_schedule=multi_step needs --lr_decay_epochs, such as 30,60,90", ErrorKind::usage);
  }
  for (const std::string& scaled : f.scaled) o.groups.push_back(scaled_group(scaled));
  for (const std::string& pattern : f.frozen) o.groups.push_back({.pattern = pattern, .frozen = true});
}

}  // namespace ridgeline::cli
