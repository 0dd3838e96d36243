// ridgeline/train/launch/launch_plan.h
//
// What a launcher starts: a process for each device of this machine and each parameter server, with the variables that
// tell it who it is, its cores and its folder.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ridgeline/comm/rank_environment.h"

namespace ridgeline::train {

// Where the launcher itself is the scheduler of workers and servers.
inline constexpr const char* kSchedulerHost = "127.0.0.1";

struct LaunchOptions {
  int ranks = 0;                // 0: as many as the table has, 1 without a table
  int servers = 0;              // parameter servers beside them, which are workers then; 0: none
  std::string rank_table = "";  // "": RANK_TABLE_FILE is not looked at, ranks are numbered from 0
  std::string server = "";      // of the table, whose ranks are started: needed where it has several
  std::string results = "results";
  std::string job_id = "";  // "": one that no other run of this machine has
  bool bind_cores = true;   // each rank runs on its share of the cores
  // A program of the user's own: it runs in this process's folder, where its paths lead on from, and what the first
  // rank of this machine prints is shown, too.
  bool own_program = false;
  // Where mpirun has started this process: which rank it is, and that one alone is planned. Cores are mpirun's affair.
  std::optional<comm::RankIdentity> by_mpirun = std::nullopt;
};

struct PlannedRank {
  int rank = 0;
  int device = 0;          // of a server its number
  std::string name;        // "rank 0", "worker 0", "server 0"
  std::string described;   // "rank 0 of 2, device 0"
  std::string folder;      // RESULTS/<ranks>p/<device> or .../server_<number>, absolute; of its logs
  std::string runs_in;     // the folder, or that of the launcher
  std::string output;      // folder/train_<device>.log: what it prints
  std::vector<int> cores;  // empty: all
  std::vector<std::pair<std::string, std::string>> variables;
  std::vector<std::string> removed;  // variables of this process that would say otherwise who it is
};

struct LaunchPlan {
  int world_size = 1;  // without servers
  std::string job_id;
  std::vector<PlannedRank> ranks;
  std::string note;               // why cores are not bound; else ""
  bool shows_first_rank = false;  // what that prints
};

// Reads the table (a missing one is an Error that names the path) and decides everything; starts and makes nothing.
// `cores` are those that this process may use: rank i of n gets those from i * size / n to (i + 1) * size / n.
LaunchPlan plan_launch(const LaunchOptions& options, const std::vector<int>& cores);

// Where the workers and servers of a plan find their scheduler, on this machine.
void set_scheduler(LaunchPlan& plan, int port);

// The cores of this process's affinity mask.
std::vector<int> allowed_cores();

}  // namespace ridgeline::train
