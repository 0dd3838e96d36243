// ridgeline/comm/rank_environment.h
//
// Which rank this process is, from the environment that launchers set: the variables of the original (RANK_TABLE_FILE,
// RANK_ID, RANK_SIZE, DEVICE_ID, POD_NAME, JOB_ID) or those of mpirun (OMPI_COMM_WORLD_RANK and so on).
#pragma once

#include <optional>
#include <string>

#include "ridgeline/comm/world.h"
#include "ridgeline/core/given_function.h"

namespace ridgeline::comm {

// The value of a variable; none if it is not set. Tests pass their own.
using Environment = GivenFunction<std::optional<std::string>(const std::string& name)>;
Environment process_environment();

struct RankIdentity {
  int rank = 0;
  int device = 0;                       // number of the device on its server
  std::string job;                      // JOB_ID, or mpirun's: identifies a run on its machine; "" if none is set
  bool by_mpirun = false;               // mpirun has started this process
  World world;                          // of `size()` ranks
  std::vector<std::string> names = {};  // the ranks' names in messages; empty: "rank 0" and so on

  int size() const { return world.size(); }
  // Ranks on this one's server, and how many of them come before it.
  int local_size() const;
  int local_rank() const;
};

// Looks, in this order, for a table (`rank_table`, else RANK_TABLE_FILE), for RANK_SIZE and RANK_ID, and for mpirun's
// variables; without any of them, the process is alone.
// - With a table of version 1.0, RANK_ID is a number; with a table by groups it is a pod's name (or POD_NAME is), and
//   DEVICE_ID says which of its devices. RANK_SIZE, if set, must equal the table's.
//   If RANK_ID (and POD_NAME) are not set, mpirun's rank is used, and its size must equal the table's.
// - Without a table all ranks are on one server, and rank r has device DEVICE_ID, or r if that is not set. With
//   mpirun's variables, ranks are on one server if mpirun says so, and otherwise on servers of unknown names.
// Errors (kind usage) name the variable, its value and what is allowed.
RankIdentity rank_identity(const Environment& environment, const std::string& rank_table = "");

}  // namespace ridgeline::comm
