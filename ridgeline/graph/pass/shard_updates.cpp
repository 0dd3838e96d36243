#include "ridgeline/graph/pass/shard_updates.h"

#include <algorithm>
#include <vector>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {
namespace {

using Integers = std::vector<std::int64_t>;

bool is_update(const Node& node) { return op_def(node.op).gradient_operand >= 0; }

std::size_t slots_of(const Node& node) { return updated_operands(node) - 1; }

// An update element by element of a parameter and slots that nothing else reads, and whose next versions only replace
// them: what is computed of a part is that part.
bool can_be_split(const Graph& graph, const Node& node, const std::vector<int>& uses) {
  const OpDef& def = op_def(node.op);
  if (!is_update(node) || !def.has(kUpdate) || !def.has(kPointwise) || slots_of(node) == 0) return false;
  const ValueInfo& w = graph.value(node.inputs[0]);
  if (w.kind != ValueKind::param || w.name.empty() || w.type.shape.elements() < kLeastSharded) return false;
  for (std::size_t i = 1; i <= slots_of(node); ++i) {
    const Update same{node.inputs[i], node.outputs[i]};
    const auto update = std::find(graph.updates.begin(), graph.updates.end(), same);
    if (update == graph.updates.end() || graph.value(node.inputs[i]).kind != ValueKind::state) return false;
    // The slot by the op and by what it is replaced for; its next version by that alone.
    if (uses[static_cast<std::size_t>(node.inputs[i])] != 1 || uses[static_cast<std::size_t>(node.outputs[i])] != 1)
      return false;
  }
  return true;
}

class UpdateSplitter {
 public:
  UpdateSplitter(Graph graph, const Distribution& distribution)
      : graph_(std::move(graph)), distribution_(distribution) {
    for (const Node& node : graph_.nodes) names_.insert(node.name);
  }

  Graph run() {
    const std::vector<int> uses = use_counts(graph_);
    const std::vector<Node> nodes = std::move(graph_.nodes);
    std::vector<bool> split;
    graph_.nodes.clear();
    for (const Node& node : nodes) split.push_back(can_be_split(graph_, node, uses));
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      if (split[n]) {
        shard(nodes[n]);
      } else {
        graph_.nodes.push_back(nodes[n]);
      }
    }
    return std::move(graph_);
  }

 private:
  ValueId emit(const Node& of, const char* op, const char* what, ValueId x, const Attributes& attributes) {
    const ValueId result = append_node(graph_, names_, op, {x}, attributes, of.name + "/" + what);
    graph_.nodes.back().where = of.where;
    return result;
  }

  // This rank's part of a value.
  ValueId part(const Node& of, ValueId x) {
    const std::int64_t elements = graph_.value(x).type.shape.elements();
    const std::int64_t count = shard_elements(elements, distribution_.ranks);
    ValueId flat = x;
    if (graph_.value(x).type.shape.rank() != 1) flat = emit(of, "reshape", "flat", x, {{"shape", Integers{elements}}});
    if (const std::int64_t more = count * distribution_.ranks - elements; more > 0)
      flat = emit(of, "pad", "filled", flat, {{"low", Integers{0}}, {"high", Integers{more}}});
    return emit(of, "strided_slice", "part", flat,
                {{"start", Integers{distribution_.rank * count}}, {"stride", Integers{1}}, {"size", Integers{count}}});
  }

  void shard(const Node& whole) {
    const ValueType w = graph_.value(whole.inputs[0]).type;
    const std::int64_t elements = w.shape.elements();
    const ValueType type{w.dtype, {shard_elements(elements, distribution_.ranks)}};
    Node own = whole;
    const auto gradient = static_cast<std::size_t>(op_def(whole.op).gradient_operand);
    own.inputs[0] = part(whole, whole.inputs[0]);
    own.inputs[gradient] = part(whole, whole.inputs[gradient]);
    for (std::size_t i = 1; i <= slots_of(whole); ++i) {
      graph_.value(whole.inputs[i]).type = type;
      graph_.value(whole.outputs[i]).type = type;
    }
    own.outputs[0] = graph_.add_value({type, graph_.value(whole.outputs[0]).kind, ""});
    graph_.nodes.push_back(own);
    ValueId all = emit(whole, "all_gather", "gathered", own.outputs[0],
                       {{"group", distribution_.group}, {"ranks", distribution_.ranks}});
    if (graph_.value(all).type.shape[0] != elements) {
      all = emit(whole, "strided_slice", "whole", all,
                 {{"start", Integers{0}}, {"stride", Integers{1}}, {"size", Integers{elements}}});
    }
    Integers shape;
    for (int axis = 0; axis < w.shape.rank(); ++axis) shape.push_back(w.shape[axis]);
    emit(whole, "reshape", "next", all, {{"shape", shape}});
    graph_.nodes.back().outputs = {whole.outputs[0]};  // what everybody reads from here on
  }

  Graph graph_;
  const Distribution& distribution_;
  NameSet names_;
};

}  // namespace

void check_split_updates(const Graph& graph, std::int64_t ranks) {
  const std::int64_t gradients = std::count_if(graph.nodes.begin(), graph.nodes.end(), is_update);
  if (gradients < ranks) {
    throw Error(
        "[shard_updates] The number of gradients is less than rank_size, so weight_update_sharding cannot be "
        "executed (" +
            std::to_string(gradients) + " gradients, " + std::to_string(ranks) + " ranks)",
        ErrorKind::usage);
  }
}

Graph shard_updates(Graph graph, PassContext& context) {
  const Distribution& over = context.distribution;
  if (!over.shard_updates || over.world() <= 1) return graph;
  if (over.mode != ParallelMode::data_parallel || over.pipeline.stages > 1 || over.servers > 0) {
    throw Error("[shard_updates] updates are split over ranks that train data-parallel, without stages or servers",
                ErrorKind::usage);
  }
  return UpdateSplitter(std::move(graph), over).run();
}

}  // namespace ridgeline
