#include "ranks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "../callables.h"
#include "ridgeline/comm/meeting/roles.h"
#include "ridgeline/comm/rank_environment.h"
#include "ridgeline/core/error.h"
#include "ridgeline/data/ir/registry.h"

namespace ridgeline::python {
namespace {

// The state of the ranks, kept until the process ends.
struct World {
  World() = default;
  ~World() {
    // It belongs to the parent; closing it here would look to the other ranks like the end of the parent.
    if (joined && process != ::getpid()) static_cast<void>(new train::RunRanks(std::move(ranks)));
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  std::recursive_mutex turn;
  bool joined = false;
  train::RunRanks ranks;
  pid_t process = 0;  // the process that joined
  std::string ended;  // why the ranks no longer train
};

World& world() {
  static World the_world;
  return the_world;
}

void check_no_servers() {
  if (comm::role_environment(comm::process_environment()))
    throw Error(
        "[ranks] MS_ROLE is set: a Python program has no parameter servers (ridgeline launch --ranks N, or "
        "train of the command line)",
        ErrorKind::usage);
}

std::string text_of_error(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const nb::python_error& e) {
    const PythonLock locked;
    return error_of(e).what();
  } catch (const std::exception& e) {
    return e.what();
  }
}

}  // namespace

OwnRank own_rank() {
  check_no_servers();
  const comm::RankIdentity identity = comm::rank_identity(comm::process_environment());
  return {.rank = identity.rank, .size = identity.size(), .local_rank = identity.local_rank()};
}

RanksAtWork::RanksAtWork(bool alone) {
  if (alone || own_rank().size == 1) return;
  World& all = world();
  if (all.joined && all.process != ::getpid())
    throw Error(
        "[ranks] this process was forked from a rank and is none: it may predict, and trains alone with "
        "parallel_mode=\"stand_alone\"",
        ErrorKind::usage);
  turn_ = std::unique_lock(all.turn, std::try_to_lock);
  if (!turn_)
    throw Error("[ranks] another thread trains or evaluates over the ranks: their models do so one after the other",
                ErrorKind::usage);
  if (!all.ended.empty()) throw Error("[ranks] the ranks train no more: " + all.ended);
  if (!all.joined) {
    all.ranks = train::connect_ranks();
    all.process = ::getpid();
    all.joined = true;
  }
  ranks_ = all.ranks;
}

void RanksAtWork::give_up(const std::exception_ptr& error) const {
  World& all = world();
  if (!all.ended.empty()) return;  // inside other work that is being abandoned
  all.ended = text_of_error(error);
  ranks_.abort(all.ended);
}

void check_part(const data::Dataset& dataset, std::int64_t count, std::int64_t index) {
  std::string others;
  for (const data::Node& node : dataset.graph().nodes) {
    const std::vector<data::ArgSpec>& args = data::node_entry(node.op).args;
    for (std::size_t i = 1; i < args.size(); ++i) {
      if (!args[i].part) continue;
      const auto parts = data::arg<std::int64_t>(node.args, args[i - 1].name),
                 part = data::arg<std::int64_t>(node.args, args[i].name);
      if (parts == count && part == index) return;
      if (parts > 1)
        others += fmt::format("{}{}={}, {}={}", others.empty() ? ": they have " : "; ", args[i - 1].name, parts,
                              args[i].name, part);
    }
  }
  throw Error(fmt::format("[ranks] the data are not the part of this rank, number {} of {}, and all would train on the "
                          "same rows: model.part_of(rows).batch(N) gives each its own{}",
                          index, count, others),
              ErrorKind::usage);
}

void bind_ranks(nb::module_& m) {
  m.def("own_rank", [] { return own_rank().rank; });
  m.def("own_ranks", [] { return own_rank().size; });
  m.def("own_local_rank", [] { return own_rank().local_rank; });
}

}  // namespace ridgeline::python
