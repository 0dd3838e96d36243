#include "ridgeline/data/runtime/steps/nested_plan.h"

#include <numeric>
#include <utility>

namespace ridgeline::data {

NestedPlan::NestedPlan(const Transform& t) : count_(t.operations.size()) {
  if (t.op == "random_apply") {
    kind_ = Kind::apply;
    p_ = arg<double>(t.args, "p");
  } else if (t.op == "random_order") {
    kind_ = Kind::order;
  } else if (t.op == "random_choice") {
    kind_ = Kind::choice;
    std::vector<double> weights = arg<Reals>(t.args, "weights");
    if (weights.empty()) weights.assign(count_, 1.0);
    const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
    double sum = 0;
    for (const double weight : weights) ends_.push_back((sum += weight) / all);
  } else {
    RIDGELINE_CHECK(t.op == "compose", "an operation made of others");
  }
}

std::vector<std::size_t> NestedPlan::draw(SampleRandom& random) const {
  if (kind_ == Kind::choice) {
    const double at = random.uniform();
    std::size_t chosen = 0;
    while (chosen + 1 < count_ && !(at < ends_[chosen])) ++chosen;
    return {chosen};
  }
  if (kind_ == Kind::apply && !(random.uniform() < p_)) return {};
  std::vector<std::size_t> all(count_);
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (kind_ == Kind::order) {
    for (std::size_t last = count_; last-- > 1;)
      std::swap(all[last], all[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(last)))]);
  }
  return all;
}

}  // namespace ridgeline::data
