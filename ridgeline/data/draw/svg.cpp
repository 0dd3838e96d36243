#include <fmt/format.h>

#include "ridgeline/data/draw/facts.h"
#include "ridgeline/data/ir/registry.h"
#include "ridgeline/format/drawing/svg.h"

namespace ridgeline::data {
namespace {

const char* colour_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::source: return "#dcebfa";
    case NodeKind::order: return "#f0f0f0";
    case NodeKind::filter: return "#fae3e3";
    case NodeKind::map: return "#e3f4e0";
    case NodeKind::columns: return "#e0f3f3";
    case NodeKind::join: return "#f0e4f8";
    case NodeKind::cache: return "#fdf8d0";
    case NodeKind::batch: return "#fdecd6";
  }
  return "#ffffff";
}

// Columns and rows are on the arrow that leaves a node.
drawing::Card card_of(const Node& node, const NodeFacts& facts) {
  drawing::Card card{.heading = node.op, .corner = node.id, .colour = colour_of(node_entry(node.op).kind)};
  card.lines = facts.arguments;
  for (const std::string& text : facts.operations) card.lines.push_back((text.starts_with('>') ? "  " : "· ") + text);
  card.lines.insert(card.lines.end(), facts.extras.begin(), facts.extras.end());
  if (facts.schema) {
    for (const Column& column : *facts.schema) card.label.push_back(to_string({column}));
  }
  if (!facts.rows.empty()) card.label.push_back(facts.rows);
  return card;
}

drawing::Panel panel_of(const Drawing& drawing, const DrawOptions& options) {
  const std::map<std::string, NodeFacts> facts = facts_of(drawing.graph, options);
  drawing::Panel panel{.title = drawing.title, .notes = drawing.notes, .cards = {}};
  std::map<std::string, std::size_t> index;
  for (const Node& node : drawing.graph.nodes) {
    drawing::Card card = card_of(node, facts.at(node.id));
    for (const std::string& input : node.inputs) card.inputs.push_back(index.at(input));
    index[node.id] = panel.cards.size();
    panel.cards.push_back(std::move(card));
  }
  panel.cards[index.at(drawing.graph.output().id)].leaves = true;
  return panel;
}

}  // namespace

std::string to_svg(const std::vector<Drawing>& drawings, const DrawOptions& options) {
  std::vector<drawing::Panel> panels;
  for (const Drawing& drawing : drawings) panels.push_back(panel_of(drawing, options));
  return drawing::to_svg(panels);
}

std::string to_svg(const DataGraph& graph, const std::string& title, const DrawOptions& options) {
  return to_svg({Drawing{.title = title, .graph = graph}}, options);
}

}  // namespace ridgeline::data
