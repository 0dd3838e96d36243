#include "tests/compile/random_check.h"

#include <algorithm>
#include <cmath>

#include "ridgeline/core/error.h"
#include "ridgeline/core/random.h"
#include "ridgeline/device/reference_kernel.h"
#include "ridgeline/graph/pass/passes.h"
#include "tests/compile/list_device.h"
#include "tests/compile/support.h"
#include "tests/support/in_f64.h"

namespace ridgeline::testing {
namespace {

constexpr double kTimes = 16;
constexpr double kArgumentsOff = 0x1p-22, kResultsOff = 0x1p-24;
constexpr std::uint64_t kShakes = 3;  // a mutation may happen to leave one number unchanged

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

// Signs of the errors of one draw: all positive, or random for each element.
enum class Shake { up, either };

// `value` in f64, every element changed by `off` times its size.
Tensor shaken(const Tensor& value, double off, Shake shake, std::uint64_t draw, const std::string& name) {
  Tensor t(DType::f64, value.shape());
  SampleRandom random(philox_key(draw, name), 0, 0);
  for (std::int64_t i = 0; i < t.elements(); ++i)
    t.set(i, value.at(i) * (1 + (shake == Shake::up || (random.bits() & 1u) ? off : -off)));
  return t;
}

Arguments in_f64(const Arguments& arguments, double off, Shake shake, std::uint64_t draw) {
  Arguments all;
  for (const auto& [name, value] : arguments)
    all[name] = value.dtype() == DType::f32 ? shaken(value, off, shake, draw, name) : value;
  return all;
}

// Every value of the step in f64: unchanged, then with changed arguments and op results.
std::vector<std::vector<Tensor>> values_in_f64(const Graph& graph, const Arguments& arguments) {
  const Graph wide = ridgeline::testing::in_f64(graph);
  std::vector<std::vector<Tensor>> all{evaluate(wide, in_f64(arguments, 0, Shake::up, 0))};
  all.push_back(evaluate(wide, in_f64(arguments, kArgumentsOff, Shake::up, 0)));
  for (std::uint64_t draw = 1; draw <= kShakes; ++draw) {
    all.push_back(
        evaluate(wide, in_f64(arguments, kArgumentsOff, Shake::either, draw), [&](const Node& node, Tensor& result) {
          if (result.dtype() == DType::f64)
            result = shaken(result, kResultsOff, Shake::either, draw, "result of " + node.name);
        }));
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
  const std::vector<Tensor> values = evaluate(graph, arguments);
  const std::vector<std::vector<Tensor>> wide =
      exact ? std::vector<std::vector<Tensor>>() : values_in_f64(graph, arguments);
  const auto expectation = [&](ValueId id) {
    const auto at = static_cast<std::size_t>(id);
    Expectation e{values[at]};
    if (exact || !is_floating(e.value.dtype())) return e;
    double own = std::max(distance(e.value, wide[0][at]), 0x1p-24 * largest_of(e.value));
    for (std::size_t i = 1; i < wide.size(); ++i) own = std::max(own, distance(wide[0][at], wide[i][at]));
    e.tolerance = kTimes * own;
    return e;
  };
  Results results;
  for (const Return& r : graph.returns) results.returns.push_back(expectation(r.value));
  for (const Update& u : graph.updates) results.updates[graph.value(u.current).name] = expectation(u.next);
  return results;
}

// Compares the results of a program with those of the reference; "" or the first difference.
std::string compare_returns(Program& program, const Graph& graph, const std::vector<Expectation>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::string d = difference(program.output(i), expected[i]);
    if (!d.empty()) return graph.returns[i].name + ": " + d;
  }
  return "";
}

// With the limit if that is possible, else without one.
std::unique_ptr<Program> compile_as(const Graph& graph, Session& session, const Setting& setting) {
  auto program = compile(graph, session, setting.options);
  if (setting.memory_percent == 0) return program;
  CompileOptions limited = setting.options;
  limited.memory_limit = program->memory().total() * static_cast<std::size_t>(setting.memory_percent) / 100;
  try {
    return compile(graph, session, limited);
  } catch (const Error& error) {
    if (!std::string_view(error.what()).starts_with("[memory] the limit of ")) throw;
    return program;
  }
}

bool narrow(const Setting& setting) { return setting.options.precision.rewrite != PrecisionRewrite::none; }

// With the types that compilation for this device gives the values.
Graph rewritten(const Graph& graph, Session& session, const Setting& setting) {
  PassContext context{.fusion = {}, .precision = setting.options.precision};
  context.takes = [&](std::string_view op, DType dtype) {
    const std::vector<KernelEntry> entries = session.device().kernels(op);
    return std::any_of(entries.begin(), entries.end(), [&](const KernelEntry& e) { return e.storage.contains(dtype); });
  };
  std::vector<std::string> disabled = setting.options.disabled_passes;
  for (const Pass& pass : passes()) {
    if (!pass.required && pass.name != "simplify" && pass.name != "precision") disabled.emplace_back(pass.name);
  }
  PassResults results;
  return run_passes(graph, context, results, disabled);
}

// Whether all values of two rounds of the step are exact in these types.
bool holds_exactly(const RandomStep& step) {
  Arguments arguments = step.arguments;
  for (int i = 0; i < 2; ++i) {
    if (!testing::holds_exactly(step.train, arguments)) return false;
    for (const auto& [name, value] : evaluate_updates(step.train, arguments)) arguments[name] = value;
  }
  return true;
}

}  // namespace

SessionOptions session_options_of(const Setting& setting, bool exact) {
  SessionOptions session_options;
  if (setting.device == "list") {
    // Kernels with their own forms of the weights and other layouts of results.
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
  session_options.parallel_launches = setting.lanes;
  session_options.promise.high_precision = exact;
  return session_options;
}

std::string to_string(const Setting& s) {
  return s.device + ", " + std::to_string(s.threads) + " threads" +
         (s.lanes > 1 ? ", " + std::to_string(s.lanes) + " lanes" : "") +
         (s.options.fusion ? ", fusion" : ", no fusion") + (s.options.reuse_memory ? ", reuse" : ", no reuse") +
         (s.options.disabled_passes.empty() ? "" : ", without " + s.options.disabled_passes.front()) +
         (narrow(s) ? std::string(", narrow to ") + std::string(name_of(s.options.precision.low)) : "") +
         (s.memory_percent > 0 ? ", " + std::to_string(s.memory_percent) + " % of the memory" : "") +
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

std::string difference(const RandomStep& step, const Expected& wide, const Setting& setting) {
  Session session(session_options_of(setting, step.exact));
  Expected narrowed;
  bool compared = true;
  if (narrow(setting)) {
    RandomStep made = step;
    made.train = rewritten(step.train, session, setting);
    made.forward = rewritten(step.forward, session, setting);
    compared = step.exact && holds_exactly(made);
    if (compared) narrowed = reference_of(made);
  }
  const Expected& expected = narrow(setting) && compared ? narrowed : wide;
  store_arguments(step.train, step.arguments, session);
  std::unique_ptr<Program> forward;
  if (setting.forward_first) forward = compile_as(step.forward, session, setting);
  const std::unique_ptr<Program> train = compile_as(step.train, session, setting);
  if (!forward) forward = compile_as(step.forward, session, setting);
  bind_inputs(step.forward, step.arguments, *forward);
  bind_inputs(step.train, step.arguments, *train);
  for (const Expected::Round& round : expected.rounds) {
    if (!forward->run()) return "stopped";
    std::string d = compared ? compare_returns(*forward, step.forward, round.forward_returns) : "";
    if (!d.empty()) return "forward: " + d;
    if (!train->run()) return "stopped";
    if (!compared) continue;
    d = compare_returns(*train, step.train, round.train_returns);
    if (!d.empty()) return "train: " + d;
    for (const std::string& name : session.parameters().names()) {
      d = difference(session.parameters().get(name), round.after.at(name));
      if (!d.empty()) return "after the step, " + name + ": " + d;
      // Rounding errors must not matter: a floor or a maximum would jump elsewhere.
      if (!step.exact)
        session.parameters().set(name, round.after.at(name).value, session.parameters().entry(name).kind);
    }
    // The results of the last forward run must not be changed by updates.
    d = compare_returns(*forward, step.forward, round.forward_returns);
    if (!d.empty()) return "forward, read again after the update: " + d;
  }
  return "";
}

std::string difference(const GraphCase& found, bool exact, const Setting& setting) {
  try {
    Session session(session_options_of(setting, exact));
    const Graph typed = narrow(setting) ? rewritten(found.graph, session, setting) : found.graph;
    const bool compared = !narrow(setting) || (exact && testing::holds_exactly(typed, found.arguments));
    const Results expected = expected_of(typed, found.arguments, exact);
    store_arguments(found.graph, found.arguments, session);
    const auto program = compile_as(found.graph, session, setting);
    bind_inputs(found.graph, found.arguments, *program);
    if (!program->run()) return "stopped";
    if (!compared) return "";
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
