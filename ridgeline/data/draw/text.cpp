#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "ridgeline/core/printable.h"
#include "ridgeline/data/draw/facts.h"

namespace ridgeline::data {
namespace {

void write(const DataGraph& graph, const std::map<std::string, NodeFacts>& facts, const Node& node, std::size_t depth,
           std::set<std::string>& written, std::string& out) {
  // Ids, columns and paths may be called anything: each line goes through printable().
  const auto line = [&](std::size_t in, const std::string& text) {
    out += std::string(in, ' ') + printable(text) + "\n";
  };
  if (!written.insert(node.id).second) {
    line(2 * depth, fmt::format("{}: {}, as above", node.id, node.op));
    return;
  }
  const NodeFacts& known = facts.at(node.id);
  std::string head = fmt::format("{}: {}", node.id, node.op);
  if (!known.arguments.empty()) head += fmt::format("({})", fmt::join(known.arguments, ", "));
  if (known.schema) head += " -> " + to_string(*known.schema);
  if (!known.rows.empty()) head += "; " + known.rows;
  line(2 * depth, head);
  for (const std::string& operation : known.operations) line(2 * depth + 4, operation);
  for (const std::string& extra : known.extras) line(2 * depth + 4, extra);
  for (const std::string& input : node.inputs) write(graph, facts, graph.node(input), depth + 1, written, out);
}

}  // namespace

std::string to_text(const DataGraph& graph, const DrawOptions& options) {
  std::string out;
  std::set<std::string> written;
  write(graph, facts_of(graph, options), graph.output(), 0, written, out);
  return out;
}

}  // namespace ridgeline::data
