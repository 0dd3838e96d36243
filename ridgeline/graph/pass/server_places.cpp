#include "ridgeline/graph/pass/server_places.h"

#include <algorithm>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {
namespace {

constexpr const char* kPenalty = "l2_penalty";

}  // namespace

std::string place_text(const std::set<int>& places) {
  std::string text;
  for (const int place : places)
    text += (text.empty() ? "" : " and ") + (place == kWorkers ? "the workers" : "server " + std::to_string(place));
  return text;
}

ServerPlaces::ServerPlaces(const Graph& step, const ServerPlan& plan)
    : step_(step), plan_(plan), producer_(producers(step)) {
  find_exchanges();
  find_readers_of_means();
  // A sum over one server's values that workers read (the check for overflow) is summed over the ranks as well: then
  // all have it, and what depends on it belongs to no server.
  for (;;) {
    find_places();
    Walk walked = walk(kWorkers, roots(kWorkers));
    if (walked.penalties.empty()) {
      if (!walked.fault.empty()) throw Error(walked.fault);
      computed_[kWorkers] = std::move(walked.computed);
      break;
    }
    summed_.merge(walked.penalties);
  }
  for (int s = 0; s < static_cast<int>(plan.bytes.size()); ++s) {
    Walk walked = walk(s, roots(s));
    if (!walked.fault.empty()) throw Error(walked.fault);
    computed_[s] = std::move(walked.computed);
  }
}

int ServerPlaces::server_of(ValueId parameter) const {
  const auto found = plan_.server.find(step_.value(parameter).name);
  return found == plan_.server.end() ? kWorkers : found->second;
}

void ServerPlaces::find_exchanges() {
  std::map<ValueId, std::size_t> by_pending;
  for (std::size_t n = 0; n < step_.nodes.size(); ++n) {
    const Node& node = step_.nodes[n];
    const OpDef& def = op_def(node.op);
    if (def.has(kStart) && node.attributes.string("group") == kWorkersGroup) {
      MeanExchange exchange{.start = n, .done = n, .locals = node.inputs, .means = {}};
      if (node.attributes.boolean("conditional")) {
        exchange.condition = exchange.locals.back();
        exchange.locals.pop_back();
      }
      by_pending[node.outputs[0]] = exchanges_.size();
      exchanges_.push_back(std::move(exchange));
      exchange_nodes_.insert(n);
    } else if (def.has(kDone) && by_pending.contains(node.inputs[0])) {
      MeanExchange& exchange = exchanges_[by_pending.at(node.inputs[0])];
      exchange.done = n;
      exchange.means = node.outputs;
      exchange_nodes_.insert(n);
    }
  }
}

// A mean is read on the server whose parameter it updates. A sum over several gradients (clipping, the check for
// overflow) does not determine a server.
void ServerPlaces::find_readers_of_means() {
  for (const MeanExchange& exchange : exchanges_) {
    for (const ValueId mean : exchange.means) readers_[mean];
  }
  for (const Update& update : step_.updates) {
    if (step_.value(update.current).kind != ValueKind::param) continue;
    const int place = server_of(update.current);
    std::set<ValueId> seen;
    std::vector<ValueId> open{update.next};
    while (!open.empty()) {
      const ValueId id = open.back();
      open.pop_back();
      if (!seen.insert(id).second) continue;
      if (const auto mean = readers_.find(id); mean != readers_.end()) {
        mean->second.insert(place);
        continue;
      }
      const int n = producer_[static_cast<std::size_t>(id)];
      if (n < 0 || step_.nodes[static_cast<std::size_t>(n)].op == kPenalty) continue;
      const std::vector<ValueId>& inputs = step_.nodes[static_cast<std::size_t>(n)].inputs;
      open.insert(open.end(), inputs.begin(), inputs.end());
    }
  }
  for (auto& [mean, readers] : readers_) {
    if (readers.empty()) readers.insert(kWorkers);
  }
}

void ServerPlaces::find_places() {
  places_.assign(step_.values.size(), {});
  for (const ValueId id : step_.arguments) {
    if (step_.value(id).kind == ValueKind::input) places_[static_cast<std::size_t>(id)].insert(kWorkers);
  }
  for (const auto& [mean, readers] : readers_) places_[static_cast<std::size_t>(mean)] = readers;
  for (std::size_t n = 0; n < step_.nodes.size(); ++n) {
    if (exchange_nodes_.contains(n)) continue;
    const Node& node = step_.nodes[n];
    std::set<int> all;
    for (const ValueId id : node.inputs) all.insert(places(id).begin(), places(id).end());
    if (node.op == kPenalty && all.size() > 1) summed_.insert(n);
    if (summed(n)) all.clear();
    if (op_def(node.op).gradient_operand >= 0) all.insert(server_of(node.inputs[0]));
    for (const ValueId id : node.outputs) places_[static_cast<std::size_t>(id)] = all;
  }
}

