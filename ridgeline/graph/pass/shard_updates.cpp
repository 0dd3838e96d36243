#include "ridgeline/graph/pass/shard_updates.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/op/collective.h"

namespace ridgeline {
namespace {

using Integers = std::vector<std::int64_t>;

bool is_update(const Node& node) { return op_def(node.op).gradient_operand >= 0; }

std::size_t slots_of(const Node& node) { return updated_operands(node) - 1; }

// An elementwise update of a parameter and of slots that nothing else reads, whose next versions only replace them: so
// it can be computed for any range of elements.
bool can_be_split(const Graph& graph, const Node& node, const std::vector<int>& uses) {
  const OpDef& def = op_def(node.op);
  if (!is_update(node) || !def.has(kUpdate) || !def.has(kPointwise) || slots_of(node) == 0) return false;
  const ValueInfo& w = graph.value(node.inputs[0]);
  if (w.kind != ValueKind::param || w.name.empty() || w.type.shape.elements() < kLeastSharded) return false;
  for (std::size_t i = 1; i <= slots_of(node); ++i) {
    const Update same{node.inputs[i], node.outputs[i]};
    const auto update = std::find(graph.updates.begin(), graph.updates.end(), same);
    if (update == graph.updates.end() || graph.value(node.inputs[i]).kind != ValueKind::state) return false;
    // The slot is used by the op and by its update; its next version only by the update.
    if (uses[static_cast<std::size_t>(node.inputs[i])] != 1 || uses[static_cast<std::size_t>(node.outputs[i])] != 1)
      return false;
  }
  return true;
}

// A gradient of which the rank needs only its shard: one update reads its mean, and all ops between the two are
// elementwise.
struct Scattered {
  std::size_t start = 0, done = 0;   // the nodes of the exchange that it was in,
  std::size_t place = 0;             // and where among its values
  std::vector<std::size_t> between;  // nodes from the mean to the update
};

class UpdateSplitter {
 public:
  UpdateSplitter(Graph graph, const Distribution& distribution)
      : graph_(std::move(graph)),
        distribution_(distribution),
        uses_(use_counts(graph_)),
        producer_(producers(graph_)),
        in_(std::move(graph_.nodes)) {
    graph_.nodes.clear();
    for (const Node& node : in_) names_.insert(node.name);
  }

  Graph run() {
    std::vector<bool> split;
    for (const Node& node : in_) {
      split.push_back(can_be_split(graph_, node, uses_));
      if (split.back()) find_scattered(node);
    }
    for (std::size_t n = 0; n < in_.size(); ++n) {
      if (split[n]) {
        shard(in_[n]);
      } else if (const auto start = of_start_.find(n); start != of_start_.end()) {
        begin_exchange(in_[n], start->second);
      } else if (const auto done = of_done_.find(n); done != of_done_.end()) {
        end_exchange(in_[n], done->second);
      } else {
        graph_.nodes.push_back(between_.contains(n) ? of_part(in_[n]) : in_[n]);
      }
    }
    return std::move(graph_);
  }

  // What the ranks exchange, for the log.
  std::string text() const {
    return std::to_string(gathered_) + " updates are split, " + std::to_string(scattered_) +
           " of them by a reduce_scatter of the gradient; each parameter by an all_gather";
  }

 private:
  // Gradients that leave an exchange, by their place in it: the update that reads each.
  using Leaving = std::map<std::size_t, const Node*>;

  const Shape& shape(ValueId id) const { return graph_.value(id).type.shape; }
  const Node* maker(ValueId id) const {
    const int n = producer_[static_cast<std::size_t>(id)];
    return n < 0 ? nullptr : &in_[static_cast<std::size_t>(n)];
  }

