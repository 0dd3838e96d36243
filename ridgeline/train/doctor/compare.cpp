#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "ridgeline/core/error.h"
#include "ridgeline/core/printable.h"
#include "ridgeline/format/tensor/safetensors.h"
#include "ridgeline/train/doctor/dump.h"

namespace ridgeline::train {
namespace {

struct DumpedValue {
  std::string name, op, where;
  std::vector<std::string> inputs;
};

// The values by the metadata; for files of other programs, by their names.
std::vector<DumpedValue> values_of(const SafetensorsFile& file) {
  std::vector<DumpedValue> values;
  const auto described = file.metadata().find("ridgeline_dump");
  if (described == file.metadata().end()) {
    for (const NamedTensor& t : file.tensors()) values.push_back({t.name, "", "", {}});
    return values;
  }
  try {
    for (const auto& v : nlohmann::json::parse(described->second))
      values.push_back({v.at("name"), v.at("op"), v.at("where"), v.at("inputs")});
  } catch (const nlohmann::json::exception& error) {
    throw Error("[doctor] " + file.path() + ": its list of values cannot be read: " + error.what());
  }
  return values;
}

bool is_finite(const Tensor& tensor) {
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    if (!std::isfinite(tensor.at(i))) return false;
  return true;
}

// The first value that is not finite although all that its op reads is.
std::string origin_in(const SafetensorsFile& file, const std::vector<DumpedValue>& values) {
  std::set<std::string> bad;
  for (const DumpedValue& value : values) {
    if (!file.has(value.name) || is_finite(file.tensor(value.name))) continue;
    const bool from_inputs =
        std::any_of(value.inputs.begin(), value.inputs.end(), [&](const auto& name) { return bad.contains(name); });
    bad.insert(value.name);
    if (from_inputs) continue;
    return value.name +
           (value.op.empty() ? "" : " (" + value.op + (value.where.empty() ? "" : ", " + value.where) + ")");
  }
  return "";
}

// Element i of [A,H,W,C] in a tensor [A,C,H,W].
std::int64_t moved_index(const Shape& shape, std::int64_t i) {
  const std::int64_t c = i % shape[3], w = i / shape[3] % shape[2], h = i / shape[3] / shape[2] % shape[1];
  const std::int64_t a = i / shape[3] / shape[2] / shape[1];
  return ((a * shape[3] + c) * shape[1] + h) * shape[2] + w;
}

bool fits_moved(const Shape& a, const Shape& b) {
  return a.rank() == 4 && b.rank() == 4 && b == Shape{a[0], a[3], a[1], a[2]};
}

// Fills in the numbers and returns the sum of all differences. Elements that are not finite in both are not counted:
// their origin is reported separately.
double measure(const Tensor& a, const Tensor& b, bool moved, ValueDifference& value) {
  value.moved = moved;
  value.difference = 0;
  double sum = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const double x = a.at(i), y = b.at(moved ? moved_index(a.shape(), i) : i);
    if (std::isfinite(x)) value.largest = std::max(value.largest, std::abs(x));
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double difference = std::isfinite(x - y) ? std::abs(x - y) : INFINITY;
    if (difference > value.difference) value.at = i;
    value.difference = std::max(value.difference, difference);
    sum += difference;
  }
  return sum;
}

nlohmann::json number_or_text(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json("Infinity");
}

std::string line_of(const ValueDifference& v) {
  return fmt::format("{:<44} {:<22} {:>10.3g} {:>10.3g} {:>10.3g}{}", printable(v.name), v.op, v.difference,
                     v.largest > 0 ? v.difference / v.largest : v.difference, v.largest, v.inside ? "" : "   outside");
}

}  // namespace

