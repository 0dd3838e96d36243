// Random steps through compile(), on every device, with and without fusion and reuse of memory, alone and as two
// programs over one store in either order: always the reference's results.
// RIDGELINE_RANDOM_GRAPHS=N takes N of them instead of a few, RIDGELINE_RANDOM_SEED=S begins at S.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <map>

#include "ridgeline/compile/compile.h"
#include "ridgeline/core/error.h"
#include "ridgeline/device/reference_kernel.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/pass/passes.h"
#include "tests/compile/list_device.h"
#include "tests/compile/random_graph.h"

namespace ridgeline {
namespace {

using testing::random_step;
using testing::RandomStep;

std::int64_t from_environment(const char* name, std::int64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::atoll(text);
}

// A result of the reference, and the same where every argument was off by 2^-22 of its size: how far results may be off
// through rounding alone, sums of what cancels included.
struct Expectation {
  Tensor value;
  Tensor shaken;
};

// "" where they agree: to the bit where values are exact, else within what rounding may do.
std::string difference(const Tensor& got, const Expectation& expected, bool exact) {
  double largest = 0;
  double moved = 0;
  for (std::int64_t i = 0; i < got.elements(); ++i) {
    largest = std::max(largest, std::abs(expected.value.at(i)));
    moved = std::max(moved, std::abs(expected.value.at(i) - expected.shaken.at(i)));
  }
  const double tolerance = exact ? 0 : 1e-4 * largest + 64 * moved;
  for (std::int64_t i = 0; i < got.elements(); ++i) {
    const double a = got.at(i);
    const double b = expected.value.at(i);
    if (!(std::abs(a - b) <= tolerance)) {
      return "element " + std::to_string(i) + " is " + std::to_string(a) + " instead of " + std::to_string(b);
    }
  }
  return "";
}

std::vector<Pass> optional_passes() {
  std::vector<Pass> optional;
  std::copy_if(passes().begin(), passes().end(), std::back_inserter(optional),
               [](const Pass& p) { return !p.required; });
  return optional;
}

struct Setting {
  const char* device = "cpu";
  CompileOptions options;
  bool forward_first = false;  // which of the two programs is compiled first
};

std::string to_string(const Setting& s) {
  return std::string(s.device) + (s.options.fusion ? ", fusion" : ", no fusion") +
         (s.options.reuse_memory ? ", reuse" : ", no reuse") +
         (s.options.disabled_passes.empty() ? "" : ", without " + s.options.disabled_passes.front()) +
         (s.forward_first ? ", forward compiled first" : ", training compiled first");
}

void bind_inputs(Program& program, const Graph& graph, const Arguments& arguments) {
  for (ValueId id : graph.arguments) {
    const ValueInfo& info = graph.value(id);
    if (info.kind == ValueKind::input) program.bind(info.name, arguments.at(info.name));
  }
}

Arguments only(const Graph& graph, const Arguments& arguments) {
  Arguments some;
  for (ValueId id : graph.arguments) some[graph.value(id).name] = arguments.at(graph.value(id).name);
  return some;
}

// Compares what a program returns with what the reference returned; "" or the first difference.
std::string compare_returns(Program& program, const Graph& graph, const std::vector<Expectation>& expected,
                            bool exact) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::string d = difference(program.output(graph.returns[i].name), expected[i], exact);
    if (!d.empty()) return graph.returns[i].name + ": " + d;
  }
  return "";
}

Arguments shaken(const Arguments& arguments) {
  Arguments all;
  for (const auto& [name, value] : arguments) {
    Tensor t = value.clone();
    for (std::int64_t i = 0; t.dtype() == DType::f32 && i < t.elements(); ++i) {
      t.set(i, t.at(i) * (1 + std::ldexp(i % 3 == 0 ? 1.0 : -1.0, -22)));
    }
    all[name] = t;
  }
  return all;
}

std::vector<Expectation> together(const std::vector<Tensor>& values, const std::vector<Tensor>& shaken_values) {
  std::vector<Expectation> all;
  for (std::size_t i = 0; i < values.size(); ++i) all.push_back({values[i], shaken_values[i]});
  return all;
}

// What the reference makes of two rounds of forward and train.
struct Expected {
  struct Round {
    std::vector<Expectation> forward_returns, train_returns;
    std::map<std::string, Expectation> after;  // the arguments, updated
  };
  std::vector<Round> rounds;
};

Expected reference_of(const RandomStep& step) {
  Expected expected;
  Arguments arguments = step.arguments;
  for (int i = 0; i < 2; ++i) {
    Expected::Round& round = expected.rounds.emplace_back();
    const Arguments off = step.exact ? arguments : shaken(arguments);
    round.forward_returns = together(evaluate_returns(step.forward, only(step.forward, arguments)),
                                     evaluate_returns(step.forward, only(step.forward, off)));
    round.train_returns = together(evaluate_returns(step.train, arguments), evaluate_returns(step.train, off));
    for (const auto& [name, value] : arguments) round.after[name] = {value, value};
    const Arguments off_next = evaluate_updates(step.train, off);
    for (const auto& [name, value] : evaluate_updates(step.train, arguments)) {
      round.after[name] = {value, off_next.at(name)};
      arguments[name] = value;
    }
  }
  return expected;
}

