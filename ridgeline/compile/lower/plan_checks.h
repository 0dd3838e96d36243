// ridgeline/compile/lower/plan_checks.h
//
// The checks of the plan's verifier (verify_plan.h), in the order in which they may rely on each other.
#pragma once

#include <string>

#include "ridgeline/compile/lower/places.h"
#include "ridgeline/compile/lower/verify_plan.h"

namespace ridgeline {

// Throws an InternalError.
[[noreturn]] void plan_fault(const Plan& plan, const std::string& what);

void check_shape(const Plan& plan, PlanStage stage);
void check_contents(const Plan& plan, const Places& places);
void check_order(const Plan& plan, const Places& places);

}  // namespace ridgeline
