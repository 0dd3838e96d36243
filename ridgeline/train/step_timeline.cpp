#include "ridgeline/train/step_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/printable.h"
#include "ridgeline/format/text/json_value.h"

namespace ridgeline::train {
namespace {

std::int64_t bytes_of(const ValueType& type) {
  return type.shape.elements() * static_cast<std::int64_t>(size_of(type.dtype));
}

// The launch whose end finishes a value: of the node that computes it, or, where that has none (a view), of its
// operand.
int finishing_launch(const Graph& graph, const std::vector<int>& producer, const std::map<std::string, int>& launches,
                     ValueId value) {
  for (int node = producer[static_cast<std::size_t>(value)]; node >= 0;) {
    const Node& made_by = graph.nodes[static_cast<std::size_t>(node)];
    if (const auto found = launches.find(made_by.name); found != launches.end()) return found->second;
    if (made_by.inputs.empty()) return -1;
    node = producer[static_cast<std::size_t>(made_by.inputs.front())];
  }
  return -1;
}

[[noreturn]] void fail(const std::string& path, const std::string& message) {
  throw Error(fmt::format("[plan] {}: {} (it must be what `bench step --json` prints)", printable(path), message),
              ErrorKind::usage);
}

// Beyond any step and any model; sums and products of such numbers are finite, and those of bytes exact.
constexpr double kMostMilliseconds = 1e9, kMostImages = 1e9, kMostBytes = 1e15;
constexpr double kLeastSeconds = 1e-9;  // of all launches

double number_at(const JsonValue& object, const char* key, double least, double most, const std::string& path) {
  const JsonValue* value = object.find(key);
  double number = 0;
  if (value == nullptr || !value->as_double(number)) fail(path, fmt::format("has no number '{}'", key));
  if (!(number >= least && number <= most))
    fail(path, fmt::format("'{}' is {}, not from {} to {}", key, number, least, most));
  return number;
}

comm::StepPart part_of(const JsonValue& launch, const std::string& path) {
  const JsonValue *name = launch.find("name"), *update = launch.find("update");
  if (name == nullptr || name->text() == nullptr) fail(path, "a launch of 'timeline' has no 'name'");
  if (update == nullptr || update->boolean() == nullptr) fail(path, "a launch of 'timeline' has no 'update'");
  return {.name = *name->text(),
          .seconds = number_at(launch, "ms", 0, kMostMilliseconds, path) / 1e3,
          .gradient_bytes = static_cast<std::int64_t>(number_at(launch, "gradient_bytes", 0, kMostBytes, path)),
          .update = *update->boolean()};
}

}  // namespace

comm::StepTimeline timeline_of(const Program& program) {
  const Graph& graph = program.graph();
  comm::StepTimeline timeline;
  std::map<std::string, int> launches;  // the last one of each node
  for (const LaunchReport& launch : program.launches()) {
    if (!launch.ran) continue;
    launches[launch.node] = static_cast<int>(timeline.parts.size());
    timeline.parts.push_back({.name = launch.node, .seconds = launch.milliseconds / 1e3});
  }
  const std::vector<int> producer = producers(graph);
  const auto add = [&](int launch, std::int64_t bytes) {
    if (!timeline.parts.empty()) timeline.parts[static_cast<std::size_t>(std::max(0, launch))].gradient_bytes += bytes;
  };
  std::set<ValueId> counted;  // gradients: parameters of equal shapes may be updated by one node
  for (const Update& update : graph.updates) {
    const ValueInfo& parameter = graph.value(update.current);
    const int node = producer[static_cast<std::size_t>(update.next)];
    if (parameter.kind != ValueKind::param || node < 0) continue;
    const Node& updating = graph.nodes[static_cast<std::size_t>(node)];
    const int launch = finishing_launch(graph, producer, launches, update.next);
    const auto gradient = std::find_if(updating.inputs.begin(), updating.inputs.end(), [&](ValueId value) {
      return graph.value(value).kind == ValueKind::grad && graph.value(value).type.shape == parameter.type.shape &&
             !counted.contains(value);
    });
    if (gradient == updating.inputs.end()) {
      add(launch, bytes_of(parameter.type));
      continue;
    }
    counted.insert(*gradient);
    if (launch >= 0) timeline.parts[static_cast<std::size_t>(launch)].update = true;
    add(finishing_launch(graph, producer, launches, *gradient), bytes_of(graph.value(*gradient).type));
  }
  return timeline;
}

MeasuredStep read_measured_step(const std::string& path) {
  const JsonValue file = parse_json(read_file(path), "[plan] " + printable(path));
  if (file.object() == nullptr) fail(path, fmt::format("is {}, not an object", file.kind()));
  MeasuredStep step;
  const JsonValue *model = file.find("model"), *timeline = file.find("timeline");
  if (model == nullptr || model->text() == nullptr) fail(path, "has no 'model'");
  step.model = *model->text();
  step.batch_size = static_cast<std::int64_t>(number_at(file, "batch_size", 1, kMostImages, path));
  step.milliseconds = number_at(file, "ms_per_step", 0, kMostMilliseconds, path);
  if (timeline == nullptr || timeline->array() == nullptr || timeline->array()->empty())
    fail(path, "has no launches in 'timeline'");
  double bytes = 0;
  for (const JsonValue& launch : *timeline->array()) {
    step.timeline.parts.push_back(part_of(launch, path));
    bytes += static_cast<double>(step.timeline.parts.back().gradient_bytes);
    if (bytes > kMostBytes) fail(path, fmt::format("gradients of 'timeline' have more than {} bytes", kMostBytes));
  }
  if (step.timeline.seconds() < kLeastSeconds) fail(path, "launches of 'timeline' take no time");
  return step;
}

}  // namespace ridgeline::train
