#include "ridgeline/optim/momentum.h"

#include <array>
#include <cmath>

#include "ridgeline/core/error.h"

namespace ridgeline::optim {

void check(const Momentum& optimizer) {
  if (!(optimizer.momentum >= 0 && optimizer.momentum < 1)) {
    throw Error("momentum is " + std::to_string(optimizer.momentum) + "; it must lie in [0, 1)", ErrorKind::usage);
  }
  if (!std::isfinite(optimizer.weight_decay) || optimizer.weight_decay < 0) {
    throw Error("weight_decay is " + std::to_string(optimizer.weight_decay) + "; it must be finite and not negative",
                ErrorKind::usage);
  }
}

std::string momentum_slot(const std::string& parameter) { return parameter + "/momentum"; }

void update(const Momentum& optimizer, Value parameter, Value slot, Value gradient, Value learning_rate,
            double weight_decay, const std::source_location& at) {
  GraphBuilder& builder = parameter.builder();
  const Location where = Location::of(at);
  builder.name_next(builder.graph().value(parameter.id()).name + "/update");
  if (optimizer.momentum == 0) {
    builder.update(parameter, builder.apply_at(where, "sgd", {parameter, gradient, learning_rate},
                                               {{"weight_decay", weight_decay}}));
    return;
  }
  const std::array operands = {parameter, slot, gradient, learning_rate};
  const std::vector<Value> next = builder.apply_all(
      "sgd_momentum", operands,
      {{"momentum", optimizer.momentum}, {"nesterov", optimizer.nesterov}, {"weight_decay", weight_decay}}, where);
  builder.update(parameter, next[0]);
  builder.update(slot, next[1]);
}

}  // namespace ridgeline::optim
