#include "ridgeline/graph/pass/pipeline.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/annotations.h"
#include "ridgeline/graph/pass/data_parallel.h"
#include "ridgeline/graph/pass/draw_by_number.h"
#include "ridgeline/graph/pass/follows_batch.h"
#include "ridgeline/graph/pass/pipeline_order.h"
#include "ridgeline/graph/pass/pipeline_plan.h"

namespace ridgeline {
namespace {

using Integers = std::vector<std::int64_t>;

constexpr const char* kMicroBatches = "micro_batches";  // the group of data_parallel's exchanges, which become sums
constexpr int kEverywhere = -1;

[[noreturn]] void refuse_op(const Node& node, const std::string& why) {
  const std::string where = node.where.empty() ? "" : " (" + node.where.front().to_string() + ")";
  throw Error("[pipeline] " + node.name + " (" + node.op + ")" + where + " " + why);
}

// A value that one stage computes for a micro-batch and another one reads.
struct Transfer {
  std::int64_t ready = 0;  // the tick at which its slot ends
  int from = 0, to = 0;
  std::int64_t micro_batch = 0;
  ValueId value = kNoValue;
  // All ranks begin transfers in this order, so that no two wait for each other.
  auto order() const { return std::tuple(ready, from, to, micro_batch, value); }
};

class Cutter {
 public:
  // `step`: means over the micro-batches are exchanges over kMicroBatches.
  Cutter(Graph step, const Distribution& distribution)
      : step_(std::move(step)),
        plan_(distribution.pipeline),
        own_(static_cast<int>(distribution.rank)),
        ranks_(distribution.ranks),
        group_(distribution.group),
        follows_(follows_batch(step_, unless_exchanged(kMicroBatches))),
        staged_(stages_of(step_, plan_, distribution.rates, follows_)),
        producer_(producers(step_)),
        stage_(step_.values.size(), kEverywhere),
        slots_(pipeline_slots(plan_)) {
    for (const Node& node : step_.nodes) names_.insert(node.name);
    copies_.resize(static_cast<std::size_t>(plan_.micro_batches));
  }

  Graph run() {
    made_ = step_;
    made_.nodes.clear();
    made_.returns.clear();
    made_.updates.clear();
    find_means();
    find_stages();
    find_early();
    find_transfers();
    cut_inputs();
    for (std::size_t n = 0; n < step_.nodes.size(); ++n) {
      if (early_[n]) add_once(n);
    }
    run_slots();
    for (const auto& [local, mean] : means_) add_mean(local, mean);
    for (std::size_t n = 0; n < step_.nodes.size(); ++n) {
      if (once(n) && !early_[n]) add_once(n);
    }
    add_updates();
    add_returns();
    drop_arguments();
    for (Node& node : made_.nodes) node.attributes.erase(kStage);
    return std::move(made_);
  }

  std::string text() const { return stages_text(step_, staged_, plan_); }

 private:
  // ---- what runs where

  bool micro(std::size_t n) const { return node_stage_[n] >= 0; }
  bool of_means(const Node& node) const { return mean_nodes_.contains(node.name); }
  bool once(std::size_t n) const { return !micro(n) && !of_means(step_.nodes[n]); }
  int& stage(ValueId id) { return stage_[static_cast<std::size_t>(id)]; }
  bool follows(ValueId id) const { return follows_[static_cast<std::size_t>(id)]; }
  bool here(int stage) const { return stage == kEverywhere || stage == own_; }
  const std::string& name_of_value(ValueId id) const {
    const int n = producer_[static_cast<std::size_t>(id)];
    return n < 0 ? step_.value(id).name : step_.nodes[static_cast<std::size_t>(n)].name;
  }

  void find_means() {
    std::map<ValueId, const Node*> starts;
    for (const Node& node : step_.nodes) {
      const OpDef& def = op_def(node.op);
      if (!def.has(kCollective)) continue;
      if (def.has(kStart) && node.attributes.string("group") == kMicroBatches) {
        if (node.attributes.boolean("conditional"))
          throw Error(
              "[pipeline] the step adds up gradients of several batches (accumulate), as its stages do those of "
              "micro-batches (allowed: more micro-batches)");
        starts[node.outputs[0]] = &node;
      } else if (def.has(kDone) && starts.contains(node.inputs[0])) {
        const Node& start = *starts.at(node.inputs[0]);
        for (std::size_t i = 0; i < node.outputs.size(); ++i) means_.emplace_back(start.inputs[i], node.outputs[i]);
        mean_nodes_.insert(start.name);
      } else {
        refuse_op(node,
                  "exchanges values with ranks that have other stages (allowed: none; statistics of batch norms are "
                  "those of a micro-batch, not synchronised)");
      }
      mean_nodes_.insert(node.name);
    }
  }

