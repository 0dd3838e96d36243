// ridgeline/optim/schedule.h
//
// A learning-rate schedule: a formula over the index of the step, written once as a loop expression. The same
// expression is evaluated on the host, as a number for logs, and becomes scalar ops over `global_step` in the step
// graph, so that a compiled or exported step carries its own schedule; both give the same bits, in f64. The library's
// formulas are in schedules.h; your own is a struct with check() and rate():
//
//   struct Halving {
//     double base;
//     void check() const {}
//     loop::Expr rate(loop::Expr step) const { return base / (1 + floor(step / 1000)); }
//   };
//   training.schedule = Halving{0.1};
//
// A Schedule is a plain value; any thread.
#pragma once

#include <concepts>
#include <cstdint>
#include <source_location>
#include <utility>

#include "ridgeline/graph/ir/builder.h"
#include "ridgeline/graph/loop/builder.h"

namespace ridgeline::optim {

template <class F>
concept RateFormula = requires(const F& formula, loop::Expr step) {
  formula.check();  // an Error that names an invalid setting
  { formula.rate(step) } -> std::convertible_to<loop::Expr>;
};

class Schedule {
 public:
  // Checks the formula's settings: a Schedule is always valid.
  template <RateFormula F>
  Schedule(const F& formula) : Schedule(checked(formula)) {}  // NOLINT(google-explicit-constructor): the formula is it

  // Over one operand, the index of the step (0 is the first).
  const loop::Expression& formula() const { return formula_; }
  // The formula at another index, for formulas composed of others.
  loop::Expr rate(loop::Expr step) const { return loop::paste(formula_, step); }

 private:
  explicit Schedule(loop::Expression formula) : formula_(std::move(formula)) {}
  template <class F>
  static loop::Expression checked(const F& formula) {
    formula.check();
    return loop::define<1>([&](loop::Expr step) { return formula.rate(step); });
  }
  loop::Expression formula_;
};

// The rate of the step of index `step` (0 is the first step of the run).
double learning_rate(const Schedule& schedule, std::int64_t step);
// The same inside a graph: global_step i64[] is the index of the running step. Result f64[].
Value learning_rate(const Schedule& schedule, Value global_step,
                    const std::source_location& at = std::source_location::current());

}  // namespace ridgeline::optim
