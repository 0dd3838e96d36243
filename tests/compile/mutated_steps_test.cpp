// Random steps with random changes: operands replaced by other values of their type, updates by any value that fits,
// arguments and intermediate values returned, inputs turned into parameters and states, ops moved later, views
// inserted, updates removed. Every step that the verifier accepts must compile in every way and give the results of the
// references. RIDGELINE_RANDOM_GRAPHS=N tries N instead of a few hundred, RIDGELINE_RANDOM_SEED=S begins at S.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/ir/verifier.h"
#include "tests/compile/random_check.h"
#include "tests/compile/support.h"
#include "tests/support/environment.h"

namespace ridgeline {
namespace {

using testing::GraphCase;
using testing::Setting;

class Mutator {
 public:
  Mutator(Graph& graph, SampleRandom& random) : graph_(graph), random_(random) {}

  // Changes that leave the graph equal or valid.
  void run() {
    for (std::int64_t changes = 1 + below(6); changes > 0; --changes) {
      const Graph before = graph_;
      change();
      try {
        verify(graph_);
      } catch (const Error&) {
        graph_ = before;
      }
    }
  }

 private:
  std::int64_t below(std::int64_t n) { return random_.integer(0, n - 1); }
  Node& any_node() { return graph_.nodes[static_cast<std::size_t>(below(std::ssize(graph_.nodes)))]; }
  ValueId any_value() { return static_cast<ValueId>(below(std::ssize(graph_.values))); }

  // Another value of that type, or kNoValue.
  ValueId alike(ValueId id) {
    std::vector<ValueId> same;
    for (std::size_t v = 0; v < graph_.values.size(); ++v) {
      if (graph_.values[v].type == graph_.value(id).type && static_cast<ValueId>(v) != id)
        same.push_back(static_cast<ValueId>(v));
    }
    return same.empty() ? kNoValue : same[static_cast<std::size_t>(below(std::ssize(same)))];
  }

  void change() {
    if (graph_.nodes.empty()) return;
    switch (below(8)) {
      case 0:
      case 1: {
        Node& node = any_node();
        if (node.inputs.empty()) return;
        ValueId& operand = node.inputs[static_cast<std::size_t>(below(std::ssize(node.inputs)))];
        operand = alike(operand);
        return;
      }
      case 2: {
        if (graph_.updates.empty()) return;
        Update& update = graph_.updates[static_cast<std::size_t>(below(std::ssize(graph_.updates)))];
        update.next = alike(update.next);
        return;
      }
      case 3: graph_.returns.push_back({"more" + std::to_string(graph_.returns.size()), any_value()}); return;
      case 4: {
        ValueInfo& info = graph_.value(graph_.arguments[static_cast<std::size_t>(below(std::ssize(graph_.arguments)))]);
        const ValueKind kinds[] = {ValueKind::input, ValueKind::param, ValueKind::state};
        info.kind = kinds[below(3)];
        return;
      }
      case 5: {  // one op later
        const auto from = static_cast<std::ptrdiff_t>(below(std::ssize(graph_.nodes)));
        const auto to = from + 1 + below(std::ssize(graph_.nodes) - from);
        std::rotate(graph_.nodes.begin() + from, graph_.nodes.begin() + from + 1, graph_.nodes.begin() + to);
        return;
      }
      case 6: add_view(); return;
      default:
        if (graph_.updates.empty()) return;
        graph_.updates.erase(graph_.updates.begin() + below(std::ssize(graph_.updates)));
    }
  }

  // Before one reader, through a flat shape.
  void add_view() {
    const auto at = static_cast<std::size_t>(below(std::ssize(graph_.nodes)));
    if (graph_.nodes[at].inputs.empty()) return;
    const auto operand = static_cast<std::size_t>(below(std::ssize(graph_.nodes[at].inputs)));
    ValueId id = graph_.nodes[at].inputs[operand];
    const ValueType type = graph_.value(id).type;
    std::vector<Node> views;
    for (const Shape& shape : {Shape{type.shape.elements()}, type.shape}) {
      Node view;
      view.op = "reshape";
      view.name = "view" + std::to_string(graph_.values.size());
      view.inputs = {id};
      view.attributes = complete_attributes(op_def("reshape"), {{"shape", shape.dims()}});
      id = graph_.add_value({{type.dtype, shape}, ValueKind::activation, ""});
      view.outputs = {id};
      views.push_back(std::move(view));
    }
    graph_.nodes[at].inputs[operand] = id;
    graph_.nodes.insert(graph_.nodes.begin() + static_cast<std::ptrdiff_t>(at), views.begin(), views.end());
  }

  Graph& graph_;
  SampleRandom& random_;
};

bool all_finite(const Graph& graph, const Arguments& arguments) {
  for (const Tensor& t : evaluate(graph, arguments)) {
    if (!t.defined() || !is_floating(t.dtype())) continue;
    for (std::int64_t i = 0; i < t.elements(); ++i) {
      if (!std::isfinite(t.at(i))) return false;
    }
  }
  return true;
}

TEST(MutatedSteps, GiveTheReferencesResultsThroughCompile) {
  const std::int64_t first = number_from_environment("RIDGELINE_RANDOM_SEED", 0);
  const std::int64_t count = number_from_environment("RIDGELINE_RANDOM_GRAPHS", 150);
  std::int64_t exact_ones = 0;
  int failed = 0;
  for (std::int64_t seed = first; seed < first + count && failed < 5; ++seed) {
    const testing::RandomStep step = testing::random_step(static_cast<std::uint64_t>(seed));
    SampleRandom random(philox_key(static_cast<std::uint64_t>(seed), "mutated"), 0, 0);
    GraphCase found{step.train, step.arguments};
    Mutator(found.graph, random).run();
    if (!all_finite(found.graph, found.arguments)) continue;
    const bool exact = testing::holds_exactly(found.graph, found.arguments);
    exact_ones += exact ? 1 : 0;
    for (int i = 0; i < 3; ++i) {
      Setting setting;
      setting.device = i == 2 ? (seed % 2 == 0 ? "list" : "simulated") : "cpu";
      setting.threads = 1 + static_cast<int>((seed + i) % 3);
      setting.options.fusion = i != 1;
      setting.options.reuse_memory = (seed + i) % 3 != 0;
      setting.options.verify = true;
      if ((seed + i) % 4 == 1) setting.memory_percent = 90;
      if ((seed + i) % 4 == 2) setting.options.disabled_passes = {"schedule"};
      if (difference(found, exact, setting).empty()) continue;
      ++failed;
      const auto fails = [&](const GraphCase& c) { return !difference(c, exact, setting).empty(); };
      const GraphCase small = testing::shrink(found, fails);
      const std::string comment = "seed " + std::to_string(seed) + (exact ? " (exact), " : " (rounded), ") +
                                  to_string(setting) + "\n" + difference(small, exact, setting);
      ADD_FAILURE() << comment << "\n"
                    << testing::write_case(small, "mutated_" + std::to_string(seed), comment) << "\n"
                    << to_text(small.graph, {.locations = false});
      break;
    }
  }
  EXPECT_GT(exact_ones, count / 4) << "many should be compared bit by bit";
}

}  // namespace
}  // namespace ridgeline
