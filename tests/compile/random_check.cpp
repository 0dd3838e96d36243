#include "tests/compile/random_check.h"

#include <algorithm>
#include <cmath>

#include "ridgeline/device/reference_kernel.h"
#include "tests/compile/list_device.h"
#include "tests/compile/support.h"

namespace ridgeline::testing {
namespace {

constexpr double kTimes = 16;

double largest_of(const Tensor& t) {
  double largest = 0;
  for (std::int64_t i = 0; i < t.elements(); ++i) largest = std::max(largest, std::abs(t.at(i)));
  return largest;
}

double distance(const Tensor& a, const Tensor& b) {
  double worst = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) worst = std::max(worst, std::abs(a.at(i) - b.at(i)));
  return worst;
}

std::string difference(const Tensor& got, const Expectation& expected) {
  for (std::int64_t i = 0; i < got.elements(); ++i) {
    const double a = got.at(i), b = expected.value.at(i);
    if (std::abs(a - b) <= expected.tolerance) continue;
    char text[160];
    std::snprintf(text, sizeof text, "element %lld is %.9g instead of %.9g (%.3g away, %.3g allowed)",
                  static_cast<long long>(i), a, b, std::abs(a - b), expected.tolerance);
    return text;
  }
  return "";
}

// The graph with f64 wherever it has f32.
Graph in_f64(Graph graph) {
  for (ValueInfo& info : graph.values) {
    if (info.type.dtype == DType::f32) info.type.dtype = DType::f64;
  }
  for (Node& node : graph.nodes) {
    Attributes widened = node.attributes;
    for (const auto& [name, value] : node.attributes) {
      if (value == Attribute(DType::f32)) widened.set(name, DType::f64);
    }
    node.attributes = widened;
  }
  for (auto& [name, function] : graph.functions) function = in_f64(function);
  return graph;
}

// In f64, every element off by `off` of its size.
Arguments in_f64(const Arguments& arguments, double off) {
  Arguments all;
  for (const auto& [name, value] : arguments) {
    if (value.dtype() != DType::f32) {
      all[name] = value;
      continue;
    }
    Tensor t(DType::f64, value.shape());
    for (std::int64_t i = 0; i < t.elements(); ++i) t.set(i, value.at(i) * (1 + (i % 3 == 0 ? off : -off)));
    all[name] = t;
  }
  return all;
}

Arguments only(const Graph& graph, const Arguments& arguments) {
  Arguments some;
  for (ValueId id : graph.arguments) some[graph.value(id).name] = arguments.at(graph.value(id).name);
  return some;
}

struct Results {
  std::vector<Expectation> returns;
  std::map<std::string, Expectation> updates;
};

Results expected_of(const Graph& graph, const Arguments& all, bool exact) {
  const Arguments arguments = only(graph, all);
  Results results;
  for (const Tensor& t : evaluate_returns(graph, arguments)) results.returns.push_back({t});
  for (const auto& [name, value] : evaluate_updates(graph, arguments)) results.updates[name] = {value};
  if (exact) return results;
  const Graph wide = in_f64(graph);
  const Arguments there = in_f64(arguments, 0), off = in_f64(arguments, 0x1p-22);
  const auto allow = [](Expectation& e, const Tensor& in_64, const Tensor& shaken) {
    if (!is_floating(e.value.dtype())) return;
    e.tolerance = kTimes * std::max({distance(e.value, in_64), distance(in_64, shaken), 0x1p-24 * largest_of(e.value)});
  };
  const std::vector<Tensor> returns = evaluate_returns(wide, there), shaken = evaluate_returns(wide, off);
  for (std::size_t i = 0; i < returns.size(); ++i) allow(results.returns[i], returns[i], shaken[i]);
  const Arguments updates = evaluate_updates(wide, there), shaken_updates = evaluate_updates(wide, off);
  for (auto& [name, e] : results.updates) allow(e, updates.at(name), shaken_updates.at(name));
  return results;
}

// Compares what a program returns with what the reference returned; "" or the first difference.
std::string compare_returns(Program& program, const Graph& graph, const std::vector<Expectation>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::string d = difference(program.output(i), expected[i]);
    if (!d.empty()) return graph.returns[i].name + ": " + d;
  }
  return "";
}