  // The operand that carries the gradient through a pointwise node: all others are scalars, or stored values, which are
  // sharded.
  ValueId only_operand(const Node& node) const {
    const OpDef& def = op_def(node.op);
    if (!def.has(kPointwise) || def.has(kRandom) || node.outputs.size() != 1) return kNoValue;
    ValueId found = kNoValue;
    for (const ValueId id : node.inputs) {
      if (shape(id).rank() == 0) continue;
      if (shape(id) != shape(node.outputs[0])) return kNoValue;
      if (is_stored(graph_.value(id).kind) && maker(id) == nullptr) continue;
      if (found != kNoValue) return kNoValue;
      found = id;
    }
    return found;
  }

  std::optional<Scattered> scattered_gradient(const Node& update) const {
    Scattered found;
    ValueId id = update.inputs[static_cast<std::size_t>(op_def(update.op).gradient_operand)];
    while (id != kNoValue && uses_[static_cast<std::size_t>(id)] == 1) {
      const Node* node = maker(id);
      if (node == nullptr) return std::nullopt;
      const auto n = static_cast<std::size_t>(node - in_.data());
      if (!op_def(node->op).has(kDone)) {
        found.between.push_back(n);
        id = only_operand(*node);
        continue;
      }
      const Node* start = maker(node->inputs[0]);
      if (start == nullptr || collective_rule(*start).kind != CollectiveKind::all_reduce ||
          start->attributes.boolean("conditional"))
        return std::nullopt;
      found.start = static_cast<std::size_t>(start - in_.data());
      found.done = n;
      found.place =
          static_cast<std::size_t>(std::find(node->outputs.begin(), node->outputs.end(), id) - node->outputs.begin());
      return found;
    }
    return std::nullopt;
  }

  void find_scattered(const Node& update) {
    const std::optional<Scattered> gradient = scattered_gradient(update);
    if (!gradient) return;
    of_start_[gradient->start][gradient->place] = &update;
    of_done_[gradient->done][gradient->place] = &update;
    between_.insert(gradient->between.begin(), gradient->between.end());
  }

  ValueId emit(const Node& of, const char* op, const char* what, ValueId x, const Attributes& attributes) {
    const ValueId result = append_node(graph_, names_, op, {x}, attributes, of.name + "/" + what);
    graph_.nodes.back().where = of.where;
    return result;
  }

  // All elements as one row, padded to a multiple of the ranks.
  ValueId in_a_row(const Node& of, ValueId x) {
    const std::int64_t elements = shape(x).elements();
    const std::int64_t count = shard_elements(elements, distribution_.ranks);
    if (shape(x).rank() != 1) x = emit(of, "reshape", "flat", x, {{"shape", Integers{elements}}});
    if (const std::int64_t more = count * distribution_.ranks - elements; more > 0)
      x = emit(of, "pad", "filled", x, {{"low", Integers{0}}, {"high", Integers{more}}});
    return x;
  }

  // This rank's shard of a value.
  ValueId part(const Node& of, ValueId x) {
    if (const auto known = parts_.find(x); known != parts_.end()) return known->second;
    const Shape whole = shape(x);
    const std::int64_t count = shard_elements(whole.elements(), distribution_.ranks);
    if (whole.rank() > 1 && whole[0] % distribution_.ranks == 0) {  // whole rows: nothing but the part is copied
      Integers start(static_cast<std::size_t>(whole.rank()), 0), stride(start.size(), 1), size;
      for (int axis = 0; axis < whole.rank(); ++axis) size.push_back(whole[axis]);
      size[0] /= distribution_.ranks;
      start[0] = distribution_.rank * size[0];
      const ValueId rows = emit(of, "strided_slice", "rows", x, {{"start", start}, {"stride", stride}, {"size", size}});
      return emit(of, "reshape", "part", rows, {{"shape", Integers{count}}});
    }
    return emit(of, "strided_slice", "part", in_a_row(of, x),
                {{"start", Integers{distribution_.rank * count}}, {"stride", Integers{1}}, {"size", Integers{count}}});
  }

