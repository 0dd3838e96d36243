#include "ridgeline/comm/groups.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "ridgeline/core/error.h"
#include "ridgeline/core/printable.h"

namespace ridgeline::comm {
namespace {

[[noreturn]] void refuse_group(const std::string& name, const std::string& message) {
  throw Error(fmt::format("[ranks] group '{}': {}", printable(name), message), ErrorKind::usage);
}

}  // namespace

Groups::Groups(std::unique_ptr<Communicator> world, World places) : places_(std::move(places)) {
  RIDGELINE_CHECK(world->size() == places_.size(), "a place for each rank");
  all_[kWorldGroup] = std::move(world);
}

void Groups::create(const std::string& name, const std::vector<int>& ranks) {
  if (name.empty() || name.size() > 127)
    refuse_group(name.substr(0, 127), fmt::format("the name has {} characters (allowed: 1 to 127)", name.size()));
  if (name == kWorldGroup) refuse_group(name, "is that of all ranks, which is always there");
  if (has(name)) refuse_group(name, "is there already; destroy it before it is made again");
  if (ranks.empty()) refuse_group(name, "has no ranks");
  all_[name] = at().group(ranks);
}

void Groups::destroy(const std::string& name) {
  if (name == kWorldGroup) refuse_group(name, "is that of all ranks, which stays");
  at(name);
  all_.erase(name);
}

Communicator& Groups::at(const std::string& name) const {
  const auto found = all_.find(name);
  if (found == all_.end())
    refuse_group(name, fmt::format("is not there, or this rank is not in it (there are: {})",
                                   fmt::join(all_ | std::views::keys, ", ")));
  return *found->second;
}

// How many of the first `end` ranks of a group are on this rank's server.
int Groups::count_local(const Communicator& group, int end) const {
  const auto server = [&](int r) -> const std::string& {
    return places_.ranks[static_cast<std::size_t>(group.world_rank(r))].server;
  };
  int count = 0;
  for (int r = 0; r < end; ++r) count += server(r) == server(group.rank()) ? 1 : 0;
  return count;
}

int Groups::local_rank_size(const std::string& name) const { return count_local(at(name), at(name).size()); }

int Groups::local_rank_id(const std::string& name) const { return count_local(at(name), at(name).rank()); }

int Groups::world_rank_from_group_rank(const std::string& name, int group_rank) const {
  if (group_rank < 0 || group_rank >= at(name).size())
    refuse_group(name, fmt::format("has no rank {} (allowed: 0 to {})", group_rank, at(name).size() - 1));
  return at(name).world_rank(group_rank);
}

int Groups::group_rank_from_world_rank(const std::string& name, int world_rank) const {
  const std::vector<int>& ranks = at(name).world_ranks();
  const auto found = std::find(ranks.begin(), ranks.end(), world_rank);
  if (found == ranks.end())
    refuse_group(name, fmt::format("has no rank {} of the world (it has: {})", world_rank, fmt::join(ranks, ", ")));
  return static_cast<int>(found - ranks.begin());
}

}  // namespace ridgeline::comm