int ServerPlaces::owner(ValueId operand) const {
  const std::set<int>& all = places(operand);
  return all.empty() ? kWorkers : *all.begin();
}

int ServerPlaces::home(const Update& update) const {
  if (step_.value(update.current).kind == ValueKind::param) return server_of(update.current);
  const std::set<int>& all = places(update.next);
  if (all.size() > 1) {
    throw Error("[parameter_server] " + step_.value(update.current).name + " follows from what " + place_text(all) +
                " have: no rank could keep it");
  }
  return all.empty() ? kEverybody : *all.begin();
}

// What the ranks of a place have to compute.
std::vector<ValueId> ServerPlaces::roots(int place) const {
  std::vector<ValueId> wanted;
  for (const Return& r : step_.returns) {
    if (place == kWorkers || places(r.value).empty()) wanted.push_back(r.value);
  }
  for (const Update& update : step_.updates) {
    if (const int keeps = home(update); keeps == place || keeps == kEverybody) wanted.push_back(update.next);
  }
  for (const MeanExchange& exchange : exchanges_) {
    if (place == kWorkers) wanted.insert(wanted.end(), exchange.locals.begin(), exchange.locals.end());
    const bool reads = std::any_of(exchange.means.begin(), exchange.means.end(),
                                   [&](ValueId mean) { return readers_.at(mean).contains(place); });
    if (exchange.condition != kNoValue && (reads || place == kWorkers)) wanted.push_back(exchange.condition);
  }
  for (const std::size_t n : summed_) {
    for (const ValueId operand : step_.nodes[n].inputs) {
      if (owner(operand) == place) wanted.push_back(operand);
    }
  }
  return wanted;
}

std::string ServerPlaces::fault(ValueId id, const std::string& has, int place) const {
  const int n = producer_[static_cast<std::size_t>(id)];
  std::string what = step_.value(id).name;
  if (n >= 0) {
    const Node& node = step_.nodes[static_cast<std::size_t>(n)];
    const std::string where = node.where.empty() ? "" : " (" + node.where.front().to_string() + ")";
    what = "what " + node.name + " (" + node.op + ")" + where + " gives";
  }
  return "[parameter_server] " + what + " is of " + has + ", and " + place_text({place}) + " would need it";
}

ServerPlaces::Walk ServerPlaces::walk(int place, std::vector<ValueId> open) const {
  Walk walked{.computed = std::vector<bool>(step_.nodes.size(), false), .penalties = {}, .fault = ""};
  std::map<ValueId, const Update*> kept;
  for (const Update& update : step_.updates) kept[update.current] = &update;
  const auto blame = [&](ValueId id, const std::set<int>& has) {
    if (walked.fault.empty()) walked.fault = fault(id, place_text(has), place);
  };
  std::set<ValueId> seen;
  while (!open.empty()) {
    const ValueId id = open.back();
    open.pop_back();
    if (!seen.insert(id).second) continue;
    if (const auto mean = readers_.find(id); mean != readers_.end()) {
      if (!mean->second.contains(place)) blame(id, mean->second);
      continue;
    }
    const int producer = producer_[static_cast<std::size_t>(id)];
    if (producer < 0) {
      const ValueKind kind = step_.value(id).kind;
      if (kind == ValueKind::input && place != kWorkers) blame(id, {kWorkers});
      if (kind == ValueKind::param && place != kWorkers && server_of(id) != place) blame(id, {server_of(id)});
      if (kind != ValueKind::state || !kept.contains(id)) continue;
      const int keeps = home(*kept.at(id));
      if (keeps == place || keeps == kEverybody) continue;
      blame(id, {keeps});
      open.push_back(kept.at(id)->next);
      continue;
    }
    const auto n = static_cast<std::size_t>(producer);
    if (summed(n)) continue;
    const Node& node = step_.nodes[n];
    const std::set<int>& all = places(id);
    if (!all.empty() && all != std::set<int>{place}) {
      blame(id, all);
      if (node.op == kPenalty) walked.penalties.insert(n);
    }
    walked.computed[n] = true;
    open.insert(open.end(), node.inputs.begin(), node.inputs.end());
  }
  return walked;
}

}  // namespace ridgeline