  void find_stages() {
    for (std::size_t n = 0; n < step_.nodes.size(); ++n) {
      if (!micro(n)) continue;
      for (ValueId id : step_.nodes[n].outputs) stage(id) = node_stage_[n];
    }
    // For stored values: the stages that read them, also through ops that run once.
    std::map<ValueId, std::set<int>> readers;
    for (std::size_t n = step_.nodes.size(); n-- > 0;) {
      const Node& node = step_.nodes[n];
      std::set<int> reading;
      if (micro(n)) reading.insert(node_stage_[n]);
      if (once(n) && node.op != "l2_penalty") {  // which may sum over stages
        for (ValueId id : node.outputs) reading.insert(readers[id].begin(), readers[id].end());
      }
      for (ValueId id : node.inputs) {
        if (!follows(id)) readers[id].insert(reading.begin(), reading.end());
      }
    }
    for (ValueId id : step_.arguments) {
      const std::set<int>& reading = readers[id];
      if (reading.size() == 1 && step_.value(id).kind != ValueKind::input && !is_number(id))
        stage(id) = *reading.begin();
      if (reading.size() > 1 && step_.value(id).kind == ValueKind::param) {
        throw Error("[pipeline] parameter " + step_.value(id).name + " is read by stage " +
                    std::to_string(*reading.begin()) + " and by stage " + std::to_string(*reading.rbegin()) +
                    " (allowed: one of them)");
      }
    }
    for (const auto& [local, mean] : means_) stage(mean) = stage(local);
    const std::vector<bool> moving = moving_numbers();
    summed_.assign(step_.nodes.size(), false);
    for (std::size_t n = 0; n < step_.nodes.size(); ++n) {
      if (!once(n)) continue;
      const Node& node = step_.nodes[n];
      const std::set<int> reads = stages_read(node);
      summed_[n] = node.op == "l2_penalty" && reads.size() > (moving[n] ? 0 : 1);
      if (reads.size() > 1 && !summed_[n]) {
        refuse_op(node, "reads what stage " + std::to_string(*reads.begin()) + " and stage " +
                            std::to_string(*reads.rbegin()) + " have (allowed across stages: l2_penalty)");
      }
      for (ValueId id : node.outputs) stage(id) = reads.size() == 1 && !summed_[n] ? *reads.begin() : kEverywhere;
    }
  }

  // By node: runs once and computes the next value of a number of the step, such as its count where gradients are
  // finite. All ranks store these, even where one stage has all gradients.
  std::vector<bool> moving_numbers() const {
    std::vector<bool> moving(step_.nodes.size(), false);
    std::set<ValueId> wanted;
    for (const Update& update : step_.updates) {
      if (is_number(update.current)) wanted.insert(update.next);
    }
    for (std::size_t n = step_.nodes.size(); n-- > 0;) {
      const Node& node = step_.nodes[n];
      moving[n] = once(n) && std::any_of(node.outputs.begin(), node.outputs.end(),
                                         [&](ValueId id) { return wanted.contains(id); });
      if (moving[n]) wanted.insert(node.inputs.begin(), node.inputs.end());
    }
    return moving;
  }

  // A number of the step, on all ranks: a loss scale, for example, may be multiplied with gradients of every stage.
  bool is_number(ValueId id) const {
    const ValueInfo& info = step_.value(id);
    return info.kind == ValueKind::state && info.type.shape.rank() == 0;
  }

  std::set<int> stages_read(const Node& node) {
    std::set<int> stages;
    for (ValueId id : node.inputs) {
      if (stage(id) != kEverywhere) stages.insert(stage(id));
    }
    return stages;
  }

  // Ops that run once, first, because ops of every micro-batch read them.
  void find_early() {
    early_.assign(step_.nodes.size(), false);
    std::set<ValueId> wanted;
    for (std::size_t n = step_.nodes.size(); n-- > 0;) {
      const Node& node = step_.nodes[n];
      early_[n] = once(n) && std::any_of(node.outputs.begin(), node.outputs.end(),
                                         [&](ValueId id) { return wanted.contains(id); });
      if (micro(n) || early_[n]) wanted.insert(node.inputs.begin(), node.inputs.end());
    }
  }

