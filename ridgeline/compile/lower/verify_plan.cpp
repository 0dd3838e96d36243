#include "ridgeline/compile/lower/verify_plan.h"

#include "ridgeline/compile/lower/plan_checks.h"
#include "ridgeline/core/error.h"

namespace ridgeline {

void plan_fault(const Plan& plan, const std::string& what) {
  check_failed("the plan does what its graph says", "plan @" + plan.graph.name + ": " + what,
               std::source_location::current());
}

void verify(const Plan& plan, PlanStage stage) {
  check_shape(plan, stage);
  const Places places(plan);
  check_contents(plan, places);
  if (stage == PlanStage::lanes) check_order(plan, places);
}

}  // namespace ridgeline
