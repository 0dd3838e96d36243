#include "ridgeline/optim/schedules.h"

#include <cmath>
#include <numbers>
#include <numeric>

#include "ridgeline/core/error.h"
#include "ridgeline/core/math.h"
#include "ridgeline/optim/optimizer.h"

namespace ridgeline::optim {
namespace {

using loop::Expr;

[[noreturn]] void refuse(const std::string& what) { throw Error(what, ErrorKind::usage); }

void check_rate(double value) { check_not_negative(value, "learning rate"); }

// `positive`: for factors whose logarithm is taken.
void check_factor(double factor, const char* schedule, bool positive = false) {
  if (std::isfinite(factor) && factor >= 0 && !(positive && factor == 0)) return;
  refuse("factor of the " + std::string(schedule) + " is " + std::to_string(factor) + "; it must be finite and " +
         (positive ? "positive" : "not negative"));
}

void check_steps(std::int64_t steps, const std::string& what) {
  if (steps < 1) refuse(what + " has " + std::to_string(steps) + " steps; it needs at least one");
}

double real(std::int64_t value) { return static_cast<double>(value); }

// From `start` at share 0 to `end` at share 1, along half a wave of the cosine.
Expr cosine_arc(double start, double end, Expr share) {
  return end + (start - end) * (1.0 + cos(std::numbers::pi * share)) / 2.0;
}

// factor^x. The logarithm is taken here, so that a graph has one exponential only.
Expr power(double factor, Expr x) { return exp(portable_log(factor) * x); }

}  // namespace

void Constant::check() const { check_rate(base); }
Expr Constant::rate(Expr) const { return base; }

void StepDecay::check() const {
  check_rate(base);
  check_factor(factor, "step decay", true);
  check_steps(every, "a stair of the step decay");
}
Expr StepDecay::rate(Expr i) const { return base * power(factor, floor(i / real(every))); }

void MultiStep::check() const {
  check_rate(base);
  check_factor(factor, "step decay");
  std::int64_t last = -1;
  for (const std::int64_t boundary : boundaries) {
    if (boundary <= last) refuse("boundaries of the step decay must be steps in rising order");
    last = boundary;
  }
}
Expr MultiStep::rate(Expr i) const {
  double value = base;
  Expr result = value;
  for (const std::int64_t boundary : boundaries) {
    value *= factor;
    result = select(i < real(boundary), result, value);
  }
  return result;
}

void Exponential::check() const {
  check_rate(base);
  check_factor(factor, "exponential decay", true);
  check_steps(every, "a period of the exponential decay");
}
Expr Exponential::rate(Expr i) const { return base * power(factor, i / real(every)); }

void Polynomial::check() const {
  check_rate(base);
  check_not_negative(end, "end of the learning rate");
  check_steps(steps, "the polynomial decay");
  if (!std::isfinite(this->power) || this->power <= 0) {
    refuse("power of the polynomial decay is " + std::to_string(this->power) + "; it must be finite and positive");
  }
}
Expr Polynomial::rate(Expr i) const {
  const Expr left = 1.0 - min(i, real(steps)) / real(steps);
  // exp(power * log(0)) is 0, as it must be.
  const Expr share = this->power == 1 ? left : exp(this->power * log(left));
  return (base - end) * share + end;
}

void Cosine::check() const {
  check_rate(base);
  check_not_negative(end, "end of the learning rate");
  check_steps(steps, "the cosine");
}
Expr Cosine::rate(Expr i) const { return cosine_arc(base, end, min(i, real(steps)) / real(steps)); }

void WarmupCosine::check() const {
  check_rate(base);
  check_steps(steps_per_epoch, "an epoch");
  if (epochs < 1) refuse("max_epochs is " + std::to_string(epochs) + "; it must be at least 1");
  if (warmup_epochs < 0) refuse("warmup_epochs is " + std::to_string(warmup_epochs) + "; it must not be negative");
}
Expr WarmupCosine::rate(Expr step) const {
  const double warmup = real(warmup_epochs * steps_per_epoch);
  const Expr i = min(step, real(epochs * steps_per_epoch - 1));
  const Expr epoch = floor(i / real(steps_per_epoch));
  const Expr cosine = base * (1.0 + cos(std::numbers::pi * epoch / real(epochs))) / 2.0;
  if (warmup == 0) return cosine;
  return select(i < warmup, base * (i + 1.0) / warmup, cosine);
}

void OneCycle::check() const {
  check_rate(peak);
  check_steps(steps, "the cycle");
  if (!(rise > 0 && rise < 1) || rise * real(steps) <= 1) {
    refuse("rise is " + std::to_string(rise) + "; a share of the " + std::to_string(steps) +
           " steps in (0, 1) is meant, of more than one step");
  }
  check_factor(1 / start_factor, "start of the cycle", true);
  check_factor(1 / end_factor, "end of the cycle", true);
}
Expr OneCycle::rate(Expr step) const {
  const double top = rise * real(steps) - 1, last = real(steps - 1);
  const double start = peak / start_factor;
  const Expr i = min(step, last);
  return select(i <= top, cosine_arc(start, peak, i / top),
                cosine_arc(peak, start / end_factor, (i - top) / (last - top)));
}

void Warmup::check() const { check_steps(steps, "the warm-up"); }
Expr Warmup::rate(Expr i) const {
  return select(i < real(steps), learning_rate(then, 0) * (i + 1.0) / real(steps), then.rate(i - real(steps)));
}

namespace {

// The schedule after the recipe's linear warm-up, if there is one.
template <class Formula>
Schedule warmed(const ScheduleArguments& a, const Formula& formula) {
  if (a.warmup_epochs == 0) return formula;
  return Warmup{.steps = a.warmup_epochs * a.steps_per_epoch, .then = formula};
}

// The steps after the warm-up.
std::int64_t decay_steps(const ScheduleArguments& a) { return (a.epochs - a.warmup_epochs) * a.steps_per_epoch; }

Schedule make_multi_step(const ScheduleArguments& a) {
  MultiStep formula{.base = a.lr, .factor = a.factor};
  for (const std::int64_t epoch : a.decay_epochs) {
    if (epoch < a.warmup_epochs) {
      refuse("epoch " + std::to_string(epoch) + " of multi_step lies inside the warm-up of " +
             std::to_string(a.warmup_epochs) + " epochs, where the rate only rises");
    }
    formula.boundaries.push_back((epoch - a.warmup_epochs) * a.steps_per_epoch);
  }
  return warmed(a, formula);
}

const ScheduleArgument kScheduleArguments[] = {
    {"lr", "the rate that the others are shares of, 0 or more", &ScheduleArguments::lr},
    {"steps_per_epoch", "steps", &ScheduleArguments::steps_per_epoch},
    {"epochs", "epochs that the whole schedule takes", &ScheduleArguments::epochs},
    {"warmup", "epochs in which the rate rises in a line, at the beginning", &ScheduleArguments::warmup_epochs},
    {"factor", "by what the rate is multiplied", &ScheduleArguments::factor},
    {"decay_epochs", "epochs behind which it is, rising", &ScheduleArguments::decay_epochs},
    {"end", "the last rate", &ScheduleArguments::end},
    {"power", "of the share of the time that is left, above 0", &ScheduleArguments::power},
};

const ScheduleEntry kSchedules[] = {
    {"warmup_cosine",
     "the recipe's: linear warm-up, then a cosine that changes once an epoch",
     {},
     [](const ScheduleArguments& a) -> Schedule {
       return WarmupCosine{a.lr, a.steps_per_epoch, a.warmup_epochs, a.epochs};
     }},
    {"cosine",
     "a cosine that changes each step, down to its end",
     {"end"},
     [](const ScheduleArguments& a) { return warmed(a, Cosine{.base = a.lr, .end = a.end, .steps = decay_steps(a)}); }},
    {"constant",
     "the same rate throughout",
     {},
     [](const ScheduleArguments& a) { return warmed(a, Constant{.base = a.lr}); }},
    {"multi_step", "times a factor at each of some epochs", {"factor", "decay_epochs"}, make_multi_step},
    {"exponential",
     "times a factor over each epoch, without stairs",
     {"factor"},
     [](const ScheduleArguments& a) {
       return warmed(a, Exponential{.base = a.lr, .factor = a.factor, .every = a.steps_per_epoch});
     }},
    {"step",
     "times a factor at the end of each epoch",
     {"factor"},
     [](const ScheduleArguments& a) {
       return warmed(a, StepDecay{.base = a.lr, .factor = a.factor, .every = a.steps_per_epoch});
     }},
    {"polynomial",
     "down to its end with a power of the time left (1: a line)",
     {"end", "power"},
     [](const ScheduleArguments& a) {
       return warmed(a, Polynomial{.base = a.lr, .end = a.end, .steps = decay_steps(a), .power = a.power});
     }},
    {"one_cycle",
     "up along a cosine for the first 3 of 10 steps, then down to nearly nothing; no other warm-up",
     {},
     [](const ScheduleArguments& a) -> Schedule {
       return OneCycle{.peak = a.lr, .steps = a.epochs * a.steps_per_epoch};
     },
     false},
};

}  // namespace

std::span<const ScheduleArgument> schedule_arguments() { return kScheduleArguments; }
std::span<const ScheduleEntry> schedules() { return kSchedules; }

const ScheduleEntry& schedule_named(std::string_view name) {
  std::vector<std::string> names;
  for (const ScheduleEntry& entry : kSchedules) {
    if (entry.name == name) return entry;
    names.emplace_back(entry.name);
  }
  const std::string all = std::accumulate(names.begin() + 1, names.end(), names.front(),
                                          [](const std::string& a, const std::string& b) { return a + ", " + b; });
  refuse("unknown schedule '" + std::string(name) + "'" + did_you_mean(name, names) + " (allowed: " + all + ")");
}

}  // namespace ridgeline::optim
