#include "ridgeline/graph/pass/data_parallel.h"

#include <algorithm>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/op/collective.h"
#include "ridgeline/graph/pass/accumulation.h"
#include "ridgeline/graph/pass/follows_batch.h"

namespace ridgeline {
namespace {

// A value that differs from rank to rank, to be replaced by the mean.
struct LocalValue {
  ValueId value = kNoValue;
  int made = -1;                 // the node that gives the gradient, for the order; -1: an argument
  ValueId condition = kNoValue;  // bool[]: whether anybody reads the mean in this run; none: always
  friend bool operator==(const LocalValue&, const LocalValue&) = default;
};

struct Exchange {
  Node start, done;
  std::map<ValueId, ValueId> means;  // by local value
};

class Distributor {
 public:
  Distributor(Graph graph, const PassContext& context, PassResults& results)
      : graph_(std::move(graph)), context_(context), results_(results), producer_(producers(graph_)) {
    for (const Node& node : graph_.nodes) names_.insert(node.name);
    find_sums();
    find_local();
  }

  Graph run() {
    exchange_gradients();
    exchange_results();
    return std::move(graph_);
  }

 private:
  const ValueInfo& value(ValueId id) const { return graph_.value(id); }
  bool local(ValueId id) const { return local_[static_cast<std::size_t>(id)]; }
  const Node* maker(ValueId id) const {
    const int n = producer_[static_cast<std::size_t>(id)];
    return n < 0 ? nullptr : &graph_.nodes[static_cast<std::size_t>(n)];
  }

  void find_sums() {
    if (context_.distribution.each_batch) return;
    for (const Accumulation& one : accumulations(graph_)) {
      sums_[one.sum] = one.last;
      sum_states_.insert(one.state);
    }
    for (const Update& update : graph_.updates) {
      if (sum_states_.contains(update.current)) sum_makers_.insert(producer_[static_cast<std::size_t>(update.next)]);
    }
  }

  // What depends on the rank's own batch. A sum over batches does if what is added to it does.
  void find_local() {
    const auto of = [&](const Node& node) {
      return alike(node) ? Follows::no : unlike(node) ? Follows::yes : Follows::as_operands;
    };
    local_ = follows_batch(graph_, of);
    std::vector<ValueId> sums;
    for (ValueId state : sum_states_) {
      if (adds_local(state)) sums.push_back(state);
    }
    if (!sums.empty()) local_ = follows_batch(graph_, of, sums);
  }

  bool adds_local(ValueId state) const {
    for (const auto& [sum, condition] : sums_) {
      const std::vector<ValueId>& inputs = maker(sum)->inputs;
      if (std::find(inputs.begin(), inputs.end(), state) != inputs.end() && local(sum)) return true;
    }
    return false;
  }

  bool alike(const Node& node) const {
    const OpDef& def = op_def(node.op);
    if (!def.has(kCollective)) return false;
    if (!def.has(kDone)) return !def.has(kStart) && collective_rule(node).alike;
    const Node* start = maker(node.inputs[0]);
    return start != nullptr && op_def(start->op).has(kStart) && collective_rule(*start).alike;
  }

  // An exchange that gives the ranks different results.
  bool unlike(const Node& node) const {
    const OpDef& def = op_def(node.op);
    return def.has(kCollective) && !def.has(kStart) && !def.has(kDone) && !collective_rule(node).alike;
  }

  // The gradient from which the gradient operand `id` of an update is made, before it is scaled, clipped or decayed.
  // Nothing where it is the same on all ranks.
  std::optional<LocalValue> gradient_of(ValueId id) const {
    if (!local(id)) return std::nullopt;
    const Node* node = maker(id);
    if (node == nullptr || value(id).kind == ValueKind::grad)
      return LocalValue{id, producer_[static_cast<std::size_t>(id)], kNoValue};
    std::optional<LocalValue> found;
    bool several = !op_def(node->op).has(kPointwise);
    for (ValueId operand : node->inputs) {
      if (several || value(operand).type != value(id).type || is_stored(value(operand).kind)) continue;
      const std::optional<LocalValue> of_operand = gradient_of(operand);
      several = several || (found && of_operand && *found != *of_operand);
      if (of_operand) found = of_operand;
    }
    if (const auto sum = sums_.find(id); sum != sums_.end())
      return LocalValue{id, found ? found->made : producer_[static_cast<std::size_t>(id)], sum->second};
    if (several || !found) return LocalValue{id, producer_[static_cast<std::size_t>(id)], kNoValue};
    return found;
  }

  // Whether it updates this rank's shard of a parameter: the gradient of that is complete where it is computed.
  bool of_part(const Node& node) const {
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) { return is_part(id); });
  }
  bool is_part(ValueId id) const { return !value(id).name.empty() && results_.parts.contains(value(id).name); }

