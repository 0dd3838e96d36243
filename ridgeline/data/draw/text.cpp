#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "ridgeline/data/draw/facts.h"

namespace ridgeline::data {
namespace {

void write(const DataGraph& graph, const std::map<std::string, NodeFacts>& facts, const Node& node, std::size_t depth,
           std::set<std::string>& written, std::string& out) {
  const std::string indent(2 * depth, ' ');
  if (!written.insert(node.id).second) {
    out += fmt::format("{}{}: {}, as above\n", indent, node.id, node.op);
    return;
  }
  const NodeFacts& known = facts.at(node.id);
  out += fmt::format("{}{}: {}", indent, node.id, node.op);
  if (!known.arguments.empty()) out += fmt::format("({})", fmt::join(known.arguments, ", "));
  if (known.schema) out += " -> " + to_string(*known.schema);
  if (!known.rows.empty()) out += "; " + known.rows;
  out += "\n";
  for (const std::string& operation : known.operations) out += fmt::format("{}    {}\n", indent, operation);
  for (const std::string& extra : known.extras) out += fmt::format("{}    {}\n", indent, extra);
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