  void find_transfers() {
    std::map<ValueId, std::set<int>> readers;
    for (std::size_t n = 0; n < step_.nodes.size(); ++n) {
      if (!micro(n)) continue;
      for (ValueId id : step_.nodes[n].inputs) {
        const int maker = producer_[static_cast<std::size_t>(id)];
        if (maker < 0 || !micro(static_cast<std::size_t>(maker))) continue;
        const int from = node_stage_[static_cast<std::size_t>(maker)];
        if (from == node_stage_[n]) continue;
        const ValueType& type = step_.value(id).type;
        if (!is_floating(type.dtype) && type.dtype != DType::boolean)
          refuse_op(step_.nodes[static_cast<std::size_t>(maker)],
                    "gives " + type.to_string() + " to stage " + std::to_string(node_stage_[n]) +
                        ": only floating and boolean values go from stage to stage");
        readers[id].insert(node_stage_[n]);
      }
    }
    for (const auto& [id, stages] : readers) {
      const auto maker = static_cast<std::size_t>(producer_[static_cast<std::size_t>(id)]);
      for (const int to : stages) {
        for (std::int64_t m = 0; m < plan_.micro_batches; ++m) {
          const Transfer transfer{end_of(node_stage_[maker], backward_[maker], m), node_stage_[maker], to, m, id};
          if (transfer.from == own_ || transfer.to == own_) transfers_.push_back(transfer);
        }
      }
    }
    std::sort(transfers_.begin(), transfers_.end(),
              [](const Transfer& a, const Transfer& b) { return a.order() < b.order(); });
  }

  std::int64_t end_of(int stage, bool backward, std::int64_t m) const {
    for (const PipelineSlot& slot : slots_[static_cast<std::size_t>(stage)]) {
      if (slot.backward == backward && slot.micro_batch == m) return slot.end;
    }
    RIDGELINE_CHECK(false, "a stage without a slot");
  }

  // ---- what is emitted

  ValueId add(std::string_view op, std::vector<ValueId> inputs, const Attributes& attributes, const std::string& name,
              ValueId result = kNoValue, ValueKind kind = ValueKind::activation) {
    return append_node(made_, names_, op, std::move(inputs), attributes, name, kind, result);
  }

  ValueId zeros(const ValueType& type, const std::string& name) {
    const ValueId zero = add("constant", {}, {{"value", 0.0}, {"dtype", type.dtype}}, name + "/zero");
    return add("broadcast_to", {zero}, {{"shape", type.shape.dims()}}, name + "/place");
  }

  static std::string numbered(const std::string& name, std::int64_t m) { return copy_name(name, kMicroBatchCopy, m); }

  void cut_inputs() {
    std::set<ValueId> wanted;
    for (std::size_t n = 0; n < step_.nodes.size(); ++n) {
      if (node_stage_[n] == own_) wanted.insert(step_.nodes[n].inputs.begin(), step_.nodes[n].inputs.end());
    }
    for (ValueId id : step_.arguments) {
      const ValueInfo& info = step_.value(id);
      if (info.kind != ValueKind::input || info.type.shape.rank() == 0) continue;
      ValueType& whole = made_.value(id).type;
      whole.shape[0] *= plan_.micro_batches;
      if (!wanted.contains(id)) continue;
      const auto axes = static_cast<std::size_t>(info.type.shape.rank());
      for (std::int64_t m = 0; m < plan_.micro_batches; ++m) {
        Integers start(axes, 0);
        start[0] = m * info.type.shape[0];
        copies_[static_cast<std::size_t>(m)][id] = add(
            "strided_slice", {id}, {{"start", start}, {"stride", Integers(axes, 1)}, {"size", info.type.shape.dims()}},
            numbered(info.name + "/rows", m));
      }
    }
  }

  ValueId operand(ValueId id, std::int64_t m) const {
    const auto& own = copies_[static_cast<std::size_t>(m)];
    const auto found = own.find(id);
    return found == own.end() ? id : found->second;
  }

  void run_slots() {
    auto next = transfers_.begin();
    const auto until = [&](std::int64_t tick) {
      for (; next != transfers_.end() && next->ready < tick; ++next) add_transfer(*next);
    };
    for (const PipelineSlot& slot : slots_[static_cast<std::size_t>(own_)]) {
      until(slot.end);
      for (std::size_t n = 0; n < step_.nodes.size(); ++n) {
        if (node_stage_[n] == own_ && backward_[n] == slot.backward) add_copy(step_.nodes[n], slot.micro_batch);
      }
    }
    until(std::numeric_limits<std::int64_t>::max());
  }

