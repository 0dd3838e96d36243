#include "ridgeline/optim/momentum.h"

namespace ridgeline::optim {

void Momentum::check() const { check_share(momentum, "momentum"); }

std::vector<std::string> Momentum::slots() const {
  if (momentum == 0) return {};
  return {"momentum"};
}

std::vector<Value> Momentum::next(const ParameterUpdate& update) const {
  if (momentum == 0) return apply_update(update, "sgd", {{"weight_decay", update.weight_decay}});
  return apply_update(update, "sgd_momentum",
                      {{"momentum", momentum}, {"nesterov", nesterov}, {"weight_decay", update.weight_decay}});
}

}  // namespace ridgeline::optim
