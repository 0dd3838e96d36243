// tests/compile/lower/plan_mutations.h
//
// Ways to break a plan: each makes a program that would compute something else, have a race, or violate a rule of
// exchanges, the store or callers. If the construction does not guarantee that, it is checked independently of the
// verifier.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "ridgeline/compile/lower/plan.h"
#include "ridgeline/core/random.h"

namespace ridgeline::testing {

using Undo = std::function<void()>;

struct PlanMutation {
  const char* name;
  // Breaks one thing at random; nothing if this draw found nothing to break.
  std::optional<Undo> (*mutate)(Plan& plan, SampleRandom& random);
};
// Mutations of values and their memory, of exchanges, of launches that some runs skip, and of lanes.
std::span<const PlanMutation> value_mutations();
std::span<const PlanMutation> lane_mutations();

}  // namespace ridgeline::testing
