#include "ridgeline/optim/rmsprop.h"

namespace ridgeline::optim {

void RmsProp::check() const {
  check_share(rho, "rho");
  check_share(momentum, "momentum");
  check_not_negative(epsilon, "epsilon");
}

std::vector<std::string> RmsProp::slots() const {
  if (momentum == 0) return {"mean_square"};
  return {"mean_square", "momentum"};
}

std::vector<Value> RmsProp::next(const ParameterUpdate& update) const {
  Attributes attributes = {{"rho", rho}, {"epsilon", epsilon}, {"weight_decay", update.weight_decay}};
  if (momentum == 0) return apply_update(update, "rmsprop", attributes);
  attributes.set("momentum", momentum);
  return apply_update(update, "rmsprop_momentum", attributes);
}

}  // namespace ridgeline::optim
