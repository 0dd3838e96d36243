// Random steps through compile() on every device, with and without fusion and memory reuse, with teams of one, two and
// three threads, alone and as two programs with one store in either order, always compared with the references. Some
// use narrow types, some a memory limit. RIDGELINE_RANDOM_GRAPHS=N tries N of them, RIDGELINE_RANDOM_SEED=S begins at
// S. A failing graph is reduced and written to disk (shrink.h); the instruction set is that of the process
// (RIDGELINE_ISA).
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/pass/passes.h"
#include "tests/compile/random_check.h"
#include "tests/compile/support.h"
#include "tests/support/environment.h"

namespace ridgeline {
namespace {

using testing::GraphCase;
using testing::RandomStep;
using testing::Setting;

std::vector<Pass> optional_passes() {
  std::vector<Pass> optional;
  std::copy_if(passes().begin(), passes().end(), std::back_inserter(optional),
               [](const Pass& p) { return !p.required; });
  return optional;
}

// A precision mode that narrows, and user settings with it: an op that keeps its types or has given types.
PrecisionPolicy policy_of(std::int64_t draw) {
  const auto modes = precision_modes().subspan(1);
  PrecisionPolicy policy = PrecisionPolicy::of(modes[static_cast<std::size_t>(draw) % modes.size()]);
  switch (draw % 4) {
    case 0: policy.keep_ops = {"relu_grad"}; break;
    case 1: policy.overrides = {{false, "add", policy.low, policy.low}}; break;
    case 2: policy.overrides = {{false, "relu", DType::f32, DType::f32}}; break;
    default: break;
  }
  return policy;
}

Setting setting_of(std::int64_t seed, int i) {
  Setting setting;
  setting.options.fusion = i % 2 == 0;
  setting.options.reuse_memory = i % 4 < 2;
  setting.options.verify = true;
  setting.forward_first = (i / 2 + seed) % 2 == 0;
  setting.device = i < 4 ? "cpu" : i < 8 ? "simulated" : "list";
  setting.threads = 1 + static_cast<int>((seed + i) % 3);
  if (setting.device == "cpu") setting.lanes = 1 + static_cast<int>((seed / 3 + i) % 3);
  setting.misses_ops = seed % 2 == 1;
  setting.refuses_loops = seed % 3 == 0;
  // Also disables each pass in turn.
  const std::vector<Pass> optional = optional_passes();
  const auto out = static_cast<std::size_t>(seed * 8 + i) % (2 * optional.size());
  if (out < optional.size()) setting.options.disabled_passes = {std::string(optional[out].name)};
  if ((seed + i) % 5 == 0) setting.options.precision = policy_of(seed / 5);
  if ((seed + i) % 5 == 1) setting.memory_percent = 90;
  return setting;
}

// The report of a failure: the smallest graph that shows it, and where it is.
std::string report(const RandomStep& step, const Setting& setting, std::int64_t seed, const std::string& what) {
  const std::string name = "random_" + std::to_string(seed);
  const std::string comment =
      "seed " + std::to_string(seed) + (step.exact ? " (exact), " : " (rounded), ") + to_string(setting) + "\n" + what;
  const auto fails = [&](const GraphCase& c) { return !difference(c, step.exact, setting).empty(); };
  GraphCase found{step.train, step.arguments};
  if (fails(found)) found = testing::shrink(std::move(found), fails);  // else only the two programs together show it
  return comment + "\n" + testing::write_case(found, name, comment) + "\n" + to_text(found.graph, {.locations = false});
}

TEST(RandomGraphs, GiveTheReferencesResultsThroughCompile) {
  const std::int64_t first = number_from_environment("RIDGELINE_RANDOM_SEED", 0);
  const std::int64_t count = number_from_environment("RIDGELINE_RANDOM_GRAPHS", 80);
  std::int64_t exact = 0;
  int failed = 0;
  for (std::int64_t seed = first; seed < first + count && failed < 5; ++seed) {
    const RandomStep step = testing::random_step(static_cast<std::uint64_t>(seed));
    const testing::Expected expected = reference_of(step);
    exact += step.exact ? 1 : 0;
    for (int i = 0; i < 10; ++i) {
      const Setting setting = setting_of(seed, i);
      std::string d;
      try {
        d = difference(step, expected, setting);
      } catch (const std::exception& error) {
        d = error.what();
      }
      if (d.empty()) continue;
      ++failed;
      ADD_FAILURE() << report(step, setting, seed, d);
      break;
    }
  }
  if (count >= 30) {
    EXPECT_GT(exact, count / 3) << "many graphs should be compared bit by bit";
  }
}

// The same graphs in the same ways, but only up to their plans, which costs a small part of running them: verified
// after every step, also with other numbers of lanes.
TEST(RandomGraphs, HavePlansThatDoWhatTheGraphSays) {
  const std::int64_t first = number_from_environment("RIDGELINE_RANDOM_SEED", 0);
  const std::int64_t count = number_from_environment("RIDGELINE_RANDOM_GRAPHS", 80);
  int failed = 0;
  for (std::int64_t seed = first; seed < first + count && failed < 5; ++seed) {
    const RandomStep step = testing::random_step(static_cast<std::uint64_t>(seed));
    for (int i = 0; i < 10; ++i) {
      Setting setting = setting_of(seed, i);
      if (setting.device == "cpu") setting.lanes = 1 + static_cast<int>((seed + i) % 5);
      try {
        Session session(session_options_of(setting, step.exact));
        const Graph& graph = setting.forward_first ? step.forward : step.train;
        plan_program(graph, session, setting.options);
        plan_program(setting.forward_first ? step.train : step.forward, session, setting.options);
      } catch (const std::exception& error) {
        ++failed;
        ADD_FAILURE() << report(step, setting, seed, error.what());
        break;
      }
    }
  }
}

TEST(RandomGraphs, PointwiseOnesGiveTheSameBitsFusedOrNot) {
  const std::int64_t first = number_from_environment("RIDGELINE_RANDOM_SEED", 0);
  const std::int64_t count = number_from_environment("RIDGELINE_RANDOM_GRAPHS", 80);
  int failed = 0;
  std::int64_t fused = 0;
  for (std::int64_t seed = first; seed < first + count && failed < 5; ++seed) {
    const testing::RandomPointwise drawn = testing::random_pointwise(static_cast<std::uint64_t>(seed));
    const auto run = [](const GraphCase& c, bool fusion, bool reuse, int threads) {
      Session session({.compute_threads = threads});
      const auto program = compile(c.graph, session, {.fusion = fusion, .reuse_memory = reuse});
      testing::bind_inputs(c.graph, c.arguments, *program);
      program->run();
      std::vector<Tensor> values;
      for (std::size_t i = 0; i < c.graph.returns.size(); ++i) values.push_back(program->output(i).clone());
      return std::pair(values, program->graph().nodes.size());
    };
    const auto differs = [&](const GraphCase& c) {
      const auto [apart, ops] = run(c, false, false, 1);
      for (int i = 0; i < 3; ++i) {
        const auto [values, fewer] = run(c, true, i % 2 == 0, 1 + i);
        fused += fewer < ops ? 1 : 0;
        for (std::size_t r = 0; r < values.size(); ++r) {
          if (std::memcmp(values[r].raw(), apart[r].raw(), apart[r].byte_size()) != 0) return true;
        }
      }
      return false;
    };
    const GraphCase whole{drawn.graph, drawn.arguments};
    if (!differs(whole)) continue;
    ++failed;
    const GraphCase small = testing::shrink(whole, differs);
    const std::string name = "pointwise_" + std::to_string(seed);
    ADD_FAILURE() << testing::write_case(small, name, "other bits with fusion than without") << "\n" << small.graph;
  }
  EXPECT_GT(fused, count) << "most of them are fused";
}

}  // namespace
}  // namespace ridgeline
