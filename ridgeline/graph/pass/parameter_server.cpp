#include "ridgeline/graph/pass/parameter_server.h"

#include <algorithm>
#include <map>
#include <set>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/op/collective.h"
#include "ridgeline/graph/pass/data_parallel.h"
#include "ridgeline/graph/pass/server_places.h"

namespace ridgeline {
namespace {

using Integers = std::vector<std::int64_t>;

class StepDivider {
 public:
  StepDivider(Graph step, const Distribution& over, const ServerPlan& plan)
      : step_(std::move(step)),
        over_(over),
        places_(step_, plan),
        own_(over.rank < over.ranks ? kWorkers : static_cast<int>(over.rank - over.ranks)) {
    for (const Node& node : step_.nodes) names_.insert(node.name);
  }

  Graph run() {
    made_ = step_;
    made_.nodes.clear();
    made_.returns.clear();
    made_.updates.clear();
    std::map<std::size_t, const MeanExchange*> starts, dones;
    for (const MeanExchange& exchange : places_.exchanges()) {
      starts[exchange.start] = &exchange;
      dones[exchange.done] = &exchange;
    }
    for (std::size_t n = 0; n < step_.nodes.size(); ++n) {
      if (starts.contains(n)) {
        begin_means(*starts.at(n));
      } else if (dones.contains(n)) {
        end_means(*dones.at(n));
      } else if (places_.summed(n)) {
        add_sum(step_.nodes[n]);
      } else if (places_.computes(own_, n)) {
        made_.nodes.push_back(step_.nodes[n]);
        replace_operands(made_.nodes.back());
      }
    }
    add_pulls();
    add_updates();
    add_returns();
    drop_arguments();
    return std::move(made_);
  }

 private:
  // A message between a worker and a server, between its start and its done.
  struct Message {
    std::string name;
    ValueId pending = kNoValue;
    std::vector<ValueType> types;
  };
  // What one server gets of an exchange: the gradients of its parameters.
  struct Push {
    std::string name;
    std::vector<ValueId> locals, means;
    std::vector<Message> messages;  // on a worker its own one, on the server one of each worker
  };
  struct Pending {
    std::map<int, Push> pushes;          // by server
    std::vector<ValueId> locals, means;  // of what the workers average between themselves
    ValueId in_flight = kNoValue;        // that, where there are several workers
  };

  bool worker() const { return own_ == kWorkers; }
  std::int64_t rank_of(int server) const { return over_.ranks + server; }

  ValueId add(std::string_view op, std::vector<ValueId> inputs, const Attributes& attributes, const std::string& name,
              ValueKind kind = ValueKind::activation, ValueId result = kNoValue) {
    return append_node(made_, names_, op, std::move(inputs), attributes, name, kind, result);
  }

  ValueId zeros(const ValueType& type, const std::string& name) {
    const ValueId zero = add("constant", {}, {{"value", 0.0}, {"dtype", type.dtype}}, name + "/zero");
    return add("broadcast_to", {zero}, {{"shape", type.shape.dims()}}, name + "/place");
  }

  // The elements in row-major order: the same whatever layout another rank's kernels use.
  ValueId flat(ValueId id, const std::string& name) {
    const Shape& shape = made_.value(id).type.shape;
    if (shape.rank() <= 1) return id;
    const ValueKind kind = made_.value(id).kind == ValueKind::grad ? ValueKind::grad : ValueKind::activation;
    return add("reshape", {id}, {{"shape", Integers{shape.elements()}}}, name + "/flat", kind);
  }
  static ValueType flat_type(const ValueType& type) {
    return type.shape.rank() <= 1 ? type : ValueType{type.dtype, {type.shape.elements()}};
  }
  // `result` is flat(id), reshaped back.
  ValueId shaped(ValueId flat, const ValueType& type, const std::string& name, ValueId result = kNoValue) {
    if (type.shape.rank() > 1) {
      return add("reshape", {flat}, {{"shape", type.shape.dims()}}, name + "/shape", ValueKind::activation, result);
    }
    if (result != kNoValue) replaced_[result] = flat;
    return flat;
  }