  void add_copy(const Node& node, std::int64_t m) {
    Node copy = node;
    for (ValueId& id : copy.inputs) id = operand(id, m);
    if (m > 0) {
      copy.name = add_unique(names_, numbered(node.name, m));
      for (ValueId& id : copy.outputs) id = made_.add_value(step_.value(id));
    }
    if (op_def(node.op).has(kRandom)) draw_by_number(copy, m);
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      copies_[static_cast<std::size_t>(m)][node.outputs[i]] = copy.outputs[i];
    const std::vector<ValueId> results = copy.outputs;
    made_.nodes.push_back(std::move(copy));
    for (std::size_t i = 0; i < results.size(); ++i) add_up(node.outputs[i], results[i]);
  }

  // Sums grow in the order of the micro-batches, as soon as there is the next one.
  void add_up(ValueId id, ValueId copy) {
    if (std::none_of(means_.begin(), means_.end(), [&](const auto& mean) { return mean.first == id; })) return;
    const auto [sum, first] = sums_.try_emplace(id, copy);
    if (!first)
      sum->second = add("add", {sum->second, copy}, {}, name_of_value(id) + "/sum", kNoValue, step_.value(id).kind);
  }

  void add_mean(ValueId local, ValueId mean) {
    if (!here(stage(local))) return;
    RIDGELINE_CHECK(sums_.contains(local), "a mean of what no stage makes");
    add("scale", {sums_.at(local)}, {{"factor", 1.0 / static_cast<double>(plan_.micro_batches)}},
        name_of_value(local) + "/mean", mean);
  }

  void add_transfer(const Transfer& transfer) {
    ValueType type = step_.value(transfer.value).type;
    const bool truth = type.dtype == DType::boolean;  // goes over as 0 or 1
    if (truth) type.dtype = DType::f32;
    const std::string name =
        numbered(name_of_value(transfer.value), transfer.micro_batch) + "/to_stage_" + std::to_string(transfer.to);
    const bool sends = transfer.from == own_;
    ValueId x = sends ? operand(transfer.value, transfer.micro_batch) : zeros(type, name);
    if (sends && truth) x = add("cast", {x}, {{"to", DType::f32}}, name + "/number");
    ValueId y = add("transfer", {x},
                    {{"group", group_},
                     {"ranks", ranks_},
                     {"from", std::int64_t{transfer.from}},
                     {"to", std::int64_t{transfer.to}}},
                    name, kNoValue, step_.value(transfer.value).kind);
    if (sends) return;
    if (truth) y = add("cast", {y}, {{"to", DType::boolean}}, name + "/truth");
    copies_[static_cast<std::size_t>(transfer.micro_batch)][transfer.value] = y;
  }

  void add_once(std::size_t n) {
    const Node& node = step_.nodes[n];
    if (summed_[n]) return add_penalty(node);
    const std::set<int> reads = stages_read(node);
    if (reads.empty() || *reads.begin() == own_) made_.nodes.push_back(node);
  }

  // Each stage sums its own values; values that all stages have are counted by the first.
  void add_penalty(const Node& node) {
    std::vector<ValueId> own;
    for (ValueId id : node.inputs) {
      if (stage(id) == own_ || (stage(id) == kEverywhere && own_ == 0)) own.push_back(id);
    }
    const ValueType& type = step_.value(node.outputs[0]).type;
    const ValueId part = own.empty() ? add("constant", {}, {{"value", 0.0}, {"dtype", type.dtype}}, node.name + "/none")
                                     : add("l2_penalty", own, node.attributes, node.name + "/own");
    add("all_reduce", {part}, {{"group", group_}, {"ranks", ranks_}}, node.name + "/stages", node.outputs[0]);
  }

  // A stage that reads the stored value for a micro-batch, other than the given one.
  int another_reader(ValueId id, int stage) const {
    for (std::size_t n = 0; n < step_.nodes.size(); ++n) {
      const std::vector<ValueId>& inputs = step_.nodes[n].inputs;
      if (micro(n) && node_stage_[n] != stage && std::find(inputs.begin(), inputs.end(), id) != inputs.end())
        return node_stage_[n];
    }
    return kEverywhere;
  }

