// ridgeline/data/runtime/steps/nested_plan.h
//
// Which of its operations a compose, random_apply, random_choice or random_order runs, for samples and for whole
// batches alike. Immutable: any thread.
#pragma once

#include <vector>

#include "ridgeline/core/random.h"
#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

class NestedPlan {
 public:
  explicit NestedPlan(const Transform& transform);
  // Positions among the operations, in the order of running. compose draws nothing; random_apply a double (all of them
  // if it is below p); random_choice a double (the first whose share of the weights ends above it); random_order an
  // integer for each but one, from the last place down (Fisher-Yates).
  std::vector<std::size_t> draw(SampleRandom& random) const;

 private:
  enum class Kind { compose, apply, choice, order };
  Kind kind_ = Kind::compose;
  std::size_t count_;
  double p_ = 1;
  std::vector<double> ends_;  // of the choices' shares, rising to 1
};

}  // namespace ridgeline::data