  void replace_operands(Node& node) const {
    for (ValueId& id : node.inputs) id = current(id);
    // Exchanges of the step itself are between those that have a batch.
    if (op_def(node.op).has(kCollective) && !op_def(node.op).has(kDone) &&
        node.attributes.string("group") == over_.group)
      node.attributes.set("group", std::string(kWorkersGroup));
  }
  ValueId current(ValueId id) const {
    const auto found = replaced_.find(id);
    return found == replaced_.end() ? id : found->second;
  }

  // ---- messages

  Message begin(std::vector<ValueId> values, std::int64_t from, std::int64_t to, ValueId condition,
                const std::string& name) {
    Message message{.name = name, .pending = kNoValue, .types = {}};
    for (const ValueId id : values) message.types.push_back(made_.value(id).type);
    if (condition != kNoValue) values.push_back(current(condition));
    message.pending = add("collective_start", std::move(values),
                          {{"collective", std::string("transfer")},
                           {"group", over_.group},
                           {"ranks", over_.world()},
                           {"from", from},
                           {"to", to},
                           {"conditional", condition != kNoValue}},
                          name);
    return message;
  }

  std::vector<ValueId> end(const Message& message) {
    Node done;
    done.op = "collective_done";
    done.name = add_unique(names_, message.name + "/done");
    done.inputs = {message.pending};
    done.attributes = done_attributes(message.types, over_.world());
    for (const ValueType& type : message.types)
      done.outputs.push_back(made_.add_value({type, ValueKind::activation, ""}));
    made_.nodes.push_back(done);
    return done.outputs;
  }

  // Operands that stand for values from another rank.
  std::vector<ValueId> places_for(const std::vector<ValueId>& values, const std::string& name) {
    std::vector<ValueId> all;
    for (const ValueId id : values) all.push_back(zeros(flat_type(step_.value(id).type), name));
    return all;
  }
  std::vector<ValueId> flat_all(const std::vector<ValueId>& values, const std::string& name) {
    std::vector<ValueId> all;
    for (const ValueId id : values) all.push_back(flat(current(id), name));
    return all;
  }

  // ---- gradients

  void begin_means(const MeanExchange& exchange) {
    const Node& start = step_.nodes[exchange.start];
    Pending& pending = pending_[exchange.done];
    for (std::size_t i = 0; i < exchange.means.size(); ++i) {
      for (const int place : places_.places(exchange.means[i])) {
        if (place != kWorkers) {
          pending.pushes[place].locals.push_back(exchange.locals[i]);
          pending.pushes[place].means.push_back(exchange.means[i]);
        } else {
          pending.locals.push_back(exchange.locals[i]);
          pending.means.push_back(exchange.means[i]);
        }
      }
    }
    for (auto& [server, push] : pending.pushes) {
      const std::string name = push.name = start.name + "/push_" + std::to_string(server);
      if (worker()) {
        push.messages = {begin(flat_all(push.locals, name), over_.rank, rank_of(server), exchange.condition, name)};
      } else if (server == own_) {
        const std::vector<ValueId> empty = places_for(push.locals, name);
        for (std::int64_t w = 0; w < over_.ranks; ++w)
          push.messages.push_back(
              begin(empty, w, rank_of(server), exchange.condition, name + "/of_worker_" + std::to_string(w)));
      }
    }
    if (!worker() || pending.locals.empty() || over_.ranks == 1) return;
    std::vector<ValueId> values = pending.locals;
    if (exchange.condition != kNoValue) values.push_back(exchange.condition);
    for (ValueId& id : values) id = current(id);
    pending.in_flight =
        add("collective_start", std::move(values), start.attributes, start.name + "/workers", ValueKind::grad);
  }

  void end_means(const MeanExchange& exchange) {
    Pending& pending = pending_[exchange.done];
    for (auto& [server, push] : pending.pushes) {
      if (worker()) end(push.messages.front());
      if (server == own_) add_means(push);
    }
    if (!worker() || pending.locals.empty()) return;
    if (over_.ranks == 1) {  // its own gradients are the mean
      for (std::size_t i = 0; i < pending.means.size(); ++i) replaced_[pending.means[i]] = current(pending.locals[i]);
      return;
    }
    Node done = step_.nodes[exchange.done];
    std::vector<ValueType> types;
    for (const ValueId id : pending.means) types.push_back(step_.value(id).type);
    done.inputs = {pending.in_flight};
    done.outputs = pending.means;
    done.attributes = done_attributes(types, over_.ranks);
    made_.nodes.push_back(std::move(done));
  }