// Both rounds compiled: the store and every returned value after each.
std::string run(const RandomStep& step, const Expected& expected, const Setting& setting) {
  SessionOptions session_options;
  if (setting.device == std::string("list")) {
    // Kernels with forms of their own for the weights, and results that lie otherwise than in plain rows.
    session_options =
        testing::on_list_device({{"dense", "tilted", Provider::own, testing::make_tilted_dense},
                                 {"dense_bwd_data", "tilted", Provider::own, testing::make_tilted_dense_bwd_data},
                                 {"max_pool", "backwards", Provider::own, testing::make_backwards_max_pool},
                                 {"avg_pool", "either", Provider::own, testing::make_either_avg_pool},
                                 {"loop", "never", Provider::own,
                                  step.train.nodes.size() % 3 == 0 ? testing::make_never : make_reference_kernel}},
                                reference_fusion_limits());
  } else {
    session_options.device = setting.device;
  }
  if (step.train.nodes.size() % 2 == 1) session_options.simulated.missing_ops = {"max_pool", "dense"};
  Session session(session_options);
  for (ValueId id : step.train.arguments) {
    const ValueInfo& info = step.train.value(id);
    if (info.kind != ValueKind::input) session.parameters().set(info.name, step.arguments.at(info.name), info.kind);
  }
  std::unique_ptr<Program> forward;
  if (setting.forward_first) forward = compile(step.forward, session, setting.options);
  const std::unique_ptr<Program> train = compile(step.train, session, setting.options);
  if (!forward) forward = compile(step.forward, session, setting.options);
  bind_inputs(*forward, step.forward, step.arguments);
  bind_inputs(*train, step.train, step.arguments);
  for (const Expected::Round& round : expected.rounds) {
    if (!forward->run()) return "stopped";
    std::string d = compare_returns(*forward, step.forward, round.forward_returns, step.exact);
    if (!d.empty()) return "forward: " + d;
    if (!train->run()) return "stopped";
    d = compare_returns(*train, step.train, round.train_returns, step.exact);
    if (!d.empty()) return "train: " + d;
    for (const std::string& name : session.parameters().names()) {
      d = difference(session.parameters().get(name), round.after.at(name), step.exact);
      if (!d.empty()) return "after the step, " + name + ": " + d;
      // Rounding must not add up: a floor or a maximum would jump elsewhere.
      if (!step.exact)
        session.parameters().set(name, round.after.at(name).value, session.parameters().entry(name).kind);
    }
    // What the last forward returned stays what it was, whatever the updates did.
    d = compare_returns(*forward, step.forward, round.forward_returns, step.exact);
    if (!d.empty()) return "forward, read again after the update: " + d;
  }
  return "";
}

TEST(RandomGraphs, GiveTheReferencesResultsThroughCompile) {
  const std::int64_t first = from_environment("RIDGELINE_RANDOM_SEED", 0);
  const std::int64_t count = from_environment("RIDGELINE_RANDOM_GRAPHS", 40);
  std::int64_t exact = 0;
  std::int64_t failed = 0;
  for (std::int64_t seed = first; seed < first + count && failed < 5; ++seed) {
    const RandomStep step = random_step(static_cast<std::uint64_t>(seed));
    const Expected expected = reference_of(step);
    exact += step.exact ? 1 : 0;
    for (int i = 0; i < 10; ++i) {
      Setting setting;
      setting.options.fusion = i % 2 == 0;
      setting.options.reuse_memory = i % 4 < 2;
      setting.forward_first = (i / 2 + seed) % 2 == 0;
      setting.device = i < 4 ? "cpu" : i < 8 ? "simulated" : "list";
      setting.options.verify = true;
      // One pass after the other is left out, too.
      const std::vector<Pass> optional = optional_passes();
      const auto out = static_cast<std::size_t>(seed * 8 + i) % (2 * optional.size());
      if (out < optional.size()) setting.options.disabled_passes = {std::string(optional[out].name)};
      std::string d;
      try {
        d = run(step, expected, setting);
      } catch (const std::exception& error) {
        d = error.what();
      }
      if (d.empty()) continue;
      ++failed;
      ADD_FAILURE() << "RIDGELINE_RANDOM_SEED=" << seed << " (" << (step.exact ? "exact" : "rounded") << ", "
                    << to_string(setting) << "): " << d << "\n"
                    << to_text(step.train) << "\nforward returns " << to_text(step.forward);
      break;
    }
  }
  EXPECT_GT(exact, count / 3) << "most graphs should be compared bit by bit";
}

}  // namespace
}  // namespace ridgeline
