#include "ridgeline/optim/schedule.h"

#include <array>

#include "ridgeline/graph/loop/evaluate.h"
#include "ridgeline/graph/op/expand_loop.h"

namespace ridgeline::optim {

double learning_rate(const Schedule& schedule, std::int64_t step) {
  const std::array operands = {static_cast<double>(step)};
  return loop::evaluate(schedule.formula(), operands).front();
}

Value learning_rate(const Schedule& schedule, Value global_step, const std::source_location& at) {
  const Location where = Location::of(at);
  GraphBuilder& builder = global_step.builder(at);
  const GraphBuilder::Scope scope(builder, "learning_rate");
  const std::array operands = {builder.apply_at(where, "cast", {global_step}, {{"to", DType::f64}})};
  return expand_loop(schedule.formula(), operands, where).front();
}

}  // namespace ridgeline::optim
