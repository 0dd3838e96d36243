#include "ridgeline/train/step_values.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "ridgeline/core/error.h"
#include "ridgeline/train/step_graph.h"

namespace ridgeline::train {

StepValues::StepValues(Session& session, const Graph& step, CompileOptions options) : graph_(step) {
  Graph all = step;
  all.returns.clear();
  places_.assign(all.values.size(), 0);
  const std::vector<std::string> names = names_of_values(all);
  const auto add = [&](ValueId id, const Node* node) {
    StepValue value{.name = names[static_cast<std::size_t>(id)], .id = id, .kind = all.value(id).kind};
    if (node) {
      value.op = node->op;
      if (!node->where.empty() && node->where[0].known()) value.where = node->where[0].to_string();
      for (const ValueId input : node->inputs) value.inputs.push_back(names[static_cast<std::size_t>(input)]);
    }
    places_[static_cast<std::size_t>(id)] = values_.size();
    all.returns.push_back({"value " + std::to_string(values_.size()), id});
    values_.push_back(std::move(value));
  };
  for (const ValueId id : all.arguments) add(id, nullptr);
  for (const Node& node : all.nodes) {
    for (const ValueId id : node.outputs) add(id, &node);
  }
  options.fusion = false;
  options.dump_directory.clear();
  program_ = compile(all, session, options);
}

void StepValues::run() {
  if (!program_->run()) throw Error("the session was stopped", ErrorKind::interrupted);
}

ValueNumbers numbers_of(const Tensor& tensor) {
  ValueNumbers numbers;
  double sum = 0, squares = 0;
  numbers.least = std::numeric_limits<double>::infinity();
  numbers.most = -numbers.least;
  std::int64_t finite = 0;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const double value = tensor.at(i);
    if (!std::isfinite(value)) {
      ++numbers.not_finite;
      continue;
    }
    ++finite;
    sum += value;
    squares += value * value;
    numbers.least = std::min(numbers.least, value);
    numbers.most = std::max(numbers.most, value);
  }
  if (finite == 0) return {.not_finite = numbers.not_finite};
  const auto n = static_cast<double>(finite);
  numbers.largest = std::max(std::abs(numbers.least), std::abs(numbers.most));
  numbers.root_mean_square = std::sqrt(squares / n);
  numbers.mean = sum / n;
  numbers.deviation = std::sqrt(std::max(0.0, squares / n - numbers.mean * numbers.mean));
  return numbers;
}

std::vector<std::size_t> origins_of_overflow(StepValues& step, std::size_t most) {
  std::map<std::string, bool> finite;
  std::vector<std::size_t> origins;
  for (std::size_t i = 0; i < step.values().size() && origins.size() < most; ++i) {
    const StepValue& value = step.values()[i];
    const bool here = numbers_of(step.tensor(i)).not_finite == 0;
    finite[value.name] = here;
    if (!here && std::all_of(value.inputs.begin(), value.inputs.end(), [&](const auto& n) { return finite.at(n); }))
      origins.push_back(i);
  }
  return origins;
}

std::size_t first_not_finite(StepValues& step) {
  const std::vector<std::size_t> first = origins_of_overflow(step, 1);
  return first.empty() ? step.values().size() : first[0];
}

}  // namespace ridgeline::train
