// ridgeline/comm/rank_environment.h
//
// Which rank this process is, as launchers say it: by the variables of the original (RANK_TABLE_FILE, RANK_ID,
// RANK_SIZE, DEVICE_ID, POD_NAME, JOB_ID) or those of mpirun (OMPI_COMM_WORLD_RANK and so on).
#pragma once

#include <optional>
#include <string>

#include "ridgeline/comm/world.h"
#include "ridgeline/core/given_function.h"

namespace ridgeline::comm {

// The value of a variable; none where it is not set. Tests give their own.
using Environment = GivenFunction<std::optional<std::string>(const std::string& name)>;
Environment process_environment();

struct RankIdentity {
  int rank = 0;
  int device = 0;          // number of the device on its server
  std::string job;         // JOB_ID, or mpirun's: what tells the runs of one machine apart; "" where none is set
  bool by_mpirun = false;  // mpirun has started this process as one of its world's
  World world;             // of `size()` ranks
  std::vector<std::string> names = {};  // what messages call them; empty: "rank 0" and so on

  int size() const { return world.size(); }
  // Ranks on this one's server, and how many of them come before it.
  int local_size() const;
  int local_rank() const;
};

// In this order: a table (`rank_table`, else RANK_TABLE_FILE), RANK_SIZE and RANK_ID, mpirun's variables; one process
// alone where none is set.
// - With a table of version 1.0, RANK_ID is a number; with one by groups it is a pod's name (or POD_NAME is), and
//   DEVICE_ID says which of its devices. RANK_SIZE, where set, must be the table's.
//   mpirun's rank counts where RANK_ID (and POD_NAME) are not set, and its size must be the table's.
// - Without a table all ranks are on one server, and rank r has device DEVICE_ID, or r where that is not set. With
//   mpirun's variables, ranks are on one server where mpirun says so, and on servers of unknown names otherwise.
// Errors (kind usage) name the variable, its value and what is allowed.
RankIdentity rank_identity(const Environment& environment, const std::string& rank_table = "");

}  // namespace ridgeline::comm
