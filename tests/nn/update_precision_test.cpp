// Master weights are f32 in every precision mode, also with an optimizer made of plain ops: nothing between a
// parameter, its slots, its gradient and the rate is stored in a narrower type.
#include <gtest/gtest.h>

#include "ridgeline/graph/ir/verifier.h"
#include "ridgeline/graph/pass/passes.h"
#include "ridgeline/nn/training_step.h"
#include "ridgeline/optim/optimizers.h"

namespace ridgeline::nn {
namespace {

Graph step_of(const optim::OptimizerEntry& entry) {
  const Step step = build_training_step({.model = &model_named("resnet20"), .batch_size = 2, .image_size = 8},
                                        {.optimizer = entry.make({}),
                                         .schedule = optim::Cosine{.base = 0.1, .steps = 100},
                                         .groups = {{.pattern = "linear.*", .rate_factor = 0.5}}});
  return step.graph;
}

Graph narrowed(const Graph& graph, const PrecisionMode& mode) {
  PassContext context{.fusion = {}, .precision = PrecisionPolicy::of(mode)};
  PassResults results;
  return run_passes(graph, context, results, fusion_passes());
}

bool narrow(const Graph& graph, ValueId id) {
  const DType dtype = graph.value(id).type.dtype;
  return dtype == DType::bf16 || dtype == DType::f16;
}

// The next versions of parameters and everything they are computed from, except gradients, which are rounded as the
// mode says.
std::vector<bool> made_into_updates(const Graph& graph) {
  std::vector<bool> read(graph.values.size(), false);
  for (const Update& update : graph.updates) {
    if (graph.value(update.current).kind == ValueKind::param) read[static_cast<std::size_t>(update.next)] = true;
  }
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    bool part = false;
    for (ValueId id : node.outputs) part = part || read[static_cast<std::size_t>(id)];
    if (!part) continue;
    for (ValueId id : node.inputs) {
      if (graph.value(id).kind == ValueKind::activation) read[static_cast<std::size_t>(id)] = true;
    }
  }
  return read;
}

TEST(UpdatePrecision, EveryOptimizerKeepsItsArithmeticInEveryMode) {
  for (const optim::OptimizerEntry& entry : optim::optimizers()) {
    const Graph graph = step_of(entry);
    for (const PrecisionMode& mode : precision_modes()) {
      SCOPED_TRACE(std::string(entry.name) + " in " + std::string(mode.name));
      const Graph typed = narrowed(graph, mode);
      verify(typed);
      const std::vector<bool> read = made_into_updates(typed);
      std::size_t parts = 0, narrows = 0;
      for (const Node& node : typed.nodes) {
        for (ValueId id : node.outputs) {
          narrows += narrow(typed, id) ? 1 : 0;
          if (!read[static_cast<std::size_t>(id)]) continue;
          ++parts;
          EXPECT_FALSE(narrow(typed, id)) << node.name << " (" << node.op << ")";
        }
      }
      EXPECT_GT(parts, 50u);
      if (mode.rewrite == PrecisionRewrite::everything || mode.rewrite == PrecisionRewrite::lists) {
        EXPECT_GT(narrows, 60u) << "the mode does something";
      }
    }
  }
}

}  // namespace
}  // namespace ridgeline::nn
