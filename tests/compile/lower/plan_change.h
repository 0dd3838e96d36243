// tests/compile/lower/plan_change.h
//
// Shared by the mutations of plans.
#pragma once

#include "tests/compile/lower/plan_mutations.h"

namespace ridgeline::testing {

template <class T>
Undo change(T& what, T value) {
  T old = what;
  what = std::move(value);
  return [&what, old] { what = old; };
}

inline Launch& launch_of(Plan& plan, int i) { return plan.launches[static_cast<std::size_t>(i)]; }

inline int drawn_between(SampleRandom& random, int from, int to) { return static_cast<int>(random.integer(from, to)); }

}  // namespace ridgeline::testing