SessionOptions session_options_of(const Setting& setting) {
  SessionOptions session_options;
  if (setting.device == "list") {
    // Kernels with forms of their own for the weights, and results that lie otherwise than in plain rows.
    session_options =
        on_list_device({{"dense", "tilted", Provider::own, make_tilted_dense},
                        {"dense_bwd_data", "tilted", Provider::own, make_tilted_dense_bwd_data},
                        {"max_pool", "backwards", Provider::own, make_backwards_max_pool},
                        {"avg_pool", "either", Provider::own, make_either_avg_pool},
                        {"loop", "never", Provider::own, setting.refuses_loops ? make_never : make_reference_kernel}},
                       reference_fusion_limits());
  } else {
    session_options.device = setting.device;
  }
  if (setting.misses_ops) session_options.simulated.missing_ops = {"max_pool", "dense"};
  session_options.compute_threads = setting.threads;
  return session_options;
}

}  // namespace

std::string to_string(const Setting& s) {
  return s.device + ", " + std::to_string(s.threads) + " threads" + (s.options.fusion ? ", fusion" : ", no fusion") +
         (s.options.reuse_memory ? ", reuse" : ", no reuse") +
         (s.options.disabled_passes.empty() ? "" : ", without " + s.options.disabled_passes.front()) +
         (s.misses_ops ? ", ops missing" : "") + (s.refuses_loops ? ", loops refused" : "") +
         (s.forward_first ? ", forward compiled first" : ", training compiled first");
}

Expected reference_of(const RandomStep& step) {
  Expected expected;
  Arguments arguments = step.arguments;
  for (int i = 0; i < 2; ++i) {
    Expected::Round& round = expected.rounds.emplace_back();
    round.forward_returns = expected_of(step.forward, arguments, step.exact).returns;
    Results train = expected_of(step.train, arguments, step.exact);
    round.train_returns = std::move(train.returns);
    for (const auto& [name, value] : arguments) round.after[name] = {value};
    for (auto& [name, e] : train.updates) {
      arguments[name] = e.value;
      round.after[name] = std::move(e);
    }
  }
  return expected;
}

std::string difference(const RandomStep& step, const Expected& expected, const Setting& setting) {
  Session session(session_options_of(setting));
  store_arguments(step.train, step.arguments, session);
  std::unique_ptr<Program> forward;
  if (setting.forward_first) forward = compile(step.forward, session, setting.options);
  const std::unique_ptr<Program> train = compile(step.train, session, setting.options);
  if (!forward) forward = compile(step.forward, session, setting.options);
  bind_inputs(step.forward, step.arguments, *forward);
  bind_inputs(step.train, step.arguments, *train);
  for (const Expected::Round& round : expected.rounds) {
    if (!forward->run()) return "stopped";
    std::string d = compare_returns(*forward, step.forward, round.forward_returns);
    if (!d.empty()) return "forward: " + d;
    if (!train->run()) return "stopped";
    d = compare_returns(*train, step.train, round.train_returns);
    if (!d.empty()) return "train: " + d;
    for (const std::string& name : session.parameters().names()) {
      d = difference(session.parameters().get(name), round.after.at(name));
      if (!d.empty()) return "after the step, " + name + ": " + d;
      // Rounding must not add up: a floor or a maximum would jump elsewhere.
      if (!step.exact)
        session.parameters().set(name, round.after.at(name).value, session.parameters().entry(name).kind);
    }
    // What the last forward returned stays what it was, whatever the updates did.
    d = compare_returns(*forward, step.forward, round.forward_returns);
    if (!d.empty()) return "forward, read again after the update: " + d;
  }
  return "";
}

std::string difference(const GraphCase& found, bool exact, const Setting& setting) {
  try {
    const Results expected = expected_of(found.graph, found.arguments, exact);
    Session session(session_options_of(setting));
    store_arguments(found.graph, found.arguments, session);
    const auto program = compile(found.graph, session, setting.options);
    bind_inputs(found.graph, found.arguments, *program);
    if (!program->run()) return "stopped";
    if (std::string d = compare_returns(*program, found.graph, expected.returns); !d.empty()) return d;
    for (const auto& [name, e] : expected.updates) {
      if (std::string d = difference(session.parameters().get(name), e); !d.empty())
        return "after the step, " + name + ": " + d;
    }
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace ridgeline::testing
