// ridgeline/train/launch/launch_plan.h
//
// A launch plan: what a launcher starts. A process for each device of this machine and each parameter server, with
// environment variables that identify it, its cores and its folder.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ridgeline/comm/rank_environment.h"

namespace ridgeline::train {

// The scheduler's address if the launcher itself is the scheduler of workers and servers.
inline constexpr const char* kSchedulerHost = "127.0.0.1";

struct LaunchOptions {
  int ranks = 0;                // 0: as many as the table has, 1 without a table
  int servers = 0;              // parameter servers in addition to the ranks, which are then workers; 0: none
  std::string rank_table = "";  // "": RANK_TABLE_FILE is ignored, ranks are numbered from 0
  std::string server = "";      // the server of the table whose ranks are started: required if it has several
  std::string results = "results";
  std::string job_id = "";  // "": a new one, unique on this machine
  bool bind_cores = true;   // each rank runs on its share of the cores
  // A program of the user's own: it runs in this process's folder, to which its paths are relative, and the output of
  // the first rank of this machine is shown, too.
  bool own_program = false;
  // If mpirun has started this process: its rank; only that one is planned. mpirun then handles cores.
  std::optional<comm::RankIdentity> by_mpirun = std::nullopt;
};

struct PlannedRank {
  int rank = 0;
  int device = 0;          // for a server its number
  std::string name;        // "rank 0", "worker 0", "server 0"
  std::string described;   // "rank 0 of 2, device 0"
  std::string folder;      // RESULTS/<ranks>p/<device> or .../server_<number>, absolute; of its logs
  std::string runs_in;     // the process's working folder: `folder`, or that of the launcher
  std::string output;      // folder/train_<device>.log: what it prints
  std::vector<int> cores;  // empty: all
  std::vector<std::pair<std::string, std::string>> variables;
  std::vector<std::string> removed;  // variables of this process that would identify it wrongly
};

struct LaunchPlan {
  int world_size = 1;  // without servers
  std::string job_id;
  std::vector<PlannedRank> ranks;
  std::string note;               // why cores are not bound; else ""
  bool shows_first_rank = false;  // what that prints
};

// Reads the table (a missing one is an Error that names the path) and decides everything; starts and creates nothing.
// `cores` are those that this process may use: rank i of n gets those from i * size / n to (i + 1) * size / n.
LaunchPlan plan_launch(const LaunchOptions& options, const std::vector<int>& cores);

// Tells the workers and servers of a plan where their scheduler is, on this machine.
void set_scheduler(LaunchPlan& plan, int port);

// The cores of this process's affinity mask.
std::vector<int> allowed_cores();

}  // namespace ridgeline::train
