#include "ridgeline/train/value_dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "ridgeline/core/file.h"
#include "ridgeline/format/tensor/safetensors.h"
#include "ridgeline/format/text/csv_row.h"
#include "ridgeline/nn/parameter_groups.h"

namespace ridgeline::train {
namespace {

// For an op's second result, the op's name.
std::string op_name(const StepValue& value) {
  const std::size_t colon = value.name.rfind(':');
  const bool numbered = colon != std::string::npos && colon + 1 < value.name.size() &&
                        value.name.find_first_not_of("0123456789", colon + 1) == std::string::npos;
  return numbered ? value.name.substr(0, colon) : value.name;
}

bool is_chosen(const StepValue& value, const std::vector<std::string>& ops) {
  if (value.op.empty()) return false;
  const std::string name = op_name(value);
  return ops.empty() ||
         std::any_of(ops.begin(), ops.end(), [&](const std::string& pattern) { return nn::matches(pattern, name); });
}

std::map<std::string, std::size_t> places_by_name(const StepValues& step) {
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < step.values().size(); ++i) places[step.values()[i].name] = i;
  return places;
}

}  // namespace

std::vector<std::size_t> choose_values(const StepValues& step, const ValueChoice& choice) {
  const std::map<std::string, std::size_t> places = places_by_name(step);
  std::set<std::size_t> chosen;
  for (std::size_t i = 0; i < step.values().size(); ++i) {
    const StepValue& value = step.values()[i];
    if (!is_chosen(value, choice.ops)) continue;
    if (choice.side != ValueSide::input) chosen.insert(i);
    if (choice.side == ValueSide::output) continue;
    for (const std::string& input : value.inputs) chosen.insert(places.at(input));
  }
  return {chosen.begin(), chosen.end()};
}

std::vector<std::size_t> every_value(const StepValues& step) {
  std::vector<std::size_t> all(step.values().size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

std::vector<std::size_t> with_inputs(const StepValues& step, const std::vector<std::size_t>& values) {
  const std::map<std::string, std::size_t> places = places_by_name(step);
  std::set<std::size_t> all(values.begin(), values.end());
  for (const std::size_t i : values) {
    for (const std::string& input : step.values()[i].inputs) all.insert(places.at(input));
  }
  return {all.begin(), all.end()};
}

std::string describe(const StepValue& value) {
  return value.name + (value.op.empty() ? "" : " (" + value.op + ")") + (value.where.empty() ? "" : " " + value.where);
}

void write_values(const std::string& path, StepValues& step, std::span<const std::size_t> values) {
  std::vector<NamedTensor> tensors;
  nlohmann::ordered_json described = nlohmann::ordered_json::array();
  for (const std::size_t i : values) {
    const StepValue& value = step.values()[i];
    tensors.push_back({value.name, step.tensor(i)});
    described.push_back({{"name", value.name}, {"op", value.op}, {"inputs", value.inputs}, {"where", value.where}});
  }
  write_safetensors(path, tensors, {{"ridgeline_dump", described.dump()}});
}

void write_value_numbers(const std::string& path, StepValues& step, std::span<const std::size_t> values) {
  std::string table = csv_row(
      {"name", "op", "type", "shape", "not_finite", "least", "most", "mean", "deviation", "root_mean_square", "where"});
  for (const std::size_t i : values) {
    const StepValue& value = step.values()[i];
    const Tensor tensor = step.tensor(i);
    const ValueNumbers numbers = numbers_of(tensor);
    const auto text = [](double number) { return fmt::format("{:.9g}", number); };
    table += csv_row({value.name, value.op, std::string(name_of(tensor.dtype())), tensor.shape().to_string(),
                      std::to_string(numbers.not_finite), text(numbers.least), text(numbers.most), text(numbers.mean),
                      text(numbers.deviation), text(numbers.root_mean_square), value.where});
  }
  write_file_atomically(path, table);
}

}  // namespace ridgeline::train
