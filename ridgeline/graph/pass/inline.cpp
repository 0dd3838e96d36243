#include "ridgeline/graph/pass/inline.h"

#include <map>
#include <set>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/pass/rewrite.h"

namespace ridgeline {
namespace {

// Functions that call functions double with each level: a short text must not become more than memory holds.
constexpr std::int64_t kMostOps = std::int64_t{1} << 20;

class Inliner {
 public:
  explicit Inliner(Graph source) : source_(std::move(source)) {}

  Graph run() {
    result_.name = source_.name;
    std::map<ValueId, ValueId> map;
    for (ValueId id : source_.arguments) {
      map[id] = result_.add_value(source_.value(id));
      result_.arguments.push_back(map[id]);
    }
    for (const Node& node : source_.nodes) taken_.insert(node.name);
    emit(source_, map, "", {});
    for (const Update& u : source_.updates) result_.updates.push_back({map.at(u.current), map.at(u.next)});
    for (const Return& r : source_.returns) result_.returns.push_back({r.name, map.at(r.value)});
    return std::move(result_);
  }

 private:
  void emit(const Graph& graph, std::map<ValueId, ValueId>& map, const std::string& prefix,
            const LocationStack& callers) {
    for (const Node& node : graph.nodes) {
      if (++visited_ > kMostOps) {
        throw Error("graph @" + source_.name + " has more than " + std::to_string(kMostOps) +
                    " ops where all functions stand in the place of their calls");
      }
      LocationStack where = node.where;
      where.insert(where.end(), callers.begin(), callers.end());
      if (node.op == "call") {
        const std::string& name = node.attributes.string("function");
        if (!active_.insert(name).second)
          throw Error("function @" + name + " calls itself: recursion has no static graph");
        const Graph& callee = source_function(graph, name);
        std::map<ValueId, ValueId> inner;
        for (std::size_t i = 0; i < callee.arguments.size(); ++i) inner[callee.arguments[i]] = map.at(node.inputs[i]);
        emit(callee, inner, prefix + node.name + "/", where);
        for (std::size_t i = 0; i < node.outputs.size(); ++i) map[node.outputs[i]] = inner.at(callee.returns[i].value);
        active_.erase(name);
        continue;
      }
      Node copy = node;
      copy.where = where;
      if (!prefix.empty()) copy.name = add_unique(taken_, prefix + node.name);
      for (ValueId& id : copy.inputs) id = map.at(id);
      for (ValueId& id : copy.outputs) {
        const ValueId made = result_.add_value(graph.value(id));
        map[id] = made;
        id = made;
      }
      result_.nodes.push_back(std::move(copy));
    }
  }

  // A function sees its own callees first, then those of the whole graph.
  const Graph& source_function(const Graph& graph, const std::string& name) const {
    if (const auto it = graph.functions.find(name); it != graph.functions.end()) return it->second;
    const auto it = source_.functions.find(name);
    if (it == source_.functions.end()) throw Error("call of an unknown function @" + name);
    return it->second;
  }

  Graph source_;
  Graph result_;
  NameSet taken_;
  std::int64_t visited_ = 0;  // ops, calls among them
  std::set<std::string> active_;
};

}  // namespace

Graph inline_calls(Graph graph) { return Inliner(std::move(graph)).run(); }

}  // namespace ridgeline
