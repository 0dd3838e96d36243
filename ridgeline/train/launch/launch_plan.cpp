#include "ridgeline/train/launch/launch_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "ridgeline/comm/rank_table.h"
#include "ridgeline/comm/table_fields.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/printable.h"

namespace ridgeline::train {
namespace {

// Servers on one machine: more than its devices would be of no use.
constexpr int kMostServers = comm::kDevicesPerServer;

[[noreturn]] void fail(const std::string& message) { throw Error("[launch] " + message, ErrorKind::usage); }

// The world of a table or of numbers alone.
comm::World world_of(const LaunchOptions& o) {
  if (o.by_mpirun) {
    if (o.ranks != 0 && o.ranks != o.by_mpirun->size())
      fail(fmt::format("--ranks={}, but mpirun starts {} processes", o.ranks, o.by_mpirun->size()));
    return o.by_mpirun->world;
  }
  if (!o.rank_table.empty()) {
    comm::World world = comm::read_rank_table(o.rank_table);
    if (o.ranks != 0 && o.ranks != world.size())
      fail(fmt::format("--ranks={}, but {} has {} devices", o.ranks, printable(o.rank_table), world.size()));
    return world;
  }
  if (o.ranks > comm::kDevicesPerServer)
    fail(fmt::format("--ranks={} (allowed without --rank_table: 1 to {}, the devices of one machine)", o.ranks,
                     comm::kDevicesPerServer));
  comm::World world;
  for (int r = 0; r < std::max(1, o.ranks); ++r)
    world.ranks.push_back({.server = "localhost", .pod = "", .device = r, .address = ""});
  return world;
}

std::string own_server(const LaunchOptions& o, const comm::World& world) {
  if (o.by_mpirun) return world.ranks[static_cast<std::size_t>(o.by_mpirun->rank)].server;
  std::set<std::string> servers;
  for (const comm::RankPlace& place : world.ranks) servers.insert(printable(place.server));
  if (o.server.empty() && servers.size() == 1) return world.ranks.front().server;
  if (o.server.empty())
    fail(fmt::format("{} has {} servers: --server=ID says which is this machine ({})", printable(o.rank_table),
                     servers.size(), fmt::join(servers, ", ")));
  const auto here = [&](const comm::RankPlace& place) { return place.server == o.server; };
  if (std::none_of(world.ranks.begin(), world.ranks.end(), here))
    fail(fmt::format("--server={} is not in the rank table (it has: {})", printable(o.server),
                     fmt::join(servers, ", ")));
  return o.server;
}

std::string new_job_id() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return fmt::format("{}-{}", std::chrono::duration_cast<std::chrono::milliseconds>(now).count(), ::getpid());
}

// Variables by which other launchers number their processes.
std::vector<std::string> of_launchers() {
  return {"RANK_TABLE_FILE", "POD_NAME",      "CM_CHIEF_IP",   "CM_WORKER_SIZE", "MS_ROLE",   "MS_SERVER_NUM",
          "MS_WORKER_NUM",   "MS_SCHED_HOST", "MS_SCHED_PORT", "MS_SCHED_NUM",   "MS_NODE_ID"};
}

// Instead of a rank's numbers: the role and number of a worker or a server.
void make_member(PlannedRank& planned, const LaunchOptions& o, const char* role, int number, int workers) {
  std::erase_if(planned.variables, [](const auto& v) { return v.first == "RANK_ID" || v.first == "RANK_SIZE"; });
  planned.removed.insert(planned.removed.end(), {"RANK_ID", "RANK_SIZE"});
  planned.variables.insert(planned.variables.end(), {{"MS_ROLE", role},
                                                     {"MS_NODE_ID", std::to_string(number)},
                                                     {"MS_WORKER_NUM", std::to_string(workers)},
                                                     {"MS_SERVER_NUM", std::to_string(o.servers)}});
}

void add_servers(LaunchPlan& plan, const LaunchOptions& o, const std::string& results) {
  for (PlannedRank& worker : plan.ranks) make_member(worker, o, "MS_WORKER", worker.rank, plan.world_size);
  for (int s = 0; s < o.servers; ++s) {
    PlannedRank server;
    server.rank = plan.world_size + s;
    server.device = s;
    server.name = fmt::format("server {}", s);
    server.described = fmt::format("{} of {}", server.name, o.servers);
    server.folder = fmt::format("{}/{}p/server_{}", results, plan.world_size, s);
    server.output = fmt::format("{}/train_server_{}.log", server.folder, s);
    server.variables = {{"JOB_ID", plan.job_id}};
    server.removed = of_launchers();
    server.removed.emplace_back("DEVICE_ID");
    make_member(server, o, "MS_PSERVER", s, plan.world_size);
    plan.ranks.push_back(std::move(server));
  }
}

}  // namespace

