#include "ridgeline/optim/optimizer.h"

#include <algorithm>
#include <cmath>

#include "ridgeline/core/error.h"
#include "ridgeline/core/location_text.h"

namespace ridgeline::optim {
namespace {

// Whether the op that makes the value keeps the old one in a step that does not count.
bool is_conditional(const Graph& graph, ValueId value) {
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    if (std::find(node->outputs.begin(), node->outputs.end(), value) == node->outputs.end()) continue;
    return op_def(node->op).has(kUpdate) && node->attributes.boolean("conditional");
  }
  return false;
}

}  // namespace

std::string slot_name(const std::string& parameter, const std::string& slot) { return parameter + "/" + slot; }

void Optimizer::update(const ParameterUpdate& update) const {
  GraphBuilder& builder = update.parameter.builder(update.where);
  const std::string name = builder.graph().value(update.parameter.id()).name;
  const auto check_count = [&](std::size_t found, std::size_t meant, const char* what) {
    if (found == meant) return;
    throw Error("the optimizer of parameter " + name + " has " + std::to_string(slots_.size()) +
                " slots: " + std::to_string(meant) + " " + what + " are meant, not " + std::to_string(found) +
                behind_message(update.where));
  };
  check_count(update.slots.size(), slots_.size(), "values of slots");
  builder.name_next(name + "/update");
  std::vector<Value> next = next_(update);
  check_count(next.size(), slots_.size() + 1, "next values");
  if (update.apply.defined() && !is_conditional(builder.graph(), next[0].id())) {
    next[0] = builder.apply_at(update.where, "select", {update.apply, next[0], update.parameter});
    for (std::size_t i = 0; i < slots_.size(); ++i)
      next[i + 1] = builder.apply_at(update.where, "select", {update.apply, next[i + 1], update.slots[i]});
  }
  builder.update(update.parameter, next[0], update.where);
  for (std::size_t i = 0; i < slots_.size(); ++i) builder.update(update.slots[i], next[i + 1], update.where);
}

std::vector<Value> apply_update(const ParameterUpdate& update, std::string_view op, const Attributes& attributes) {
  std::vector<Value> operands = {update.parameter};
  operands.insert(operands.end(), update.slots.begin(), update.slots.end());
  operands.push_back(update.gradient);
  operands.insert(operands.end(), update.scalars.begin(), update.scalars.end());
  Attributes all = attributes;
  if (update.apply.defined()) {
    operands.push_back(update.apply);
    all.set("conditional", true);
  }
  return update.parameter.builder().apply_all(op, operands, all, update.where);
}

void check_share(double value, const char* name) {
  if (value >= 0 && value < 1) return;
  throw Error(std::string(name) + " is " + std::to_string(value) + "; it must lie in [0, 1)", ErrorKind::usage);
}

void check_not_negative(double value, const char* name) {
  if (std::isfinite(value) && value >= 0) return;
  throw Error(std::string(name) + " is " + std::to_string(value) + "; it must be finite and not negative",
              ErrorKind::usage);
}

}  // namespace ridgeline::optim