  // The gradient of an update that is written in plain ops, as LAMB's: what its pointwise ops start from, apart from
  // stored values. Updating by the rank's own gradient and averaging afterwards would be something else.
  std::optional<LocalValue> gradient_of_plain(const Update& update) const {
    const std::optional<LocalValue> gradient = gradient_of(update.next);
    if (!gradient || value(gradient->value).kind == ValueKind::grad || gradient->condition != kNoValue) return gradient;
    const Node* node = maker(gradient->value);
    if (gradient->value != update.next && node != nullptr && node->op == "cast") return gradient;
    throw Error("[data_parallel] " + value(update.current).name +
                " is updated by ops of which no gradient can be told that several ranks could have in common: it must "
                "be one value, and only pointwise ops may stand between it and the update");
  }

  std::vector<LocalValue> gradients() const {
    std::vector<LocalValue> found;
    const auto add = [&](const std::optional<LocalValue>& gradient) {
      if (!gradient) return;
      const auto same = [&](const LocalValue& other) { return other.value == gradient->value; };
      if (std::none_of(found.begin(), found.end(), same)) found.push_back(*gradient);
    };
    for (const Node& node : graph_.nodes) {
      const int operand = op_def(node.op).gradient_operand;
      if (operand >= 0 && !of_part(node)) add(gradient_of(node.inputs[static_cast<std::size_t>(operand)]));
    }
    for (const Update& update : graph_.updates) {
      const Node* node = maker(update.next);
      if (node == nullptr || value(update.current).kind != ValueKind::param || is_part(update.current)) continue;
      if (op_def(node->op).gradient_operand < 0) add(gradient_of_plain(update));
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const LocalValue& a, const LocalValue& b) { return a.made < b.made; });
    return found;
  }

  // The nodes that compute gradients: they read the rank's own other gradients, all other nodes read means. Results of
  // updates depend on means.
  void find_backward(const std::vector<LocalValue>& gradients) {
    backward_.assign(graph_.nodes.size(), false);
    std::vector<ValueId> open;
    for (const LocalValue& gradient : gradients) open.push_back(gradient.value);
    while (!open.empty()) {
      const int n = producer_[static_cast<std::size_t>(open.back())];
      open.pop_back();
      if (n < 0 || backward_[static_cast<std::size_t>(n)]) continue;
      const Node& node = graph_.nodes[static_cast<std::size_t>(n)];
      if (op_def(node.op).has(kUpdate)) continue;
      backward_[static_cast<std::size_t>(n)] = true;
      open.insert(open.end(), node.inputs.begin(), node.inputs.end());
    }
  }

  bool reads_mean(std::size_t node) const {
    return !backward_[node] && !sum_makers_.contains(static_cast<int>(node));  // which keeps the rank's own sum
  }

  // A gradient that depends on the mean of another through an update cannot be exchanged together with it: the bucket
  // ends before it.
  std::vector<std::size_t> possible_ends(const std::vector<LocalValue>& gradients,
                                         const std::vector<std::size_t>& wanted) const {
    std::vector<std::size_t> ends;
    std::size_t begin = 0;
    for (const std::size_t end : wanted) {
      for (std::size_t i = begin + 1; i < end; ++i) {
        if (!waits_for_mean(gradients[i].value, std::span(gradients).subspan(begin, i - begin))) continue;
        ends.push_back(begin = i);
      }
      ends.push_back(begin = end);
    }
    return ends;
  }

  // Whether the value depends on the mean of any of these, or on an update that overwrites what is read together with
  // such a mean.
  bool waits_for_mean(ValueId id, std::span<const LocalValue> of) const {
    using Set = std::vector<bool>;
    const std::size_t count = graph_.values.size();
    Set averaged(count, false), follows(count, false), read(count, false);
    const auto at = [](ValueId v) { return static_cast<std::size_t>(v); };
    for (const LocalValue& gradient : of) averaged[at(gradient.value)] = true;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      const bool means = reads_mean(n);
      const auto touched = [&](ValueId v) { return follows[at(v)] || (means && averaged[at(v)]); };
      const auto written = std::span(node.inputs).first(updated_operands(node));
      if (std::none_of(node.inputs.begin(), node.inputs.end(), touched) &&
          std::none_of(written.begin(), written.end(), [&](ValueId v) { return read[at(v)]; }))
        continue;
      for (const ValueId operand : node.inputs) read[at(operand)] = true;
      for (const ValueId result : node.outputs) follows[at(result)] = true;
    }
    return follows[at(id)];
  }

  void exchange_gradients() {
    const std::vector<LocalValue> all = gradients();
    if (all.empty()) return;
    find_backward(all);
    std::vector<std::size_t> bytes;
    for (const LocalValue& gradient : all) bytes.push_back(value(gradient.value).type.bytes());
    const std::vector<std::size_t> ends = possible_ends(all, bucket_ends(bytes, context_.distribution.split));
    std::vector<Exchange> exchanges;
    std::size_t begin = 0;
    for (const std::size_t end : ends) {
      // Of one element type each; a bucket of several types is several exchanges.
      std::map<DType, std::vector<LocalValue>> by_type;
      for (std::size_t i = begin; i < end; ++i) by_type[value(all[i].value).type.dtype].push_back(all[i]);
      for (const auto& [dtype, bucket] : by_type) exchanges.push_back(exchange_of(bucket, "exchange"));
      begin = end;
    }
    results_.exchanges = std::to_string(all.size()) + " gradients in " + std::to_string(ends.size()) +
                         (ends.size() == 1 ? " bucket: " : " buckets: ") + segments_text(ends);
    insert(std::move(exchanges));
  }

  Exchange exchange_of(const std::vector<LocalValue>& bucket, const std::string& name) {
    const Distribution& distribution = context_.distribution;
    Exchange exchange;
    Node& start = exchange.start;
    start.op = "collective_start";
    start.name = add_unique(names_, name);
    std::vector<ValueType> types;
    for (const LocalValue& member : bucket) {
      start.inputs.push_back(member.value);
      types.push_back(value(member.value).type);
    }
    const std::vector<ValueType> results = types;
    const ValueId condition = bucket.front().condition;
    const bool conditional =
        condition != kNoValue &&
        std::all_of(bucket.begin(), bucket.end(), [&](const auto& member) { return member.condition == condition; });
    if (conditional) {
      start.inputs.push_back(condition);
      types.push_back(value(condition).type);
    }
    start.attributes = complete_attributes(op_def(start.op), {{"collective", std::string("all_reduce")},
                                                              {"reduction", std::string("mean")},
                                                              {"group", distribution.group},
                                                              {"ranks", distribution.ranks},
                                                              {"conditional", conditional}});
    const ValueType pending = infer_types(op_def(start.op), types, start.attributes, start.name).front();
    start.outputs = {graph_.add_value({pending, ValueKind::grad, ""})};
    Node& done = exchange.done;
    done.op = "collective_done";
    done.name = add_unique(names_, start.name + "/done");
    done.inputs = start.outputs;
    done.attributes = done_attributes(results, distribution.ranks);
    for (const LocalValue& member : bucket) {
      const ValueInfo& info = value(member.value);
      const ValueKind kind = info.kind == ValueKind::grad ? ValueKind::grad : ValueKind::activation;
      done.outputs.push_back(graph_.add_value({info.type, kind, ""}));
      exchange.means[member.value] = done.outputs.back();
    }
    return exchange;
  }

  // Starts follow the last gradient of their bucket, or, without overlap, are next to the dones. Dones precede the
  // first reader of a mean, in the order of the starts: updates follow as their means arrive.
  void insert(std::vector<Exchange> exchanges) {
    std::vector<std::size_t> ready, read;
    for (const Exchange& exchange : exchanges) {
      std::size_t last = 0, first = graph_.nodes.size();
      for (ValueId id : exchange.start.inputs)
        last = std::max(last, static_cast<std::size_t>(producer_[static_cast<std::size_t>(id)] + 1));
      for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
        if (!reads_mean(n)) continue;
        for (ValueId& id : graph_.nodes[n].inputs) {
          const auto mean = exchange.means.find(id);
          if (mean == exchange.means.end()) continue;
          id = mean->second;
          first = std::min(first, n);
        }
      }
      for (Return& r : graph_.returns) {
        if (const auto mean = exchange.means.find(r.value); mean != exchange.means.end()) r.value = mean->second;
      }
      ready.push_back(last);
      read.push_back(first);
    }
    const std::size_t all_ready = *std::max_element(ready.begin(), ready.end());
    const std::size_t first_read = *std::min_element(read.begin(), read.end());
    std::map<std::size_t, std::vector<Node>> in_front, waits;
    for (std::size_t e = 0; e < exchanges.size(); ++e) {
      const std::size_t wait = std::max(ready[e], first_read >= all_ready ? first_read : read[e]);
      const std::size_t begin = context_.distribution.overlap ? ready[e] : wait;
      in_front[begin].push_back(std::move(exchanges[e].start));
      waits[wait].push_back(std::move(exchanges[e].done));
    }
    std::vector<Node> nodes;
    for (std::size_t n = 0; n <= graph_.nodes.size(); ++n) {
      for (Node& node : in_front[n]) nodes.push_back(std::move(node));
      for (Node& node : waits[n]) nodes.push_back(std::move(node));
      if (n < graph_.nodes.size()) nodes.push_back(std::move(graph_.nodes[n]));
    }
    graph_.nodes = behind_means(std::move(nodes));
    producer_ = producers(graph_);
    local_.resize(graph_.values.size(), false);
    sums_.clear();
    sum_states_.clear();
    sum_makers_.clear();
    find_sums();
    find_local();
  }

  // Moves ops that precede the exchange whose mean they read after it, with all that depends on them and the updates
  // that overwrite what they read.
  std::vector<Node> behind_means(std::vector<Node> nodes) const {
    std::vector<bool> missing(graph_.values.size(), false);
    const auto mark = [&](const Node& node, bool is) {
      for (const ValueId id : node.outputs) missing[static_cast<std::size_t>(id)] = is;
    };
    for (const Node& node : nodes) mark(node, true);
    std::vector<Node> ordered;
    std::list<Node> waiting;
    const auto waits = [&](const Node& node, auto readers_end) {
      if (std::any_of(node.inputs.begin(), node.inputs.end(),
                      [&](ValueId id) { return missing[static_cast<std::size_t>(id)]; }))
        return true;
      const auto written = std::span(node.inputs).first(updated_operands(node));
      return std::any_of(waiting.begin(), readers_end, [&](const Node& reader) {
        return std::find_first_of(reader.inputs.begin(), reader.inputs.end(), written.begin(), written.end()) !=
               reader.inputs.end();
      });
    };
    const auto take = [&](Node node) {
      mark(node, false);
      ordered.push_back(std::move(node));
    };
    for (Node& node : nodes) {
      if (waits(node, waiting.end())) {
        waiting.push_back(std::move(node));
        continue;
      }
      take(std::move(node));
      for (auto at = waiting.begin(); at != waiting.end();) {
        if (waits(*at, at)) {
          ++at;
        } else {
          take(std::move(*at));
          at = waiting.erase(at);
        }
      }
    }
    RIDGELINE_CHECK(waiting.empty(), "an exchange waits for what follows from it: " + waiting.front().name);
    return ordered;
  }

  // At the end: numbers and statistics that depend on the rank's batch.
  void exchange_results() {
    std::map<DType, std::vector<LocalValue>> by_type;
    const auto add = [&](ValueId id) {
      std::vector<LocalValue>& values = by_type[value(id).type.dtype];
      const LocalValue member{id, producer_[static_cast<std::size_t>(id)], kNoValue};
      if (std::find(values.begin(), values.end(), member) == values.end()) values.push_back(member);
    };
    const auto number = [&](const Return& r) {
      return local(r.value) && is_floating(value(r.value).type.dtype) && value(r.value).type.shape.rank() == 0;
    };
    const auto drifts = [&](const Update& update) {
      return local(update.next) && !is_part(update.current) &&
             !sum_makers_.contains(producer_[static_cast<std::size_t>(update.next)]);
    };
    for (const Return& r : graph_.returns) {
      if (number(r)) add(r.value);
    }
    for (const Update& update : graph_.updates) {
      if (!drifts(update)) continue;
      const ValueInfo& info = value(update.current);
      if (!is_floating(info.type.dtype)) {
        throw Error("[data_parallel] " + info.name + " (" + info.type.to_string() +
                    ") follows from the batch of one rank, and there is no mean of such values over the ranks");
      }
      add(update.next);
    }
    for (const auto& [dtype, values] : by_type) {
      Exchange exchange = exchange_of(values, "exchange_results");
      graph_.nodes.push_back(std::move(exchange.start));
      graph_.nodes.push_back(std::move(exchange.done));
      for (Return& r : graph_.returns) {
        if (number(r) && exchange.means.contains(r.value)) r.value = exchange.means.at(r.value);
      }
      for (Update& update : graph_.updates) {
        if (drifts(update) && exchange.means.contains(update.next)) update.next = exchange.means.at(update.next);
      }
      local_.resize(graph_.values.size(), false);
      producer_ = producers(graph_);
    }
  }

  Graph graph_;
  const PassContext& context_;
  PassResults& results_;
  std::vector<int> producer_;
  NameSet names_;
  std::vector<bool> local_;
  std::map<ValueId, ValueId> sums_;  // the sum: the condition under which it begins anew
  std::set<ValueId> sum_states_;
  std::set<int> sum_makers_;    // nodes that give the next version of such a state
  std::vector<bool> backward_;  // by node: computes a gradient that is exchanged
};

}  // namespace

Graph with_mean_exchanges(Graph graph, const PassContext& context, PassResults& results) {
  return Distributor(std::move(graph), context, results).run();
}

Graph data_parallel(Graph graph, const PassContext& context, PassResults& results) {
  const Distribution& over = context.distribution;
  if (over.ranks <= 1 || !over.training || over.pipeline.stages > 1 || over.servers > 0) return graph;
  return with_mean_exchanges(std::move(graph), context, results);
}

}  // namespace ridgeline
