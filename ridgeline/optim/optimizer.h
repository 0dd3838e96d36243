// ridgeline/optim/optimizer.h
//
// An optimizer: which slots a parameter has, and how the gradient updates both. Stateless: it builds ops; slots are
// states of the graph, zero at first, owned by the parameter store at run time. The library's optimizers have their own
// files; your own is a struct with the members of UpdateRule. A plain value.
#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <vector>

#include "ridgeline/graph/ir/builder.h"

namespace ridgeline::optim {

// What all parameters of a step have in common.
struct StepValues {
  Value rate;   // f32[], the learning rate
  Value index;  // i64[], of this step; 0 is the first of the run
  Location where;
};

struct ParameterUpdate {
  Value parameter;
  std::vector<Value> slots;  // in the order of the rule's, of the parameter's type
  Value gradient;
  std::vector<Value> scalars;  // as the rule's scalars() made them
  double weight_decay = 0;     // of this parameter
  bool decays = true;          // false for parameters excluded from decay (biases, scales of norms)
  Value apply = {};            // bool[]: whether the step counts; undefined: always
  Location where;
};

template <class R>
concept UpdateRule = requires(const R& rule, const StepValues& step, const ParameterUpdate& update) {
  rule.check();  // an Error that names an invalid setting
  { rule.slots() } -> std::convertible_to<std::vector<std::string>>;
  // Whether weight decay is the gradient of an L2 penalty, which is then included in the loss.
  { rule.coupled() } -> std::convertible_to<bool>;
  // f32[] each, computed once for all parameters with the same rate.
  { rule.scalars(step) } -> std::convertible_to<std::vector<Value>>;
  // The parameter's next version, then the slots'.
  { rule.next(update) } -> std::convertible_to<std::vector<Value>>;
};

class Optimizer {
 public:
  // Checks the rule's settings: an Optimizer is always valid.
  template <UpdateRule R>
  Optimizer(const R& rule) : slots_((rule.check(), rule.slots())), coupled_(rule.coupled()) {  // NOLINT: it is the rule
    scalars_ = [rule](const StepValues& step) { return rule.scalars(step); };
    next_ = [rule](const ParameterUpdate& update) { return rule.next(update); };
  }

  const std::vector<std::string>& slots() const { return slots_; }
  bool coupled() const { return coupled_; }
  std::vector<Value> scalars(const StepValues& step) const { return scalars_(step); }
  // Adds the ops of one parameter, named "<parameter>/update", and declares its next version and its slots'.
  void update(const ParameterUpdate& update) const;

 private:
  std::vector<std::string> slots_;
  bool coupled_;
  std::function<std::vector<Value>(const StepValues&)> scalars_;
  std::function<std::vector<Value>(const ParameterUpdate&)> next_;
};

// In the graph, in the store and in checkpoints: "dense/kernel/momentum".
std::string slot_name(const std::string& parameter, const std::string& slot);

// For rules: adds the op over parameter, slots, gradient and scalars, in this order; returns its results. If the step
// may not count, the op is conditional; for what rules compute by other ops, Optimizer::update does the same.
std::vector<Value> apply_update(const ParameterUpdate& update, std::string_view op, const Attributes& attributes);
// Errors (usage) "<name> is ...; it must ...".
void check_share(double value, const char* name);         // in [0, 1)
void check_not_negative(double value, const char* name);  // and finite

}  // namespace ridgeline::optim