  // In pairs of workers, then pairs of pairs, times 1 / workers: the bits of all_reduce.
  void add_means(const Push& push) {
    std::vector<std::vector<ValueId>> all;  // by worker
    for (const Message& message : push.messages) all.push_back(end(message));
    for (std::size_t i = 0; i < push.means.size(); ++i) {
      const std::string name = push.name + "/mean";
      std::vector<ValueId> sums;
      for (const std::vector<ValueId>& of_worker : all) sums.push_back(of_worker[i]);
      while (sums.size() > 1) {
        std::vector<ValueId> pairs;
        for (std::size_t k = 0; k + 1 < sums.size(); k += 2)
          pairs.push_back(add("add", {sums[k], sums[k + 1]}, {}, name + "/sum", ValueKind::grad));
        if (sums.size() % 2 == 1) pairs.push_back(sums.back());
        sums = std::move(pairs);
      }
      ValueId mean = sums.front();
      if (over_.ranks > 1)
        mean = add("scale", {mean}, {{"factor", 1.0 / static_cast<double>(over_.ranks)}}, name, ValueKind::grad);
      shaped(mean, step_.value(push.means[i]).type, name, push.means[i]);
    }
  }

  // Each rank adds up its own gradients; all get the sum. Workers have equal ones: those of the first count, and the
  // others add theirs with weight 0, so that all run the same ops.
  void add_sum(const Node& node) {
    std::vector<ValueId> own;
    for (const ValueId id : node.inputs) {
      if (places_.owner(id) == own_) own.push_back(current(id));
    }
    const ValueType& type = step_.value(node.outputs[0]).type;
    Attributes weight = node.attributes;
    if (worker() && over_.rank > 0) weight.set("factor", 0.0);
    const ValueId part = own.empty() ? add("constant", {}, {{"value", 0.0}, {"dtype", type.dtype}}, node.name + "/none")
                                     : add(node.op, own, weight, node.name + "/own");
    add("all_reduce", {part}, {{"group", over_.group}, {"ranks", over_.world()}}, node.name + "/ranks",
        ValueKind::activation, node.outputs[0]);
  }

  // ---- updated parameters

  // After all pushes: a server that sends while a worker still sends would deadlock with it. One message for the
  // parameters whose gradients came in one.
  void add_pulls() {
    struct Pull {
      std::vector<Update> updates;
      std::vector<Message> messages;
    };
    std::map<ValueId, std::size_t> exchange_of_mean;
    for (std::size_t e = 0; e < places_.exchanges().size(); ++e) {
      for (const ValueId mean : places_.exchanges()[e].means) exchange_of_mean[mean] = e;
    }
    std::map<std::pair<std::size_t, int>, Pull> pulls;
    for (const Update& update : step_.updates) {
      const int server = places_.home(update);
      if (step_.value(update.current).kind == ValueKind::param && server >= 0)
        pulls[{exchange_in_front(update, exchange_of_mean), server}].updates.push_back(update);
    }
    for (auto& [key, pull] : pulls) {
      const auto [e, server] = key;
      if (!worker() && server != own_) continue;
      const MeanExchange* exchange = e < places_.exchanges().size() ? &places_.exchanges()[e] : nullptr;
      const ValueId condition = exchange ? exchange->condition : kNoValue;
      const std::string name =
          (exchange ? step_.nodes[exchange->start].name : std::string("exchange")) + "/pull_" + std::to_string(server);
      // Where a run may pull nothing, a worker keeps what it has.
      std::vector<ValueId> sent;
      for (const Update& update : pull.updates) sent.push_back(worker() ? update.current : update.next);
      const std::vector<ValueId> values =
          worker() && condition == kNoValue ? places_for(sent, name) : flat_all(sent, name);
      for (std::int64_t w = 0; w < over_.ranks; ++w) {
        if (worker() && w != over_.rank) continue;
        pull.messages.push_back(
            begin(values, rank_of(server), w, condition, worker() ? name : name + "/of_worker_" + std::to_string(w)));
      }
    }
    for (const auto& [key, pull] : pulls) {
      for (const Message& message : pull.messages) {
        const std::vector<ValueId> got = end(message);
        if (!worker()) continue;
        for (std::size_t i = 0; i < got.size(); ++i) {
          const ValueId parameter = pull.updates[i].current;
          made_.updates.push_back({parameter, shaped(got[i], step_.value(parameter).type, message.name)});
        }
      }
    }
  }

