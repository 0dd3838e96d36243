#include <cctype>
#include <map>
#include <set>

#include "ridgeline/graph/ir/forms.h"
#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/loop/text.h"

namespace ridgeline {
namespace {

class LetPrinter {
 public:
  // Functions are looked for in `whole`, too: a function's own callees may be the whole graph's.
  LetPrinter(const Graph& graph, const Graph& whole, int depth)
      : graph_(graph), whole_(whole), indent_(static_cast<std::size_t>(2 * depth), ' '), depth_(depth) {
    for (const auto& [id, name] : value_names(graph)) names_[id] = is_number(name) ? "%" + name : name;
  }

  std::string print(const std::string& name) {
    text_ += indent_ + "let " + name + " = lambda (";
    for (std::size_t i = 0; i < graph_.arguments.size(); ++i) text_ += (i ? ", " : "") + names_.at(graph_.arguments[i]);
    text_ += ")\n";
    indent_ += "  ";
    for (const Node& node : graph_.nodes) print_node(node);
    for (const Update& update : graph_.updates)
      text_ += indent_ + "let " + names_.at(update.current) + "' = " + names_.at(update.next) + " in\n";
    std::string results;
    for (const Return& r : graph_.returns) results += (results.empty() ? "" : ", ") + names_.at(r.value);
    text_ += indent_ + (graph_.returns.size() == 1 ? results : "(" + results + ")") + " end";
    return text_;
  }

 private:
  static bool is_number(const std::string& name) { return std::isdigit(static_cast<unsigned char>(name[0])) != 0; }

  void print_node(const Node& node) {
    const OpDef& def = op_def(node.op);
    std::vector<std::string> operands;
    for (ValueId id : node.inputs) operands.push_back(names_.at(id));
    const std::string scalar = def.expression ? one_operation(def.expression(node.attributes), operands) : "";
    if (node.inputs.empty() && !scalar.empty()) {  // a constant is written where it is read
      names_[node.outputs[0]] = scalar;
      return;
    }
    if (def.has(kCall)) print_function(node.attributes.string("function"));
    std::string results;
    for (ValueId id : node.outputs) results += (results.empty() ? "" : ", ") + names_.at(id);
    text_ += indent_ + "let " + results + " = ";
    if (scalar.empty()) {
      std::string list;
      for (const std::string& operand : operands) list += (list.empty() ? "" : ", ") + operand;
      const std::string attributes = def.has(kCall) ? "" : attribute_text(node);
      text_ += (def.has(kCall) ? node.attributes.string("function") : node.op) + "(" + list + ")" +
               (attributes.empty() ? "" : " {" + attributes + "}");
    } else {
      text_ += scalar;
    }
    text_ += " in\n";
  }

  // The formula of an expression that is one operation on its operands, or a constant; else "".
  static std::string one_operation(const loop::Expression& expression, const std::vector<std::string>& operands) {
    int operations = 0;
    for (const loop::Term& term : expression.terms) operations += loop::arity(term.kind) > 0 ? 1 : 0;
    const bool constant = operations == 0 && operands.empty();
    if (expression.results.size() != 1 || (operations != 1 && !constant)) return "";
    return loop::to_string(expression, operands);
  }

  // Printed before the first call.
  void print_function(const std::string& name) {
    if (!printed_.insert(name).second) return;
    auto found = graph_.functions.find(name);
    if (found == graph_.functions.end()) found = whole_.functions.find(name);
    text_ += LetPrinter(found->second, whole_, depth_ + 1).print(name) + " in\n";
  }

  const Graph& graph_;
  const Graph& whole_;
  std::string indent_;
  int depth_;
  std::map<ValueId, std::string> names_;
  std::set<std::string> printed_;
  std::string text_;
};

}  // namespace

std::string to_let_text(const Graph& graph) { return LetPrinter(graph, graph, 0).print(graph.name) + "\n"; }

}  // namespace ridgeline