  void add_updates() {
    for (const Update& update : step_.updates) {
      const int next = stage(update.next), now = stage(update.current);
      const int reader = now == kEverywhere && next != kEverywhere ? another_reader(update.current, next) : now;
      if (reader != kEverywhere && next != kEverywhere && reader != next) {
        throw Error("[pipeline] " + step_.value(update.current).name + " is read by stage " + std::to_string(reader) +
                    ", and stage " + std::to_string(next) + " makes its next value");
      }
      if (here(next) && here(now)) made_.updates.push_back(update);
    }
  }

  // Sends what one stage returns to all.
  void add_returns() {
    for (const Return& r : step_.returns) {
      if (follows(r.value)) {
        throw Error("[pipeline] the step returns " + r.name + " (" + step_.value(r.value).type.to_string() +
                    "), which each micro-batch has its own of; a pipeline has means of numbers only");
      }
      const int from = stage(r.value);
      if (from == kEverywhere) {
        made_.returns.push_back(r);
        continue;
      }
      const std::string name = (r.name.empty() ? "result" : r.name) + "/of_stage_" + std::to_string(from);
      const ValueId x = from == own_ ? r.value : zeros(step_.value(r.value).type, name);
      const ValueId y =
          add("broadcast", {x}, {{"group", group_}, {"ranks", ranks_}, {"root", std::int64_t{from}}}, name);
      made_.returns.push_back({r.name, y});
    }
  }

  // Inputs stay, since all ranks are fed the same.
  void drop_arguments() {
    remove_dead_nodes(made_);  // what runs once is there on all ranks, and may be read on one
    std::set<ValueId> used;
    for (const Node& node : made_.nodes) used.insert(node.inputs.begin(), node.inputs.end());
    for (const Update& update : made_.updates) used.insert({update.current, update.next});
    for (const Return& r : made_.returns) used.insert(r.value);
    std::erase_if(made_.arguments,
                  [&](ValueId id) { return made_.value(id).kind != ValueKind::input && !used.contains(id); });
  }

  const Graph step_;
  const PipelinePlan plan_;
  const int own_;
  const std::int64_t ranks_;
  const std::string group_;
  std::vector<bool> follows_;  // by value: another one for each micro-batch
  const StagedNodes staged_;
  const std::vector<int>& node_stage_ = staged_.stage;
  const std::vector<bool>& backward_ = staged_.backward;
  std::vector<int> producer_;
  std::vector<int> stage_;  // by value: that has it
  std::vector<std::vector<PipelineSlot>> slots_;
  std::vector<bool> early_;
  std::vector<bool> summed_;                        // by node: a penalty that is summed over the ranks
  std::vector<std::pair<ValueId, ValueId>> means_;  // what each micro-batch has of its own, and the mean
  NameSet mean_nodes_;
  std::vector<Transfer> transfers_;  // of this rank

  Graph made_;
  NameSet names_;
  std::vector<std::map<ValueId, ValueId>> copies_;  // by micro-batch
  std::map<ValueId, ValueId> sums_;
};

void check_plan(const Distribution& distribution) {
  const PipelinePlan& plan = distribution.pipeline;
  if (plan.stages != distribution.ranks) {
    throw Error("[pipeline] " + std::to_string(plan.stages) + " stages over " + std::to_string(distribution.ranks) +
                    " ranks (allowed: as many stages as ranks)",
                ErrorKind::usage);
  }
  if (plan.micro_batches < plan.stages) {
    throw Error("[pipeline] " + std::to_string(plan.micro_batches) + " micro-batches for " +
                    std::to_string(plan.stages) + " stages (allowed: as many as stages, or more)",
                ErrorKind::usage);
  }
}

}  // namespace

Graph pipeline(Graph graph, const PassContext& context, PassResults& results) {
  const Distribution& distribution = context.distribution;
  if (distribution.pipeline.stages < 1)
    throw Error("[pipeline] " + std::to_string(distribution.pipeline.stages) + " stages (allowed: 1 or more)",
                ErrorKind::usage);
  if (distribution.pipeline.stages == 1 || !distribution.training) {
    for (Node& node : graph.nodes) node.attributes.erase(kStage);
    return graph;
  }
  check_plan(distribution);
  const bool cut = std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    return node.op == "transfer" && node.attributes.string("group") == distribution.group;
  });
  if (cut) return graph;
  PassContext means;
  PassResults unused;
  means.distribution.ranks = distribution.pipeline.micro_batches;
  means.distribution.group = kMicroBatches;
  for (const Node& node : graph.nodes) results.undivided.insert(node.name);
  Cutter cutter(with_mean_exchanges(std::move(graph), means, unused), distribution);
  results.plan = cutter.text();
  return cutter.run();
}

}  // namespace ridgeline
