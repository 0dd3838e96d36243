#include "ridgeline/train/callback/step_dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "ridgeline/core/error.h"
#include "ridgeline/nn/parameter_groups.h"
#include "ridgeline/train/checkpoint/finite.h"

namespace ridgeline::train {
namespace {

constexpr std::size_t kMostParts = 100;

[[noreturn]] void refuse_steps(const std::string& text, const std::string& why) {
  throw Error(fmt::format("dump_step={}: {} (such as 0|5|10 or 0|3-5|10; the first step is 0)", text, why),
              ErrorKind::usage);
}

std::int64_t step_number(const std::string& part, const std::string& text) {
  std::int64_t step = -1;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), step);
  if (error != std::errc() || end != part.data() + part.size() || step < 0)
    refuse_steps(text, fmt::format("'{}' is no step", part));
  return step;
}

// Whether the step that has just been made left a number that is not finite.
bool overflowed(const RunContext& context) {
  for (const Return& result : context.model().training().graph().returns) {
    if (result.name == nn::kOverflowsResult && context.value(result.name) > 0) return true;
    const bool loss = result.name == nn::kLossResult || result.name == nn::kTotalLossResult;
    if (loss && !std::isfinite(context.value(result.name))) return true;
  }
  return !first_not_finite(context.model().to_file()).empty();
}

}  // namespace

StepSet::StepSet(const std::string& text) {
  if (text.empty()) return;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('|', at), text.size());
    const std::string part = text.substr(at, end - at);
    const std::size_t dash = part.find('-');
    const std::int64_t first = step_number(part.substr(0, dash), text);
    const std::int64_t last = dash == std::string::npos ? first : step_number(part.substr(dash + 1), text);
    if (dash != std::string::npos && first >= last)
      refuse_steps(text, fmt::format("the range {} does not ascend", part));
    ranges_.emplace_back(first, last);
    at = end + 1;
  }
  if (ranges_.size() > kMostParts) refuse_steps(text, fmt::format("more than {} parts", kMostParts));
}

bool StepSet::contains(std::int64_t step) const {
  return ranges_.empty() || std::any_of(ranges_.begin(), ranges_.end(),
                                        [&](const auto& range) { return range.first <= step && step <= range.second; });
}

std::int64_t StepSet::next(std::int64_t step) const {
  if (ranges_.empty()) return step + 1;
  std::int64_t next = Callback::kNever;
  for (const auto& [first, last] : ranges_) {
    if (last > step) next = std::min(next, std::max(first, step + 1));
  }
  return next;
}

// Step N is a loop of its own: from N steps done to N + 1.
std::int64_t StepDump::next_stop(std::int64_t step) const {
  return options_.steps.contains(step) ? step + 1 : options_.steps.next(step);
}

void StepDump::begin(RunContext& context) {
  if (context.model().runs_per_step() > 1)
    throw Error("values are dumped of steps of one batch, not of accumulated ones");
  const std::vector<Node>& nodes = context.model().training_graph().nodes;
  for (const std::string& pattern : options_.values.ops) {
    if (std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) { return nn::matches(pattern, node.name); }))
      continue;
    std::vector<std::string> names;
    for (const Node& node : nodes) names.push_back(node.name);
    throw Error("no op of the step has the name '" + pattern + "'" + did_you_mean(pattern, names), ErrorKind::usage);
  }
}

StepDump::Snapshot StepDump::snapshot(const RunContext& context) {
  const ParameterStore& store = context.model().session().parameters();
  Snapshot values;
  for (const std::string& name : store.names()) values.push_back({name, store.get(name), store.entry(name).kind});
  return values;
}

void StepDump::restore(const RunContext& context, const Snapshot& values) {
  ParameterStore& store = context.model().session().parameters();
  for (const Stored& stored : values) store.set(stored.name, stored.value, stored.kind);
}

void StepDump::step_begin(RunContext& context) {
  before_.clear();
  step_ = context.step();
  if (options_.steps.contains(step_)) before_ = snapshot(context);
}

void StepDump::step_end(RunContext& context) {
  if (before_.empty()) return;
  const bool done = context.loop_steps() > 0 && !context.torn() && !context.model().session().stop_flag();
  if (done && (!options_.overflows || overflowed(context))) write(context, step_);
  before_.clear();
}

void StepDump::write(RunContext& context, std::int64_t step) {
  Model& model = context.model();
  CompileOptions options = model.training_compile_options();
  options.memory_limit = 0;  // all values are kept
  StepValues values(model.session(), model.training_graph(), options);
  for (const ValueId id : model.training_graph().arguments) {
    const ValueInfo& argument = model.training_graph().value(id);
    if (argument.kind != ValueKind::input) continue;
    const Tensor bound = context.feed().input(argument.name);
    if (!bound.defined()) throw Error("a dump of a step needs a feed that knows its input " + argument.name);
    values.program().bind(argument.name, bound);
  }
  {
    // The step updates its operands: the run's values are restored whatever happens.
    struct PutBack {
      const RunContext& context;
      Snapshot after;
      ~PutBack() { restore(context, after); }
    };
    const PutBack back{context, snapshot(context)};
    restore(context, before_);
    values.run();
  }
  std::vector<std::size_t> chosen = choose_values(values, options_.values);
  std::string of_overflow;
  if (options_.overflows) {
    const std::vector<std::size_t> origins = origins_of_overflow(values);
    if (origins.empty()) {
      options_.log(fmt::format("dump of step {}: computed without fusion, every value of it is finite", step));
      return;
    }
    chosen = with_inputs(values, origins);
    of_overflow = fmt::format(", not finite from {} on", describe(values.values()[origins[0]]));
  }
  const std::string path =
      fmt::format("{}/step_{}.{}", options_.directory, step, options_.numbers ? "csv" : "safetensors");
  options_.numbers ? write_value_numbers(path, values, chosen) : write_values(path, values, chosen);
  options_.log(fmt::format("dump of step {}: {} values{}: {}", step, chosen.size(), of_overflow, path));
}

}  // namespace ridgeline::train
