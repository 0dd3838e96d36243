#include "ridgeline/graph/pass/server_plan.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <set>

#include "ridgeline/core/error.h"

namespace ridgeline {
namespace {

// In the order of the arguments.
std::vector<const ValueInfo*> updated_parameters(const Graph& step) {
  std::set<ValueId> updated;
  for (const Update& update : step.updates) {
    if (step.value(update.current).kind == ValueKind::param) updated.insert(update.current);
  }
  std::vector<const ValueInfo*> parameters;
  for (const ValueId id : step.arguments) {
    if (updated.contains(id)) parameters.push_back(&step.value(id));
  }
  return parameters;
}

std::string megabytes(std::size_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MB", static_cast<double>(bytes) / 1e6);
  return text;
}

}  // namespace

std::size_t ServerPlan::all_bytes() const { return std::accumulate(bytes.begin(), bytes.end(), std::size_t{0}); }

std::string ServerPlan::text() const {
  std::string text = std::to_string(server.size()) + " of " + std::to_string(updated) + " parameters are on servers";
  for (std::size_t s = 0; s < bytes.size(); ++s) {
    const auto own = std::count_if(server.begin(), server.end(),
                                   [&](const auto& entry) { return entry.second == static_cast<int>(s); });
    text += "; server " + std::to_string(s) + " has " + std::to_string(own) + " of " + megabytes(bytes[s]);
  }
  return text + "; a worker pushes and pulls " + megabytes(all_bytes()) + " each a step";
}

ServerPlan plan_servers(const Graph& step, const Distribution& over) {
  ServerPlan plan;
  std::vector<const ValueInfo*> parameters = updated_parameters(step);
  plan.updated = parameters.size();
  for (const std::string& name : over.on_servers) {
    if (std::none_of(parameters.begin(), parameters.end(), [&](const ValueInfo* p) { return p->name == name; })) {
      throw Error("[parameter_server] " + name + " is no parameter that the step updates: no server can keep it",
                  ErrorKind::usage);
    }
  }
  std::erase_if(parameters, [&](const ValueInfo* p) { return !over.on_servers.contains(p->name); });
  if (parameters.size() < static_cast<std::size_t>(over.servers)) {
    throw Error("[parameter_server] " + std::to_string(over.servers) + " servers for " +
                    std::to_string(parameters.size()) +
                    " parameters (allowed: as many servers as parameters, or fewer)",
                ErrorKind::usage);
  }
  std::stable_sort(parameters.begin(), parameters.end(),
                   [](const ValueInfo* a, const ValueInfo* b) { return a->type.bytes() > b->type.bytes(); });
  plan.bytes.assign(static_cast<std::size_t>(over.servers), 0);
  std::vector<std::size_t> count(plan.bytes.size(), 0);
  for (const ValueInfo* parameter : parameters) {
    // Empty ones count, too: each server gets something.
    std::size_t least = 0;
    for (std::size_t s = 1; s < count.size(); ++s) {
      if (std::pair(plan.bytes[s], count[s]) < std::pair(plan.bytes[least], count[least])) least = s;
    }
    plan.server[parameter->name] = static_cast<int>(least);
    plan.bytes[least] += parameter->type.bytes();
    ++count[least];
  }
  return plan;
}

}  // namespace ridgeline
