#include "ridgeline/data/draw/facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/ir/source_handle.h"

namespace ridgeline::data {
namespace {

constexpr std::size_t kMostItems = 6;

template <class Items, class Text>
std::string list(const Items& items, Text text) {
  std::string out = "[";
  for (std::size_t i = 0; i < std::min(items.size(), kMostItems); ++i) out += (i ? ", " : "") + text(items[i]);
  if (items.size() > kMostItems) out += fmt::format(", ... {} in all", items.size());
  return out + "]";
}

std::string quoted(const std::string& text) { return '"' + text + '"'; }

std::string text_of(const Value& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::string>)
          return quoted(v);
        else if constexpr (std::is_same_v<T, Texts>)
          return list(v, quoted);
        else if constexpr (std::is_same_v<T, Tensors>)
          return list(v, [](const NamedTensor& t) {
            return fmt::format("{} {}{}", t.name, name_of(t.tensor.dtype()), t.tensor.shape().to_string());
          });
        else if constexpr (std::is_same_v<T, Integers> || std::is_same_v<T, Reals>)
          return list(v, [](auto number) { return fmt::format("{}", number); });
        else
          return fmt::format("{}", v);
      },
      value);
}

std::vector<std::string> arguments(const Args& args, const std::vector<ArgSpec>& specs) {
  std::vector<std::string> out;
  for (const ArgSpec& spec : specs) {
    const Value& value = args.at(spec.name);
    if (spec.fallback && *spec.fallback == value) continue;
    out.push_back(value == Value(true) ? spec.name : spec.name + "=" + text_of(value));
  }
  return out;
}

std::string operation(const Transform& t) {
  const TransformEntry& entry = transform_entry(t.op);
  const std::vector<std::string> args = arguments(t.args, entry.args);
  std::string out = t.op;
  if (!args.empty()) out += fmt::format("({})", fmt::join(args, ", "));
  // The stream of its random numbers, where the op alone does not tell it.
  if (entry.random && !t.name.empty() && t.name != t.op) out += fmt::format(" named {}", t.name);
  return out;
}

// Those that an operation is made of follow it, one "> " for every level.
void list_operations(const std::vector<Transform>& operations, const std::string& level,
                     std::vector<std::string>& out) {
  for (const Transform& t : operations) {
    out.push_back(level + operation(t));
    list_operations(t.operations, level + "> ", out);
  }
}

// Asks a rule of a node; nothing where the answer would need files that must not be opened. Sources then have no
// handle.
template <class F>
auto unless_in_files(bool open_files, F&& ask) -> std::optional<decltype(ask())> {
  if (open_files) return ask();
  try {
    return ask();
  } catch (const NotOpened&) {
    return std::nullopt;
  }
}

std::string rows_text(std::int64_t rows, bool batches) {
  if (rows == kForever) return "endless";
  if (rows == kUnknown) return "";
  return fmt::format("{} {}{}", rows, batches ? "batch" : "row", rows == 1 ? "" : batches ? "es" : "s");
}

// Whether rows of `node` are batches.
bool batched(const DataGraph& graph, const Node& node) {
  return node_entry(node.op).kind == NodeKind::batch ||
         (node.inputs.size() == 1 && batched(graph, graph.node(node.inputs[0])));
}

}  // namespace

std::map<std::string, NodeFacts> facts_of(const DataGraph& given, const DrawOptions& options) {
  DataGraph graph = given;
  if (!options.open_files) {
    for (Node& node : graph.nodes) node.source = nullptr;
  }
  const auto sizes = unless_in_files(options.open_files, [&] { return sizes_of(graph); });
  std::map<std::string, NodeFacts> all;
  for (const Node& node : graph.nodes) {
    const NodeEntry& entry = node_entry(node.op);
    NodeFacts facts;
    facts.arguments = arguments(node.args, entry.args);
    list_operations(node.operations, "", facts.operations);
    for (const auto& [name, value] : node.hints) facts.extras.push_back(fmt::format("hint {}={}", name, value));
    for (const std::shared_ptr<DataCallback>& callback : node.callbacks)
      facts.extras.push_back(fmt::format("callback every {} steps", callback->step_size()));
    std::vector<Schema> inputs;
    for (const std::string& input : node.inputs) {
      if (all.at(input).schema) inputs.push_back(*all.at(input).schema);
    }
    if (inputs.size() == node.inputs.size()) {
      facts.schema = unless_in_files(
          options.open_files, [&] { return schema_after(node, entry.schema(node, inputs), node.operations.size()); });
    }
    if (sizes) facts.rows = rows_text(sizes->at(node.id), batched(graph, node));
    all[node.id] = std::move(facts);
  }
  return all;
}

}  // namespace ridgeline::data