  // The exchange with the gradient of the parameter; their number where there is none.
  std::size_t exchange_in_front(const Update& update, const std::map<ValueId, std::size_t>& of_mean) const {
    std::set<ValueId> seen;
    std::vector<ValueId> open{update.next};
    std::size_t last = places_.exchanges().size();
    bool found = false;
    while (!open.empty()) {
      const ValueId id = open.back();
      open.pop_back();
      if (!seen.insert(id).second) continue;
      if (const auto mean = of_mean.find(id); mean != of_mean.end()) {
        last = found ? std::max(last, mean->second) : mean->second;
        found = true;
        continue;
      }
      const int n = producer_[static_cast<std::size_t>(id)];
      if (n < 0 || places_.summed(static_cast<std::size_t>(n))) continue;
      const std::vector<ValueId>& inputs = step_.nodes[static_cast<std::size_t>(n)].inputs;
      open.insert(open.end(), inputs.begin(), inputs.end());
    }
    return last;
  }

  void add_updates() {
    for (const Update& update : step_.updates) {
      const int home = places_.home(update);
      if (home == own_ || home == kEverybody) made_.updates.push_back({update.current, current(update.next)});
    }
  }

  // The workers' returned numbers are sent to the servers; other returned values stay on each worker.
  void add_returns() {
    for (const Return& r : step_.returns) {
      const ValueType& type = step_.value(r.value).type;
      const bool number = is_floating(type.dtype) && type.shape.rank() == 0;
      const std::string name = (r.name.empty() ? "result" : r.name) + "/of_worker_0";
      if (places_.places(r.value).empty() || (!number && worker())) {
        made_.returns.push_back({r.name, current(r.value)});
      } else if (number) {
        const ValueId x = worker() ? current(r.value) : zeros(type, name);
        made_.returns.push_back(
            {r.name, add("broadcast", {x}, {{"group", over_.group}, {"ranks", over_.world()}}, name)});
      }
    }
  }

  void drop_arguments() {
    std::set<ValueId> used;
    for (const Node& node : made_.nodes) used.insert(node.inputs.begin(), node.inputs.end());
    for (const Update& update : made_.updates) used.insert({update.current, update.next});
    for (const Return& r : made_.returns) used.insert(r.value);
    std::erase_if(made_.arguments, [&](ValueId id) {
      return !used.contains(id) && (made_.value(id).kind != ValueKind::input || !worker());
    });
    remove_dead_nodes(made_);
  }

  const Graph step_;
  const Distribution& over_;
  const ServerPlaces places_;
  const std::vector<int> producer_ = producers(step_);
  const int own_;  // kWorkers or the number of the server
  NameSet names_;
  Graph made_;
  std::map<ValueId, ValueId> replaced_;
  std::map<std::size_t, Pending> pending_;  // by the node that ends the exchange
};

}  // namespace

void check_servers(const Distribution& over) {
  if (over.servers == 0) return;
  if (over.servers < 0 || over.ranks < 1 || over.rank < 0 || over.rank >= over.world()) {
    throw Error("[parameter_server] rank " + std::to_string(over.rank) + " of " + std::to_string(over.ranks) +
                    " workers and " + std::to_string(over.servers) + " servers",
                ErrorKind::usage);
  }
  if (over.mode != ParallelMode::data_parallel || over.pipeline.stages > 1)
    throw Error("[parameter_server] workers train data-parallel, without stages", ErrorKind::usage);
}

Graph parameter_server(Graph graph, const PassContext& context, PassResults& results) {
  const Distribution& over = context.distribution;
  if (over.servers == 0 || !over.training) return graph;
  check_servers(over);
  const bool divided = std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    return op_def(node.op).has(kStart) && node.attributes.string("group") == over.group;
  });
  if (divided) return graph;
  for (const Node& node : graph.nodes) results.undivided.insert(node.name);
  const ServerPlan plan = plan_servers(graph, over);
  PassContext means;
  means.distribution = over;
  means.distribution.group = kWorkersGroup;
  Graph step = with_mean_exchanges(std::move(graph), means, results);
  return StepDivider(std::move(step), over, plan).run();
}

}  // namespace ridgeline
