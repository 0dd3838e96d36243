// ridgeline/comm/groups.h
//
// Groups of ranks by name, as the original's collectives name them. It owns the communicators: the world's, which
// exists from the beginning as kWorldGroup, and one for each group. One thread at a time.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ridgeline/comm/communicator.h"
#include "ridgeline/comm/world.h"

namespace ridgeline::comm {

inline constexpr char kWorldGroup[] = "hccl_world_group";

// Errors (kind usage) name the group: an unknown one, a name that is taken or not of 1 to 127 characters.
class Groups {
 public:
  // `places`, by rank of the world, tells which ranks are on one server.
  Groups(std::unique_ptr<Communicator> world, World places);

  // Every rank in `ranks` (numbers of the world, each once) calls it with the same list; others do not. Rank i of the
  // group is ranks[i].
  void create(const std::string& name, const std::vector<int>& ranks);
  void destroy(const std::string& name);
  bool has(const std::string& name) const { return all_.contains(name); }

  Communicator& at(const std::string& name = kWorldGroup) const;

  int rank_size(const std::string& name = kWorldGroup) const { return at(name).size(); }
  int rank_id(const std::string& name = kWorldGroup) const { return at(name).rank(); }
  // Ranks of the group on this one's server, and how many of them come before it.
  int local_rank_size(const std::string& name = kWorldGroup) const;
  int local_rank_id(const std::string& name = kWorldGroup) const;
  int world_rank_from_group_rank(const std::string& name, int group_rank) const;
  int group_rank_from_world_rank(const std::string& name, int world_rank) const;

 private:
  int count_local(const Communicator& group, int end) const;

  World places_;
  std::map<std::string, std::unique_ptr<Communicator>> all_;
};

}  // namespace ridgeline::comm