std::vector<int> allowed_cores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  std::vector<int> cores;
  if (::sched_getaffinity(0, sizeof mask, &mask) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &mask)) cores.push_back(core);
  }
  return cores;
}

LaunchPlan plan_launch(const LaunchOptions& o, const std::vector<int>& cores) {
  if (o.ranks < 0 || o.ranks > 4096)
    fail(fmt::format("--ranks={} (allowed: 1 to 4096, 0: those of the table)", o.ranks));
  if (o.servers < 0 || o.servers > kMostServers)
    fail(fmt::format("--servers={} (allowed: 1 to {}, 0: none)", o.servers, kMostServers));
  if (o.servers > 0 && (o.by_mpirun || !o.rank_table.empty()))
    fail(fmt::format("--servers={} {}: workers and servers of one machine are numbered by the launcher", o.servers,
                     o.by_mpirun ? "under mpirun" : "with --rank_table"));
  const comm::World world = world_of(o);
  const std::string server = own_server(o, world);
  LaunchPlan plan;
  plan.world_size = world.size();
  plan.job_id = o.job_id;
  if (plan.job_id.empty()) plan.job_id = o.by_mpirun ? o.by_mpirun->job : new_job_id();
  const std::string results = std::filesystem::absolute(o.results).lexically_normal().string();
  for (int r = 0; r < world.size(); ++r) {
    const comm::RankPlace& place = world.ranks[static_cast<std::size_t>(r)];
    if (o.by_mpirun ? r != o.by_mpirun->rank : place.server != server) continue;
    PlannedRank planned;
    planned.rank = r;
    planned.device = place.device;
    planned.name = fmt::format("{} {}", o.servers > 0 ? "worker" : "rank", r);
    planned.described = fmt::format("{} of {}, device {}", planned.name, world.size(), place.device);
    planned.folder = fmt::format("{}/{}p/{}", results, world.size(), place.device);
    planned.output = fmt::format("{}/train_{}.log", planned.folder, place.device);
    // A table by groups finds a process by its pod's name and device.
    planned.variables = {{"RANK_ID", place.pod.empty() ? std::to_string(r) : place.pod},
                         {"RANK_SIZE", std::to_string(world.size())},
                         {"DEVICE_ID", std::to_string(place.device)},
                         {"DEVICE_INDEX", std::to_string(place.device)},
                         {"ASCEND_DEVICE_ID", std::to_string(place.device)},
                         {"RANK_INDEX", "0"},
                         {"JOB_ID", plan.job_id}};
    planned.removed = of_launchers();
    if (!o.rank_table.empty())
      planned.variables.emplace_back("RANK_TABLE_FILE",
                                     std::filesystem::absolute(o.rank_table).lexically_normal().string());
    if (std::getenv("HCCL_CONNECT_TIMEOUT") == nullptr) planned.variables.emplace_back("HCCL_CONNECT_TIMEOUT", "600");
    plan.ranks.push_back(std::move(planned));
  }
  if (o.servers > 0) add_servers(plan, o, results);
  plan.shows_first_rank = o.own_program;
  for (PlannedRank& planned : plan.ranks) {
    planned.runs_in = o.own_program ? std::filesystem::current_path().string() : planned.folder;
    // Python keeps back what it prints into a file until there is much of it.
    if (o.own_program && std::getenv("PYTHONUNBUFFERED") == nullptr)
      planned.variables.emplace_back("PYTHONUNBUFFERED", "1");
  }
  const std::size_t n = plan.ranks.size();
  if (o.by_mpirun) return plan;
  if (!o.bind_cores) {
    plan.note = "cores are not bound (--bind_cores=False)";
  } else if (cores.size() < n) {
    plan.note = fmt::format("cores are not bound: {} for {} ranks", cores.size(), n);
  } else if (n > 1) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = i * cores.size() / n; k < (i + 1) * cores.size() / n; ++k)
        plan.ranks[i].cores.push_back(cores[k]);
    }
  }
  return plan;
}

void set_scheduler(LaunchPlan& plan, int port) {
  for (PlannedRank& planned : plan.ranks) {
    planned.variables.emplace_back("MS_SCHED_HOST", kSchedulerHost);
    planned.variables.emplace_back("MS_SCHED_PORT", std::to_string(port));
  }
}

}  // namespace ridgeline::train
