#include "ridgeline/comm/connect.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <vector>

#include "ridgeline/comm/mpi/mpi_communicator.h"
#include "ridgeline/comm/mpi/mpi_library.h"
#include "ridgeline/comm/shared/refusal.h"
#include "ridgeline/comm/shared/segment.h"
#include "ridgeline/comm/shared/shared_communicator.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/printable.h"
#include "ridgeline/core/random.h"

namespace ridgeline::comm {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error("[ranks] " + message, ErrorKind::usage); }

std::chrono::milliseconds seconds_of(const Environment& environment, const char* name, int least, int most,
                                     std::chrono::milliseconds otherwise) {
  const std::optional<std::string> text = environment(name);
  if (!text) return otherwise;
  int seconds = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, seconds);
  if (error != std::errc() || stop != end || seconds < least || seconds > most)
    refuse(fmt::format("{}='{}' (allowed: {} to {} seconds)", name, printable(*text), least, most));
  return std::chrono::seconds(seconds);
}

bool mpi_is_there() {
  try {
    mpi_library();
    return true;
  } catch (const Error&) {
    return false;
  }
}

// The name of what the ranks of a run share, for this user.
std::string shared_name(const std::string& job) { return fmt::format("ridgeline-{}-{:016x}", ::getuid(), hash64(job)); }

std::unique_ptr<Communicator> over_shared_memory(const RankIdentity& identity, const ConnectOptions& o) {
  if (identity.local_size() != identity.size() && !identity.names.empty())
    refuse(
        fmt::format("{} of {} workers and servers are on other machines, and they exchange parameters over shared "
                    "memory (allowed: all on one machine)",
                    identity.size() - identity.local_size(), identity.size()));
  if (identity.local_size() != identity.size())
    refuse(
        fmt::format("{} of {} ranks are on other servers, and shared memory ends at this one: start them with mpirun",
                    identity.size() - identity.local_size(), identity.size()));
  if (identity.job.empty())
    refuse(
        "Load job info failed, please check whether JOB_ID is set in environment variable (ranks of one run find each "
        "other by it; ridgeline launch sets it)");
  SharedOptions shared{
      .name = shared_name(identity.job), .rank = identity.rank, .size = identity.size(), .names = identity.names};
  shared.connect_timeout = o.connect_timeout;
  shared.execute_timeout = o.execute_timeout;
  RefusalWatch refusals(shared.name, shared.rank, shared.size, o.connect_timeout);
  shared.watch = [&refusals, &o] {
    refusals.look();
    if (o.watch) o.watch();
  };
  return shared_communicator(shared);
}

std::unique_ptr<Communicator> over_mpi(const RankIdentity& identity, const ConnectOptions& o) {
  std::unique_ptr<Communicator> all = mpi_communicator({.execute_timeout = o.execute_timeout});
  if (all->size() != identity.size() || all->rank() != identity.rank)
    refuse(fmt::format("this process is rank {} of {}, and rank {} of {} for MPI", identity.rank, identity.size(),
                       all->rank(), all->size()));
  return all;
}

// "CRC of the table must match across ranks": tables of other bytes may be other worlds.
void compare_tables(Communicator& all, std::uint32_t own) {
  std::vector<std::uint32_t> sums(static_cast<std::size_t>(all.size()));
  all.all_gather(&own, sums.data(), sizeof own);
  for (int r = 1; r < all.size(); ++r) {
    const std::uint32_t other = sums[static_cast<std::size_t>(r)];
    if (other != sums[0])
      refuse(fmt::format("the rank tables of rank 0 (CRC-32C {:08x}) and of rank {} ({:08x}) differ; 00000000: none",
                         sums[0], r, other));
  }
}

}  // namespace

Engine engine_named(const std::string& text, const std::string& where) {
  if (text.empty() || text == "auto") return Engine::automatic;
  if (text == "shared") return Engine::shared;
  if (text == "mpi") return Engine::mpi;
  refuse(fmt::format("{}='{}' (allowed: auto, shared, mpi)", where, printable(text)));
}

ConnectOptions connect_options(const Environment& environment) {
  ConnectOptions o;
  o.engine = engine_named(environment("RIDGELINE_RANKS_OVER").value_or(""), "RIDGELINE_RANKS_OVER");
  o.connect_timeout = seconds_of(environment, "HCCL_CONNECT_TIMEOUT", 120, 7200, o.connect_timeout);
  o.execute_timeout = seconds_of(environment, "HCCL_EXEC_TIMEOUT", 1, 17340, o.execute_timeout);
  return o;
}

void tell_refusal(const RankIdentity& identity, const std::string& reason) {
  const int size = identity.size();
  if (size == 1 || size > kMostSharedRanks || identity.local_size() != size || identity.job.empty() ||
      identity.by_mpirun)
    return;
  leave_refusal(shared_name(identity.job), identity.rank, size, reason);
}

void forget_run(const std::string& job) {
  remove_refusal(shared_name(job));
  SharedSegment::remove(shared_name(job));
}

std::unique_ptr<Communicator> connect(const RankIdentity& identity, const ConnectOptions& o) {
  const bool alone = identity.size() == 1;
  const bool over_one_server = identity.local_size() == identity.size();
  const bool by_mpi = o.engine == Engine::mpi || (o.engine == Engine::automatic && identity.by_mpirun && !alone &&
                                                  (!over_one_server || mpi_is_there()));
  std::unique_ptr<Communicator> all;
  if (by_mpi) {
    all = over_mpi(identity, o);
  } else {
    all = alone ? single_rank() : over_shared_memory(identity, o);
  }
  compare_tables(*all, identity.world.checksum);
  return all;
}

}  // namespace ridgeline::comm