DumpComparison compare_dumps(const std::string& first, const std::string& second, const CompareOptions& options) {
  const SafetensorsFile a(first), b(second);
  const std::vector<DumpedValue> values = values_of(a);
  DumpComparison result;
  result.first_origin = origin_in(a, values);
  result.second_origin = origin_in(b, values_of(b));
  std::set<std::string> met;
  for (const DumpedValue& value : values) {
    const auto renamed = options.names.find(value.name);
    const std::string& other = renamed == options.names.end() ? value.name : renamed->second;
    if (!a.has(value.name)) continue;
    if (!b.has(other)) {
      result.only_first.push_back(value.name);
      continue;
    }
    met.insert(other);
    const Tensor &x = a.tensor(value.name), &y = b.tensor(other);
    ValueDifference difference{.name = value.name, .op = value.op, .where = value.where};
    const bool same = x.shape() == y.shape(), moved = fits_moved(x.shape(), y.shape());
    if (!same && !moved) {
      result.other_shapes.push_back(
          fmt::format("{}: {} and {}", value.name, x.shape().to_string(), y.shape().to_string()));
      continue;
    }
    const double sum = measure(x, y, !same, difference);
    if (same && moved && difference.difference > 0) {  // either order is possible: the closer one is meant
      ValueDifference turned = difference;
      if (measure(x, y, true, turned) < sum) difference = turned;
    }
    difference.inside = difference.difference <= std::max(options.absolute, options.tolerance * difference.largest);
    if (!difference.inside && !result.first_outside) result.first_outside = result.values.size();
    result.values.push_back(std::move(difference));
  }
  for (const NamedTensor& t : b.tensors())
    if (!met.contains(t.name)) result.only_second.push_back(t.name);
  if (result.values.empty()) {
    throw Error(
        fmt::format("[doctor] {} and {} have no value of one name and shape (the first begins with {}, the second "
                    "with {})",
                    first, second, a.tensors().empty() ? "nothing" : a.tensors()[0].name,
                    b.tensors().empty() ? "nothing" : b.tensors()[0].name));
  }
  return result;
}

std::string DumpComparison::to_text(std::size_t most) const {
  std::string text = fmt::format("{} values compared", values.size());
  if (!only_first.empty()) text += fmt::format(", {} in the first file alone", only_first.size());
  if (!only_second.empty()) text += fmt::format(", {} in the second alone", only_second.size());
  text += "\n";
  for (const std::string& line : other_shapes) text += "other shapes: " + printable(line) + "\n";
  text += fmt::format("{:<44} {:<22} {:>10} {:>10} {:>10}\n", "value", "op", "difference", "relative", "largest");
  if (first_outside) text += "first outside the band:\n" + line_of(values[*first_outside]) + "\n";
  std::vector<const ValueDifference*> order;
  for (const ValueDifference& v : values) order.push_back(&v);
  const auto relative = [](const ValueDifference* v) {
    return v->largest > 0 ? v->difference / v->largest : v->difference;
  };
  std::stable_sort(order.begin(), order.end(), [&](auto* x, auto* y) { return relative(x) > relative(y); });
  order.resize(std::min(order.size(), most));
  text += "largest:\n";
  for (const ValueDifference* v : order) text += line_of(*v) + "\n";
  if (!first_origin.empty()) text += "not finite in the first file from " + printable(first_origin) + " on\n";
  if (!second_origin.empty()) text += "not finite in the second file from " + printable(second_origin) + " on\n";
  return text + (equal() ? "all inside the band\n" : "they differ\n");
}

std::string DumpComparison::to_json() const {
  using Json = nlohmann::ordered_json;
  Json out{{"equal", equal()},
           {"first_outside", first_outside ? Json(values[*first_outside].name) : Json()},
           {"not_finite", {{"first", first_origin}, {"second", second_origin}}},
           {"only_first", only_first},
           {"only_second", only_second},
           {"other_shapes", other_shapes},
           {"values", Json::array()}};
  for (const ValueDifference& v : values) {
    out["values"].push_back({{"name", v.name},
                             {"op", v.op},
                             {"where", v.where},
                             {"difference", number_or_text(v.difference)},
                             {"largest", v.largest},
                             {"at", v.at},
                             {"inside", v.inside},
                             {"channels_first", v.moved}});
  }
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::map<std::string, std::string> read_dump_names(const std::string& text, const std::string& where) {
  std::map<std::string, std::string> names;
  std::istringstream lines(text);
  int at = 0;
  for (std::string line; std::getline(lines, line);) {
    ++at;
    std::istringstream words(line);
    std::string ours, theirs, more;
    if (!(words >> ours) || ours[0] == '#') continue;
    if (!(words >> theirs) || words >> more)
      throw Error(fmt::format("{}: line {} is no pair of names", where, at), ErrorKind::usage);
    names[ours] = theirs;
  }
  return names;
}

}  // namespace ridgeline::train
