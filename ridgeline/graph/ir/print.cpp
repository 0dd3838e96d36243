#include <ostream>
#include <set>

#include "ridgeline/core/printable.h"
#include "ridgeline/graph/ir/annotations.h"
#include "ridgeline/graph/ir/builder.h"
#include "ridgeline/graph/ir/text.h"

namespace ridgeline {
namespace {

class GraphPrinter {
 public:
  GraphPrinter(const Graph& graph, TextOptions options)
      : graph_(graph), options_(options), names_(value_names(graph)) {}

  std::string print(std::string_view keyword) {
    for (const auto& [name, function] : graph_.functions) {
      Graph named = function;
      named.name = name;
      text_ += GraphPrinter(named, options_).print("func");
    }
    text_ += std::string(keyword) + " @" + graph_.name + "(";
    for (std::size_t i = 0; i < graph_.arguments.size(); ++i) {
      const ValueInfo& info = graph_.value(graph_.arguments[i]);
      text_ += (i ? ", %" : "%") + info.name + ": ";
      if (info.kind != ValueKind::input) text_ += std::string(name_of(info.kind)) + " ";
      text_ += info.type.to_string();
    }
    text_ += ") {\n";
    for (const Node& node : graph_.nodes) print_node(node);
    for (const Update& update : graph_.updates) {
      text_ += "  update " + ref(update.current) + " = " + ref(update.next) + "\n";
    }
    if (!graph_.returns.empty()) {
      text_ += "  return ";
      for (std::size_t i = 0; i < graph_.returns.size(); ++i) {
        const Return& r = graph_.returns[i];
        text_ += (i ? ", " : "") + ref(r.value);
        if (!r.name.empty()) text_ += " " + to_string(Attribute(r.name));
      }
      text_ += "\n";
    }
    return text_ + "}\n";
  }

 private:
  // A value that nothing defines has no name; a graph with one is printed when it is reported.
  std::string ref(ValueId id) const {
    const auto it = names_.find(id);
    return "%" + (it == names_.end() ? "undefined" : it->second);
  }

  void print_node(const Node& node) {
    if (options_.mark != nullptr && options_.mark->graph() == graph_.name && options_.mark->node() == node.name)
      text_ += "#------------------------> " + printable(options_.mark->what()) + "\n";
    text_ += "  ";
    for (std::size_t i = 0; i < node.outputs.size(); ++i) text_ += (i ? ", " : "") + ref(node.outputs[i]);
    text_ += " = " + node.op + "(";
    for (std::size_t i = 0; i < node.inputs.size(); ++i) text_ += (i ? ", " : "") + ref(node.inputs[i]);
    text_ += ")";
    if (const std::string items = attribute_text(node); !items.empty()) text_ += " {" + items + "}";
    text_ += " : ";
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueInfo& info = graph_.value(node.outputs[i]);
      if (i) text_ += ", ";
      if (info.kind != ValueKind::activation) text_ += std::string(name_of(info.kind)) + " ";
      text_ += info.type.to_string();
    }
    if (node.name != numbered_name(node.op, counts_[node.op]++)) text_ += " name " + to_string(Attribute(node.name));
    if (options_.locations) {
      for (const Location& at : node.where) {
        text_ += " loc(" + to_string(Attribute(at.file)) + ":" + std::to_string(at.line) + " " +
                 to_string(Attribute(at.function)) + ")";
      }
    }
    text_ += "\n";
  }

  const Graph& graph_;
  TextOptions options_;
  std::string text_;
  std::map<ValueId, std::string> names_;
  std::map<std::string, int> counts_;
};

}  // namespace

std::map<ValueId, std::string> value_names(const Graph& graph) {
  std::map<ValueId, std::string> names;
  std::set<std::string> taken;
  for (ValueId id : graph.arguments) {
    names[id] = graph.value(id).name;
    taken.insert(graph.value(id).name);
  }
  int next = 0;
  for (const Node& node : graph.nodes) {
    for (ValueId id : node.outputs) {
      while (taken.contains(std::to_string(next))) ++next;
      names[id] = std::to_string(next++);
    }
  }
  return names;
}

std::string attribute_text(const Node& node) {
  // A loop's attribute is its expression, written bare.
  if (node.op == "loop") return " " + node.attributes.string("expression") + " ";
  const OpDef& def = op_def(node.op);
  std::string items;
  for (const AttributeSpec& spec : def.attributes) {
    const Attribute* value = node.attributes.find(spec.name);
    if (value == nullptr || (spec.fallback && *spec.fallback == *value)) continue;
    items += (items.empty() ? "" : ", ") + spec.name + "=" + to_string(*value);
  }
  for (const AttributeSpec& spec : annotations()) {
    const Attribute* value = node.attributes.find(spec.name);
    if (value != nullptr) items += (items.empty() ? "" : ", ") + spec.name + "=" + to_string(*value);
  }
  return items;
}

std::string to_text(const Graph& graph, TextOptions options) { return GraphPrinter(graph, options).print("graph"); }

std::ostream& operator<<(std::ostream& out, const Graph& graph) { return out << to_text(graph, {.locations = false}); }

bool operator==(const Graph& a, const Graph& b) { return to_text(a) == to_text(b); }

}  // namespace ridgeline
