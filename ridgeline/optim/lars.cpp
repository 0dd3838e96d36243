#include "ridgeline/optim/lars.h"

#include "ridgeline/optim/trust_ratio.h"

namespace ridgeline::optim {

void Lars::check() const {
  base().check();
  check_not_negative(trust, "trust");
  check_not_negative(epsilon, "epsilon");
}

std::vector<Value> Lars::next(const ParameterUpdate& update) const {
  if (!update.decays) return base().next(update);
  const Value norm_w = norm(update.parameter, update.where), norm_g = norm(update.gradient, update.where);
  const Value scale =
      ratio_or_one(norm_w, norm_g, norm_w * trust, norm_g + norm_w * update.weight_decay + epsilon, update.where);
  ParameterUpdate scaled = update;
  Value gradient = update.gradient;
  if (update.weight_decay != 0) gradient = gradient + update.parameter * update.weight_decay;
  scaled.gradient = gradient * scale;
  scaled.weight_decay = 0;
  return base().next(scaled);
}

}  // namespace ridgeline::optim
