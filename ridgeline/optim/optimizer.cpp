#include "ridgeline/optim/optimizer.h"

#include <cmath>

#include "ridgeline/core/error.h"

namespace ridgeline::optim {

std::string slot_name(const std::string& parameter, const std::string& slot) { return parameter + "/" + slot; }

void Optimizer::update(const ParameterUpdate& update) const {
  RIDGELINE_CHECK(update.slots.size() == slots_.size(), "an optimizer's slots");
  GraphBuilder& builder = update.parameter.builder();
  builder.name_next(builder.graph().value(update.parameter.id()).name + "/update");
  const std::vector<Value> next = next_(update);
  RIDGELINE_CHECK(next.size() == slots_.size() + 1, "an optimizer's next values");
  builder.update(update.parameter, next[0]);
  for (std::size_t i = 0; i < slots_.size(); ++i) builder.update(update.slots[i], next[i + 1]);
}

std::vector<Value> apply_update(const ParameterUpdate& update, std::string_view op, const Attributes& attributes) {
  std::vector<Value> operands = {update.parameter};
  operands.insert(operands.end(), update.slots.begin(), update.slots.end());
  operands.push_back(update.gradient);
  operands.insert(operands.end(), update.scalars.begin(), update.scalars.end());
  return update.parameter.builder().apply_all(op, operands, attributes, update.where);
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
