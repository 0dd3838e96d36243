// ridgeline/graph/pass/server_places.h
//
// Which ranks of a step with parameter servers have which value, and which compute which op: the workers, a server, or
// every rank that reads it. The pass parameter_server divides the step by this.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ridgeline/graph/ir/graph.h"
#include "ridgeline/graph/pass/server_plan.h"

namespace ridgeline {

// Places other than servers, which are numbered from 0.
inline constexpr int kWorkers = -1, kEverybody = -2;

// An exchange of means between the workers, as the pass data_parallel made it.
struct MeanExchange {
  std::size_t start = 0, done = 0;     // nodes
  std::vector<ValueId> locals, means;  // each worker's own values, and their means
  ValueId condition = kNoValue;        // bool[]: whether the means are read in this run; kNoValue: always
};

class ServerPlaces {
 public:
  // `step` has mean exchanges over kWorkersGroup. Both arguments outlive the object. An Error if a rank needs what
  // another one computes, other than means, updated parameters and sums over ranks.
  ServerPlaces(const Graph& step, const ServerPlan& plan);

  const std::vector<MeanExchange>& exchanges() const { return exchanges_; }
  // The ranks on whose values it depends, for a mean those that read it; empty: it depends on none's.
  const std::set<int>& places(ValueId id) const { return places_[static_cast<std::size_t>(id)]; }
  // Whether it is an l2_penalty over values of several ranks, and which rank sums an operand of it.
  bool summed(std::size_t node) const { return summed_.contains(node); }
  int owner(ValueId operand) const;
  // Where the stored value is kept: kWorkers, a server, kEverybody.
  int home(const Update& update) const;
  bool computes(int place, std::size_t node) const { return computed_.at(place)[node]; }

 private:
  struct Walk {
    std::vector<bool> computed;       // by node
    std::set<std::size_t> penalties;  // l2_penalties of other ranks' values that the walk met
    std::string fault;                // the first value that belongs to another rank
  };

  void find_exchanges();
  void find_readers_of_means();
  void find_places();
  std::vector<ValueId> roots(int place) const;
  Walk walk(int place, std::vector<ValueId> open) const;
  std::string fault(ValueId id, const std::string& has, int place) const;
  int server_of(ValueId parameter) const;

  const Graph& step_;
  const ServerPlan& plan_;
  std::vector<int> producer_;
  std::vector<MeanExchange> exchanges_;
  std::set<std::size_t> exchange_nodes_;
  std::map<ValueId, std::set<int>> readers_;  // of means
  std::vector<std::set<int>> places_;         // by value
  std::set<std::size_t> summed_;
  std::map<int, std::vector<bool>> computed_;  // by place
};

// "the workers", "server 1", "the workers and server 0".
std::string place_text(const std::set<int>& places);

}  // namespace ridgeline
