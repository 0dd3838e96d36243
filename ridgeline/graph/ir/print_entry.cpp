#include <cctype>
#include <map>

#include "ridgeline/core/printable.h"
#include "ridgeline/graph/ir/forms.h"
#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/graph/ir/source_lines.h"
#include "ridgeline/graph/ir/text.h"

namespace ridgeline {
namespace {

// "batch_norm_train" -> "BatchNormTrain", as operators are called there.
std::string operator_name(const std::string& op) {
  std::string name;
  bool upper = true;
  for (char c : op) {
    if (c != '_') name += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = c == '_';
  }
  return name;
}

// In the order of DType.
std::string element_name(DType dtype) {
  switch (dtype) {
    case DType::f64: return "Float64";
    case DType::f32: return "Float32";
    case DType::bf16: return "BFloat16";
    case DType::f16: return "Float16";
    case DType::u8: return "UInt8";
    case DType::i32: return "Int32";
    case DType::i64: return "Int64";
    case DType::boolean: return "Bool";
    case DType::bytes: return "String";
  }
  return "";
}

std::string type_text(const ValueInfo& info) {
  std::string dims;
  for (int i = 0; i < info.type.shape.rank(); ++i) dims += (i ? ", " : "") + std::to_string(info.type.shape[i]);
  const std::string tensor = "Tensor[" + element_name(info.type.dtype) + "]";
  const bool stored = is_stored(info.kind);
  return "<" + (stored ? "Ref[" + tensor + "]" : tensor) + "x[const vector][" + dims + "]>";
}

class EntryPrinter {
 public:
  EntryPrinter(const Graph& graph, const NodeError* mark) : mark_(mark) {
    number_of_[graph.name] = 1;
    find_functions(graph);
    for (const auto& [name, function] : functions_)
      number_of_.try_emplace(name, static_cast<int>(number_of_.size()) + 1);
    whole_ = &graph;
  }

  std::string print() {
    const Graph& graph = *whole_;
    const std::string entry = at_name(graph.name);
    name_values(graph);
    text_ = "#IR entry      : " + entry +
            "\n#attrs         :\n#Total params  : " + std::to_string(graph.arguments.size()) + "\n\n";
    for (ValueId id : graph.arguments) text_ += names_.at(id) + " : " + type_text(graph.value(id)) + "\n";
    text_ += "\n#Total subgraph : " + std::to_string(1 + functions_.size()) + "\n\n";
    subgraph(graph, graph.name, true);
    for (const auto& [name, function] : functions_) {
      name_values(*function);
      text_ += "\n";
      subgraph(*function, name, false);
    }
    return std::move(text_);
  }

 private:
  // Those of the graph and of its functions.
  void find_functions(const Graph& graph) {
    for (const auto& [name, function] : graph.functions) {
      functions_.try_emplace(name, &function);
      find_functions(function);
    }
  }

  std::string at_name(const std::string& name) const { return "@" + name + "." + std::to_string(number_of_.at(name)); }

  // Parameters are counted through all subgraphs, results from 0 in each.
  void name_values(const Graph& graph) {
    names_.clear();
    for (ValueId id : graph.arguments)
      names_[id] = "%para" + std::to_string(++parameters_) + "_" + graph.value(id).name;
    int next = 0;
    for (const Node& node : graph.nodes) {
      for (ValueId id : node.outputs) names_[id] = "%" + std::to_string(next++);
    }
  }

  void subgraph(const Graph& graph, const std::string& name, bool entry) {
    text_ += "subgraph attr:\nsubgraph " + at_name(name) + "(";
    for (std::size_t i = 0; !entry && i < graph.arguments.size(); ++i) {
      const ValueId id = graph.arguments[i];
      text_ += (i ? ", " : "") + names_.at(id) + " : " + type_text(graph.value(id));
    }
    text_ += ") {\n";
    for (const Node& node : graph.nodes) {
      if (mark_ != nullptr && mark_->graph() == name && mark_->node() == node.name)
        text_ += "#------------------------> " + printable(mark_->what()) + "\n";
      print_node(graph, node);
    }
    std::vector<ValueId> results;
    for (const Update& update : graph.updates) {
      text_ += "  Assign(" + names(std::vector<ValueId>{update.current, update.next}) + ")\n      : (" +
               types(graph, std::vector<ValueId>{update.current, update.next}) + ")\n";
    }
    for (const Return& r : graph.returns) results.push_back(r.value);
    text_ += "  return(" + names(results) + ")\n      : (" + types(graph, results) + ")\n}\n";
  }

  void print_node(const Graph& graph, const Node& node) {
    const OpDef& def = op_def(node.op);
    const std::string id = "([CNode]" + std::to_string(++nodes_) + ")";
    std::string results;
    for (ValueId result : node.outputs) results += (results.empty() ? "" : ", ") + name(result) + id;
    text_ += "  " + results + " = ";
    if (def.has(kCall)) {
      const std::string& callee = node.attributes.string("function");
      text_ +=
          "call " + (number_of_.contains(callee) ? at_name(callee) : "@" + callee) + "(" + names(node.inputs) + ")";
    } else {
      text_ += operator_name(node.op) + "(" + names(node.inputs) + ") primitive_attrs: {" + attributes(def, node) + "}";
    }
    text_ += "\n      : (" + types(graph, node.inputs) + ") -> (" + types(graph, node.outputs) + ")\n";
    text_ += "      # fullname_with_scope: (" + printable(node.name) + ")\n";
    for (const Location& at : node.where) {
      text_ +=
          "      # In file " + printable(at.file) + "(" + std::to_string(at.line) + ")/" + source_.line(at) + "/\n";
    }
  }

  static std::string attributes(const OpDef& def, const Node& node) {
    const auto list = [](const std::vector<std::string>& items, std::size_t count) {
      std::string text;
      for (std::size_t i = 0; i < std::min(items.size(), count); ++i) text += (i ? ", " : "") + items[i];
      return "[" + text + "]";
    };
    std::string text = "output_names: " + list(def.results, node.outputs.size()) +
                       ", input_names: " + list(def.operands, node.inputs.size());
    for (const auto& [name, value] : node.attributes) text += ", " + name + ": " + to_string(value);
    return text;
  }

  // A value that nothing defines has no name; a graph with one is printed when it is reported.
  std::string name(ValueId id) const {
    const auto it = names_.find(id);
    return it == names_.end() ? "%undefined" : it->second;
  }
  std::string names(const std::vector<ValueId>& ids) const {
    std::string text;
    for (ValueId id : ids) text += (text.empty() ? "" : ", ") + name(id);
    return text;
  }
  static std::string types(const Graph& graph, const std::vector<ValueId>& ids) {
    std::string text;
    for (ValueId id : ids) text += (text.empty() ? "" : ", ") + type_text(graph.value(id));
    return text;
  }

  const Graph* whole_;
  const NodeError* mark_;
  std::map<std::string, const Graph*> functions_;
  std::map<std::string, int> number_of_;
  std::map<ValueId, std::string> names_;
  SourceLines source_;
  int parameters_ = 0;
  int nodes_ = 0;
  std::string text_;
};

}  // namespace

std::string to_entry_text(const Graph& graph, const NodeError* mark) { return EntryPrinter(graph, mark).print(); }

}  // namespace ridgeline