  // Leaving gradients are scattered here, where the last of their bucket is complete; the others are exchanged
  // together.
  void begin_exchange(Node start, const Leaving& leaving) {
    const Node* done = nullptr;
    for (const auto& [n, all] : of_done_) {
      if (in_[n].inputs[0] == start.outputs[0]) done = &in_[n];
    }
    for (const auto& [place, update] : leaving) {
      const ValueId row = in_a_row(*update, start.inputs[place]);
      parts_[done->outputs[place]] = emit(*update, "reduce_scatter", "scattered", row,
                                          {{"group", start.attributes.string("group")},
                                           {"ranks", start.attributes.integer("ranks")},
                                           {"reduction", start.attributes.string("reduction")}});
      ++scattered_;
    }
    start.inputs = without(start.inputs, leaving);
    if (start.inputs.empty()) return;
    std::vector<ValueType> types;
    for (const ValueId id : start.inputs) types.push_back(graph_.value(id).type);
    graph_.value(start.outputs[0]).type = infer_types(op_def(start.op), types, start.attributes, start.name).front();
    graph_.nodes.push_back(std::move(start));
  }

  void end_exchange(Node done, const Leaving& leaving) {
    done.outputs = without(done.outputs, leaving);
    if (done.outputs.empty()) return;
    std::vector<ValueType> types;
    for (const ValueId id : done.outputs) types.push_back(graph_.value(id).type);
    done.attributes = done_attributes(types, done.attributes.integer("ranks"));
    graph_.nodes.push_back(std::move(done));
  }

  static std::vector<ValueId> without(const std::vector<ValueId>& values, const Leaving& leaving) {
    std::vector<ValueId> left;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!leaving.contains(i)) left.push_back(values[i]);
    }
    return left;
  }

  // The node on the rank's shards of its operands.
  Node of_part(Node node) {
    for (ValueId& id : node.inputs) {
      if (shape(id).rank() > 0) id = part(node, id);
    }
    const ValueId whole = node.outputs[0];
    const std::int64_t count = shard_elements(shape(whole).elements(), distribution_.ranks);
    node.outputs = {graph_.add_value({{graph_.value(whole).type.dtype, {count}}, graph_.value(whole).kind, ""})};
    parts_[whole] = node.outputs[0];
    return node;
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
    ++gathered_;
    ValueId all = emit(whole, "all_gather", "gathered", own.outputs[0],
                       {{"group", distribution_.group}, {"ranks", distribution_.ranks}});
    if (shape(all)[0] != elements) {
      all = emit(whole, "strided_slice", "whole", all,
                 {{"start", Integers{0}}, {"stride", Integers{1}}, {"size", Integers{elements}}});
    }
    Integers extents;
    for (int axis = 0; axis < w.shape.rank(); ++axis) extents.push_back(w.shape[axis]);
    emit(whole, "reshape", "next", all, {{"shape", extents}});
    graph_.nodes.back().outputs = {whole.outputs[0]};  // what everybody reads from here on
  }

  Graph graph_;
  const Distribution& distribution_;
  std::vector<int> uses_, producer_;
  std::vector<Node> in_;
  NameSet names_;
  std::map<std::size_t, Leaving> of_start_, of_done_;  // by node
  std::set<std::size_t> between_;                      // nodes
  std::map<ValueId, ValueId> parts_;                   // of means, and of what follows from them
  int scattered_ = 0, gathered_ = 0;
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

Graph shard_updates(Graph graph, const PassContext& context, PassResults& results) {
  const Distribution& over = context.distribution;
  if (!over.shard_updates || over.world() <= 1) return graph;
  if (over.mode != ParallelMode::data_parallel || over.pipeline.stages > 1 || over.servers > 0) {
    throw Error("[shard_updates] updates are split over ranks that train data-parallel, without stages or servers",
                ErrorKind::usage);
  }
  UpdateSplitter splitter(std::move(graph), over);
  graph = splitter.run();
  results.exchanges += (results.exchanges.empty() ? "" : "; ") + splitter.text();
  return graph;
}

}  // namespace ridgeline
