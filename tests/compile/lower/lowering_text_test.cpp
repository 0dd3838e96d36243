// The parts of lowering, each tested separately, as text: tests/plans/*.rdg. A graph, lines that set the target, and
// the expected result of one part:
//   # lower: place           one line per op: NAME: DEVICE
//   # lower: settle          the layout of each parameter and state, and of activations not in plain rows
//   # lower: plan            the whole plan (compile/lower/plan_text.h)
//   # device: simulated      or "list": the kernels of list_device.h
//   # missing: max_pool exp  ops that the simulated device lacks
//   # soft_placement: no     an op that the device lacks is an error, whose message is expected
//   # lanes: 2               launches that run at the same time, with a team of one thread
// The ops are lowered unchanged: no pass runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ridgeline/compile/lower/lanes.h"
#include "ridgeline/compile/lower/lower.h"
#include "ridgeline/compile/lower/plan_memory.h"
#include "ridgeline/compile/lower/plan_text.h"
#include "ridgeline/compile/lower/settle_layouts.h"
#include "ridgeline/compile/lower/verify_plan.h"
#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/text.h"
#include "tests/compile/list_device.h"
#include "tests/support/paths.h"

namespace ridgeline {
namespace {

using namespace testing;

struct TextCase {
  std::string name, part, graph, expected;
  SessionOptions options;
  bool soft_placement = true;
  int lanes = 1;
};

void set_line(TextCase& c, const std::string& key, const std::string& value) {
  if (key == "lower") {
    c.part = value;
  } else if (key == "device" && value == "list") {
    c.options = on_list_device({{"dense", "columns", Provider::own, make_columns_dense},
                                {"dense_bwd_data", "tilted", Provider::own, make_tilted_dense_bwd_data},
                                {"max_pool", "backwards", Provider::own, make_backwards_max_pool},
                                {"avg_pool", "either", Provider::own, make_either_avg_pool}});
  } else if (key == "device") {
    c.options.device = value;
  } else if (key == "missing") {
    std::string word;
    for (std::istringstream in(value); in >> word;) c.options.simulated.missing_ops.insert(word);
  } else if (key == "lanes") {
    c.lanes = std::stoi(value);
    c.options.compute_threads = 1;
  } else if (key == "soft_placement" && value == "no") {
    c.soft_placement = false;
  } else {
    throw std::runtime_error(c.name + " has the unknown line '" + key + ": " + value + "'");
  }
}

TextCase read_case(const std::string& name, const std::string& text) {
  TextCase c;
  c.name = name;
  const std::string border = "# expect:\n";
  const std::size_t at = text.find(border);
  if (at == std::string::npos) throw std::runtime_error(name + " has no line '# expect:'");
  c.graph = text.substr(0, at);
  c.expected = text.substr(at + border.size());
  std::string line;
  for (std::istringstream in(c.graph); std::getline(in, line);) {
    const std::size_t colon = line.find(": ");
    if (!line.starts_with("# ") || colon == std::string::npos || line.find(' ', 2) < colon) continue;
    set_line(c, line.substr(2, colon - 2), line.substr(colon + 2));
  }
  return c;
}

std::string place_text(const Graph& graph, const Target& target) {
  const Placement placement = place(graph, target, {});
  std::string text;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    text += graph.nodes[n].name + ": " + std::string(placement.devices[n]->name()) + "\n";
  }
  return text;
}

std::string settle_text(const Graph& graph, const Target& target, ParameterStore& store) {
  const Placement placement = place(graph, target, {});
  ValueLayouts layouts(graph);
  std::vector<Choice> choices = settle_stored(graph, layouts, placement, target.log, store);
  do {
    choices = choose_kernels(graph, layouts, placement, target.log, std::move(choices));
  } while (take_back_layouts(graph, layouts, choices));
  fix_homes(graph, layouts.groups(), store);
  std::string text;
  for (const std::string& name : store.names()) text += name + ": home " + store.entry(name).home.name() + "\n";
  for (const Node& node : graph.nodes) {
    for (ValueId id : node.outputs) {
      if (!layouts.layout(id).plain()) text += node.name + ": " + layouts.layout(id).name() + "\n";
    }
  }
  return text;
}

std::string run(const TextCase& c) {
  Session session(c.options);
  const Graph graph = parse_graph(c.graph, c.name);
  const Target target{session.device(), session.cpu(), c.soft_placement, session.log(), c.lanes, {}, true};
  const ComputeScope team(session.compute_threads());
  try {
    if (c.part == "place") return place_text(graph, target);
    if (c.part == "settle") return settle_text(graph, target, session.parameters());
    if (c.part == "plan") {
      Plan plan = lower(graph, target, session.parameters(), {}).plan;
      if (c.lanes > 1) {
        plan_memory(plan, true);
        verify(plan, PlanStage::memory);
        assign_lanes(plan, c.lanes);
        verify(plan, PlanStage::lanes);
      }
      return to_text(plan);
    }
  } catch (const Error& error) {
    return std::string(error.what()) + "\n";
  }
  throw std::runtime_error(c.name + " has no line '# lower: place', settle or plan");
}

TEST(LoweringText, EveryGraphBecomesWhatItsFileExpects) {
  std::set<std::string> parts;
  for (const auto& entry : std::filesystem::directory_iterator(testing::source_directory() + "/tests/plans")) {
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    const TextCase c = read_case(entry.path().filename().string(), text.str());
    parts.insert(c.part);
    EXPECT_EQ(run(c), c.expected) << c.name;
  }
  EXPECT_EQ(parts, (std::set<std::string>{"place", "plan", "settle"}));
}

TEST(LoweringText, AFileThatSaysSomethingUnknownIsAnError) {
  EXPECT_THROW(read_case("a", "# lower: place\n# devices: cpu\n# expect:\n"), std::runtime_error);
  EXPECT_THROW(read_case("b", "# lower: place\n"), std::runtime_error);
  EXPECT_THROW(run(read_case("c", "# lower: plans\ngraph @g(%x: f32[1]) {\n  return %x\n}\n# expect:\n")),
               std::runtime_error);
}

}  // namespace
}  // namespace ridgeline
