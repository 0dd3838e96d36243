// tests/compile/lower/plan_mutations.h
//
// Ways to break a plan: each makes a program that would compute something else, race, or break what an exchange, the
// store or a caller relies on. Where that cannot be told by its making it is searched for by another way than the
// verifier's.
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
  // Breaks one thing by chance; nothing where this draw found none.
  std::optional<Undo> (*mutate)(Plan& plan, SampleRandom& random);
};
// Of values and their places, of exchanges, of what some runs leave out; and of lanes.
std::span<const PlanMutation> value_mutations();
std::span<const PlanMutation> lane_mutations();

}  // namespace ridgeline::testing
