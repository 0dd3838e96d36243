#include "ridgeline/graph/pass/in_parts.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <string>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/op/collective.h"
#include "ridgeline/graph/pass/data_parallel.h"
#include "ridgeline/graph/pass/draw_by_number.h"
#include "ridgeline/graph/pass/follows_batch.h"
#include "ridgeline/graph/pass/inline.h"
#include "ridgeline/graph/pass/rewrite.h"

namespace ridgeline {
namespace {

using Integers = std::vector<std::int64_t>;

constexpr const char* kParts = "parts of the batch";  // the group of data_parallel's exchanges, which become sums

class Parts {
 public:
  Parts(Graph graph, const BatchParts& how) : graph_(std::move(graph)), how_(how) {
    follows_ = follows_batch(graph_, [this, of_parts = unless_exchanged(kParts)](const Node& node) {
      const Follows own = of_parts(node);
      return combines(node) ? Follows::no : own;
    });
    in_ = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (const Node& node : in_) {
      names_.insert(node.name);
      if (!combines(node)) continue;
      for (const ValueId id : node.inputs) wanted_.insert(id);
    }
  }

  Graph run() {
    for (const ValueId id : graph_.arguments) {
      if (graph_.value(id).kind == ValueKind::input) cut(id);
    }
    for (const Node& node : in_) add(node);
    for (Return& r : graph_.returns) {
      if (const auto same = replaced_.find(r.value); same != replaced_.end()) r.value = same->second;
      if (apart(r.value))
        refuse("returns " + r.name + " (" + graph_.value(r.value).type.to_string() +
               "), which each part has its own of");
    }
    for (Update& update : graph_.updates) {
      if (const auto same = replaced_.find(update.next); same != replaced_.end()) update.next = same->second;
      if (apart(update.next)) refuse("keeps " + graph_.value(update.current).name + ", which each part has its own of");
    }
    return std::move(graph_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error("[in_parts] " + graph_.name + " " + what + "; a step in parts has means of them only");
  }

  bool apart(ValueId id) const { return how_.parts > 1 && own_.contains(id); }

  // What adds up the parts from there on.
  bool combines(const Node& node) const {
    const OpDef& def = op_def(node.op);
    return def.has(kCollective) && !def.has(kDone) && (how_.parts > 1 || of_parts(node));
  }
  static bool of_parts(const Node& node) { return node.attributes.string("group") == kParts; }

  ValueId value_like(ValueId id, ValueKind kind) { return graph_.add_value({graph_.value(id).type, kind, ""}); }

  Node& emit(std::string op, const std::string& name, std::vector<ValueId> inputs, ValueId output,
             const Attributes& attributes, const LocationStack& where) {
    Node node;
    node.attributes = complete_attributes(op_def(op), attributes);
    node.op = std::move(op);
    node.name = add_unique(names_, name);
    node.inputs = std::move(inputs);
    node.outputs = {output};
    node.where = where;
    graph_.nodes.push_back(std::move(node));
    return graph_.nodes.back();
  }

  // The rows of each part of an input.
  void cut(ValueId id) {
    std::vector<ValueId>& own = own_[id];
    const ValueType part = graph_.value(id).type;
    own.assign(static_cast<std::size_t>(how_.parts), id);
    if (how_.parts == 1 || part.shape.rank() == 0) return add_up(id);
    graph_.value(id).type.shape[0] = part.shape[0] * how_.parts;
    const auto rank = static_cast<std::size_t>(part.shape.rank());
    Integers start(rank, 0), stride(rank, 1), size;
    for (int axis = 0; axis < part.shape.rank(); ++axis) size.push_back(part.shape[axis]);
    stride[0] = how_.parts;
    const std::string name = graph_.value(id).name;
    for (std::int64_t j = 0; j < how_.parts; ++j) {
      start[0] = j;
      const ValueId rows = graph_.add_value({part, ValueKind::activation, ""});
      own_[id][static_cast<std::size_t>(j)] = rows;
      emit("strided_slice", name + "/part" + std::to_string(j), {id}, rows,
           {{"start", start}, {"stride", stride}, {"size", size}}, {});
    }
    add_up(id);
  }

  // The operand of part j.
  ValueId operand(ValueId id, std::int64_t j) const {
    if (const auto own = own_.find(id); own != own_.end()) return own->second[static_cast<std::size_t>(j)];
    const auto same = replaced_.find(id);
    return same == replaced_.end() ? id : same->second;
  }

  void add(const Node& node) {
    const OpDef& def = op_def(node.op);
    if (def.has(kCollective)) {
      if (def.has(kStart) && of_parts(node)) {
        started_[node.outputs[0]] = &node;
        return;
      }
      if (def.has(kDone) && started_.contains(node.inputs[0])) return finish(node, *started_.at(node.inputs[0]));
      if (how_.parts > 1) return exchange(node);
    }
    const bool own = follows_[static_cast<std::size_t>(node.outputs[0])];
    for (std::int64_t j = 0; j < (own ? how_.parts : 1); ++j) {
      Node copy = node;
      for (ValueId& id : copy.inputs) id = operand(id, j);
      if (j > 0) {
        for (ValueId& id : copy.outputs) id = value_like(id, graph_.value(id).kind);
        copy.name = add_unique(names_, copy_name(node.name, kPartCopy, j));
      }
      if (own && def.has(kRandom)) draw_by_number(copy, j * how_.ranks + how_.place);
      for (std::size_t i = 0; own && i < node.outputs.size(); ++i) own_[node.outputs[i]].push_back(copy.outputs[i]);
      graph_.nodes.push_back(std::move(copy));
    }
    if (!own) return;
    for (const ValueId id : node.outputs) add_up(id);
  }

  // The sum over this rank's parts, where it is read: in pairs of parts whose numbers are furthest apart, which is the
  // order of the parts by their numbers' bits in reverse.
  void add_up(ValueId id) {
    if (!wanted_.contains(id)) return;
    const std::vector<ValueId>& own = own_.at(id);
    std::vector<ValueId> level;
    for (std::int64_t i = 0; i < how_.parts; ++i)
      level.push_back(own[static_cast<std::size_t>(place_of_rank(i, how_.parts))]);
    const auto maker = std::find_if(graph_.nodes.begin(), graph_.nodes.end(), [&](const Node& node) {
      return std::find(node.outputs.begin(), node.outputs.end(), own[0]) != node.outputs.end();
    });
    const std::string name = maker == graph_.nodes.end() ? graph_.value(id).name : maker->name;
    const LocationStack where = maker == graph_.nodes.end() ? LocationStack{} : maker->where;
    while (level.size() > 1) {
      std::vector<ValueId> next;
      for (std::size_t i = 0; i + 1 < level.size(); i += 2) {
        const ValueId sum = value_like(own[0], level.size() == 2 ? graph_.value(id).kind : ValueKind::activation);
        emit("add", name + "/parts", {level[i], level[i + 1]}, sum, {}, where);
        next.push_back(sum);
      }
      level = std::move(next);
    }
    sums_[id] = level[0];
  }

  // `result`: the sum, or the mean, over the parts of this rank.
  void give(const Node& node, ValueId sum, bool mean, ValueId result) {
    if (!mean || how_.parts == 1) {
      replaced_[result] = sum;
    } else {
      // The sum is the gradient that ranks exchange; the scale follows.
      graph_.value(result).kind = ValueKind::activation;
      emit("scale", node.name + "/mean", {sum}, result, {{"factor", 1.0 / static_cast<double>(how_.parts)}},
           node.where);
    }
  }

  void finish(const Node& done, const Node& start) {
    const bool mean = start.attributes.string("reduction") == "mean";
    for (std::size_t i = 0; i < done.outputs.size(); ++i) give(start, sums_.at(start.inputs[i]), mean, done.outputs[i]);
  }

  // An exchange of the ranks: of the sums over their parts. The scale follows the complete sum.
  void exchange(const Node& node) {
    if (node.op != "all_reduce" || !own_.contains(node.inputs[0])) {
      refuse("has the exchange " + node.name + " (" + node.op +
             "), which cannot be computed in parts (allowed: all_reduce of what follows from the rows)");
    }
    if (node.attributes.integer("ranks") != how_.all()) {
      refuse("has the exchange " + node.name + " over " + std::to_string(node.attributes.integer("ranks")) +
             " ranks, and all ranks have " + std::to_string(how_.all()) + " parts");
    }
    ValueId sum = sums_.at(node.inputs[0]);
    if (how_.ranks > 1) {
      Node over_ranks = node;
      over_ranks.inputs = {sum};
      over_ranks.attributes.set("ranks", how_.ranks);
      sum = value_like(sum, graph_.value(node.outputs[0]).kind);
      over_ranks.outputs = {sum};
      graph_.nodes.push_back(std::move(over_ranks));
    }
    give(node, sum, node.attributes.string("reduction") == "mean", node.outputs[0]);
  }

  Graph graph_;
  const BatchParts& how_;
  std::vector<Node> in_;
  std::vector<bool> follows_;  // by value of the step for one part: whether each part has its own
  NameSet names_;
  std::map<ValueId, std::vector<ValueId>> own_;  // by the value of the step for one part: that of each
  std::map<ValueId, ValueId> replaced_;          // values that all parts have, under another id
  std::set<ValueId> wanted_;                     // whose sum over the parts is needed
  std::map<ValueId, ValueId> sums_;
  std::map<ValueId, const Node*> started_;
};

}  // namespace

std::int64_t place_of_rank(std::int64_t rank, std::int64_t ranks) {
  std::int64_t place = 0;
  for (std::int64_t bit = 1; bit < ranks; bit *= 2) {
    place = place * 2 + (rank & 1);
    rank /= 2;
  }
  return place;
}

Graph in_parts(Graph step, const BatchParts& how) {
  const auto power_of_two = [](std::int64_t n) { return n >= 1 && std::has_single_bit(static_cast<std::uint64_t>(n)); };
  RIDGELINE_CHECK(how.ranks >= 1 && power_of_two(how.parts), "parts are a power of two");
  RIDGELINE_CHECK(how.parts == 1 || power_of_two(how.ranks), "ranks that share parts are a power of two");
  if (how.all() == 1) return step;
  step = inline_calls(std::move(step));
  if (how.parts > 1) {
    PassContext context;
    PassResults unused;
    context.distribution = {.ranks = how.parts, .group = kParts, .each_batch = true};
    step = data_parallel(std::move(step), context, unused);
  }
  return Parts(std::move(step), how).run();
}

}  // namespace ridgeline
