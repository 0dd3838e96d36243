#include "ridgeline/graph/draw/draw.h"

#include <algorithm>

#include "ridgeline/core/error.h"
#include "ridgeline/format/drawing/svg.h"
#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/graph/ir/text.h"

namespace ridgeline {
namespace {

struct TraitColour {
  OpTrait trait;
  const char* colour;
};

// The first trait that an op has decides; layers have none of them.
constexpr TraitColour kColours[] = {{kCall, "#e0f3f3"},      {kUpdate, "#fae3e3"},    {kView, "#f0f0f0"},
                                    {kReduction, "#f0e4f8"}, {kPointwise, "#e3f4e0"}, {kRandom, "#fdf8d0"}};
constexpr const char* kLayerColour = "#fdecd6";
constexpr const char* kInputColour = "#dcebfa";

const char* colour_of(const OpDef& def) {
  for (const TraitColour& entry : kColours) {
    if (def.has(entry.trait)) return entry.colour;
  }
  return kLayerColour;
}

class Drawer {
 public:
  Drawer(const Graph& graph, std::string title) : graph_(graph), producer_(producers(graph)) {
    panel_.title = std::move(title);
    names_ = value_names(graph);
  }

  drawing::Panel run() {
    for (ValueId id : graph_.arguments) {
      const ValueInfo& info = graph_.value(id);
      if (info.kind != ValueKind::input) continue;
      drawing::Card card{.heading = info.name, .corner = "input", .label = {info.type.to_string()}};
      card.colour = kInputColour;
      add(id, std::move(card));
    }
    for (const Node& node : graph_.nodes) {
      if (!written_inside(node)) add_node(node);
    }
    for (const Return& r : graph_.returns) {
      drawing::Card card{.heading = "return", .corner = r.name.empty() ? "%" + names_.at(r.value) : r.name};
      read(r.value, "", card);
      card.leaves = true;
      panel_.cards.push_back(std::move(card));
    }
    return std::move(panel_);
  }

 private:
  void add(ValueId id, drawing::Card card) {
    index_[id] = panel_.cards.size();
    panel_.cards.push_back(std::move(card));
  }

  // Without operands and without a box of its own: a constant.
  static bool written_inside(const Node& node) {
    const OpDef& def = op_def(node.op);
    return def.max_operands == 0 && node.outputs.size() == 1;
  }

  // An arrow from the value's box, or its name in this one.
  void read(ValueId id, const std::string& as, drawing::Card& card) {
    const std::string role = as.empty() ? "" : as + ": ";
    if (const auto at = index_.find(id); at != index_.end()) {
      if (std::find(card.inputs.begin(), card.inputs.end(), at->second) == card.inputs.end())
        card.inputs.push_back(at->second);
      return;
    }
    const int from = producer_[static_cast<std::size_t>(id)];
    const ValueInfo& info = graph_.value(id);
    if (from < 0) {
      card.lines.push_back(role + info.name + " " + info.type.to_string() + " (" + std::string(name_of(info.kind)) +
                           ")");
    } else {
      const Node& node = graph_.nodes[static_cast<std::size_t>(from)];
      card.lines.push_back(role + node.op + " " + attribute_text(node));
    }
  }

  void add_node(const Node& node) {
    const OpDef& def = op_def(node.op);
    drawing::Card card{.heading = node.op, .corner = node.name, .colour = colour_of(def)};
    if (const std::string text = attribute_text(node); !text.empty()) card.lines.push_back(text);
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      read(node.inputs[i], i < def.operands.size() ? def.operands[i] : "", card);
    for (ValueId id : node.outputs) {
      card.label.push_back(graph_.value(id).type.to_string());
      for (const Update& update : graph_.updates) {
        if (update.next == id) card.lines.push_back("next " + graph_.value(update.current).name);
      }
    }
    for (ValueId id : node.outputs) index_[id] = panel_.cards.size();
    panel_.cards.push_back(std::move(card));
  }

  const Graph& graph_;
  std::vector<int> producer_;
  std::map<ValueId, std::string> names_;
  std::map<ValueId, std::size_t> index_;  // of the card that a value comes from
  drawing::Panel panel_;
};

}  // namespace

std::string to_svg(const Graph& graph, const std::string& title) {
  std::size_t boxes = graph.arguments.size() + graph.nodes.size() + graph.returns.size();
  for (const auto& [name, function] : graph.functions) boxes += function.nodes.size();
  if (boxes > kMostDrawn) {
    throw Error("graph @" + graph.name + " has " + std::to_string(boxes) + " ops, arguments and results: more than " +
                std::to_string(kMostDrawn) + " are not drawn");
  }
  std::vector<drawing::Panel> panels{Drawer(graph, title.empty() ? "@" + graph.name : title).run()};
  for (const auto& [name, function] : graph.functions) panels.push_back(Drawer(function, "function @" + name).run());
  return drawing::to_svg(panels);
}

}  // namespace ridgeline
