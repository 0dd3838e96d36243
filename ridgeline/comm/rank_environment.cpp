#include "ridgeline/comm/rank_environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "ridgeline/comm/rank_table.h"
#include "ridgeline/comm/table_fields.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/printable.h"

namespace ridgeline::comm {
namespace {

[[noreturn]] void fail(const std::string& message) { throw Error("[ranks] " + message, ErrorKind::usage); }

std::optional<int> whole_number(const std::string& text) {
  int number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || text.empty()) return std::nullopt;
  return number;
}

// A variable that is an integer in [least, most]; none where it is not set.
std::optional<int> number_of(const Environment& environment, const std::string& name, int least, int most) {
  const std::optional<std::string> text = environment(name);
  if (!text) return std::nullopt;
  const std::optional<int> number = whole_number(*text);
  if (!number || *number < least || *number > most)
    fail(fmt::format("{}='{}' (allowed: {} to {})", name, printable(*text), least, most));
  return number;
}

// DEVICE_ID, in the original's words.
std::optional<int> device_of(const Environment& environment) {
  const std::optional<std::string> text = environment("DEVICE_ID");
  if (!text) return std::nullopt;
  const std::optional<int> number = whole_number(*text);
  if (!number)
    fail(fmt::format("DEVICE_ID is invalid, should be int, such as 0, 1, 2. (DEVICE_ID='{}')", printable(*text)));
  if (*number < 0) fail(fmt::format("DEVICE_ID should be >= 0. (DEVICE_ID={})", *number));
  if (*number >= kDevicesPerServer)
    fail(fmt::format("DEVICE_ID={} (allowed: 0 to {})", *number, kDevicesPerServer - 1));
  return number;
}

// This process's rank in a table by groups: that of its pod with its device. A number that no pod has is a rank.
int rank_of_pod(const World& world, const std::string& pod, std::optional<int> device) {
  std::vector<int> found;
  for (int r = 0; r < world.size(); ++r) {
    const RankPlace& place = world.ranks[static_cast<std::size_t>(r)];
    if (place.pod == pod && (!device || place.device == *device)) found.push_back(r);
  }
  if (found.size() == 1) return found.front();
  const std::string name = printable(pod);
  if (found.size() > 1)
    fail(fmt::format("the pod '{}' of the rank table has {} devices: DEVICE_ID says which is this process's", name,
                     found.size()));
  const auto of_pod = [&](const RankPlace& place) { return place.pod == pod; };
  if (std::any_of(world.ranks.begin(), world.ranks.end(), of_pod))
    fail(fmt::format("The ranktable config devId is inconsistent with the local devId. (pod '{}' has no device {})",
                     name, *device));
  fail(fmt::format("RANK_ID or POD_NAME '{}' is no pod_name of the rank table", name));
}

RankIdentity of_table(const Environment& environment, const std::string& path) {
  RankIdentity identity;
  identity.world = read_rank_table(path);
  const World& world = identity.world;
  const std::optional<int> size = number_of(environment, "RANK_SIZE", 1, kMostRanks);
  if (size && *size != world.size())
    fail(fmt::format("RANK_SIZE={}, but the rank table {} has {} devices", *size, printable(path), world.size()));
  const std::optional<int> mpi_size = number_of(environment, "OMPI_COMM_WORLD_SIZE", 1, kMostRanks);
  if (mpi_size && *mpi_size != world.size())
    fail(fmt::format("mpirun starts {} processes, but the rank table {} has {} devices", *mpi_size, printable(path),
                     world.size()));
  const std::optional<int> device = device_of(environment);
  const bool by_pod = !world.ranks.front().pod.empty();
  std::optional<std::string> id = environment("RANK_ID");
  if (by_pod && environment("POD_NAME")) id = environment("POD_NAME");
  const std::optional<int> mpi_rank = number_of(environment, "OMPI_COMM_WORLD_RANK", 0, world.size() - 1);
  if (!id && world.size() == 1) id = by_pod ? world.ranks.front().pod : "0";
  if (!id && !mpi_rank)
    fail(
        fmt::format("RANK_ID is not set: which of the {} ranks of {} is this process?", world.size(), printable(path)));
  if (!id) {
    identity.rank = *mpi_rank;
  } else if (by_pod) {
    identity.rank = rank_of_pod(world, *id, device);
  } else {
    const std::optional<int> rank = whole_number(*id);
    if (!rank || *rank < 0 || *rank >= world.size())
      fail(fmt::format("RANK_ID='{}' (allowed with this rank table: 0 to {})", printable(*id), world.size() - 1));
    identity.rank = *rank;
  }
  if (mpi_rank && *mpi_rank != identity.rank)
    fail(fmt::format("this process is rank {} of the rank table {}, and rank {} for mpirun", identity.rank,
                     printable(path), *mpi_rank));
  identity.device = world.ranks[static_cast<std::size_t>(identity.rank)].device;
  if (device && *device != identity.device)
    fail(fmt::format(
        "The ranktable config devId is inconsistent with the local devId. (rank {} has device {} in {}, and "
        "DEVICE_ID={})",
        identity.rank, identity.device, printable(path), *device));
  return identity;
}

// `size` ranks on one server.
World one_server(int size) {
  World world;
  for (int r = 0; r < size; ++r) world.ranks.push_back({.server = "localhost", .pod = "", .device = r, .address = ""});
  return world;
}

// mpirun's ranks on several servers; it says only how many are on this one. By default it fills a server before the
// next; other mappings cannot be seen from here.
World servers_of_mpirun(int size, int rank, int local_rank, int local_size) {
  World world;
  for (int r = 0; r < size; ++r) {
    const bool here = r >= rank - local_rank && r < rank - local_rank + local_size;
    world.ranks.push_back(
        {.server = here ? "localhost" : "other", .pod = "", .device = here ? r - rank + local_rank : 0, .address = ""});
  }
  return world;
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

int RankIdentity::local_size() const {
  const std::string& server = world.ranks[static_cast<std::size_t>(rank)].server;
  return static_cast<int>(std::count_if(world.ranks.begin(), world.ranks.end(),
                                        [&](const RankPlace& place) { return place.server == server; }));
}

int RankIdentity::local_rank() const {
  const std::string& server = world.ranks[static_cast<std::size_t>(rank)].server;
  return static_cast<int>(std::count_if(world.ranks.begin(), world.ranks.begin() + rank,
                                        [&](const RankPlace& place) { return place.server == server; }));
}

RankIdentity rank_identity(const Environment& environment, const std::string& rank_table) {
  const std::string table = rank_table.empty() ? environment("RANK_TABLE_FILE").value_or("") : rank_table;
  if (environment("RANK_SIZE") && environment("CM_WORKER_SIZE"))
    fail("RANK_SIZE and CM_WORK_SIZE cannot be configured at the same time");
  if (environment("CM_WORKER_SIZE") || environment("CM_CHIEF_IP"))
    fail("CM_CHIEF_IP and CM_WORKER_SIZE are not supported: give a rank table, or RANK_SIZE and RANK_ID");
  RankIdentity identity;
  if (!table.empty()) {
    identity = of_table(environment, table);
  } else {
    const std::optional<int> mpi_size = number_of(environment, "OMPI_COMM_WORLD_SIZE", 1, kMostRanks);
    const std::optional<int> given_size = number_of(environment, "RANK_SIZE", 1, kMostRanks);
    if (mpi_size && given_size && *mpi_size != *given_size)
      fail(fmt::format("RANK_SIZE={}, but mpirun starts {} processes", *given_size, *mpi_size));
    const bool mpi = (!environment("RANK_SIZE") || !environment("RANK_ID")) && environment("OMPI_COMM_WORLD_SIZE");
    const std::string size_name = mpi ? "OMPI_COMM_WORLD_SIZE" : "RANK_SIZE";
    const std::string rank_name = mpi ? "OMPI_COMM_WORLD_RANK" : "RANK_ID";
    const std::optional<int> told_size = number_of(environment, size_name, 1, kMostRanks);
    if (const std::optional<std::string> id = environment(rank_name); id && !told_size)
      fail(fmt::format("{}={}, but {} is not set: of how many ranks is this one? (1 to {})", rank_name, printable(*id),
                       size_name, kMostRanks));
    const int size = told_size.value_or(1);
    const std::optional<int> rank = number_of(environment, rank_name, 0, size - 1);
    if (!rank && size > 1)
      fail(fmt::format("{}={}, but {} is not set (0 to {})", size_name, size, rank_name, size - 1));
    identity.rank = rank.value_or(0);
    const int local_size = mpi ? number_of(environment, "OMPI_COMM_WORLD_LOCAL_SIZE", 1, size).value_or(size) : size;
    const int local_rank =
        mpi ? number_of(environment, "OMPI_COMM_WORLD_LOCAL_RANK", 0, local_size - 1).value_or(identity.rank)
            : identity.rank;
    identity.world =
        local_size < size ? servers_of_mpirun(size, identity.rank, local_rank, local_size) : one_server(size);
    identity.device = device_of(environment).value_or(local_rank % kDevicesPerServer);
    identity.world.ranks[static_cast<std::size_t>(identity.rank)].device = identity.device;
  }
  identity.by_mpirun = environment("OMPI_COMM_WORLD_SIZE").has_value();
  identity.job = environment("JOB_ID").value_or("");
  if (identity.job.empty() && identity.by_mpirun) identity.job = environment("PMIX_NAMESPACE").value_or("");
  return identity;
}

}  // namespace ridgeline::comm
