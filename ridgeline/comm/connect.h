// ridgeline/comm/connect.h
//
// From who a rank is to a communicator of all ranks: over which engine, after the time that the environment allows, and
// with the same rank table everywhere.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "ridgeline/comm/communicator.h"
#include "ridgeline/comm/rank_environment.h"

namespace ridgeline::comm {

enum class Engine : std::uint8_t {
  automatic,  // MPI where mpirun has started the ranks and OpenMPI can be loaded, else shared memory
  shared,
  mpi
};
// "auto", "shared" or "mpi"; an Error (kind usage) that names `where` for another text.
Engine engine_named(const std::string& text, const std::string& where);

struct ConnectOptions {
  Engine engine = Engine::automatic;
  std::chrono::milliseconds connect_timeout{120'000};
  std::chrono::milliseconds execute_timeout{1'836'000};
  std::function<void()> watch = {};  // called while the others are waited for over shared memory; may throw
};
// RIDGELINE_RANKS_OVER (auto, shared, mpi), HCCL_CONNECT_TIMEOUT (120 to 7200 s) and HCCL_EXEC_TIMEOUT (1 to 17340 s).
ConnectOptions connect_options(const Environment& environment);

// Ranks of one machine that wait for each other over shared memory wait no longer for one that tells them, before it
// has come, why it ends: their connect() is an Error with its number and that reason. Nothing is told where nobody
// listens: by a rank alone, without JOB_ID, or under mpirun, which ends the others itself.
void tell_refusal(const RankIdentity& identity, const std::string& reason);
// Takes away what a run of this machine that is over may have left in shared memory: what was told so, and the place
// where ranks waited that were killed before all had come.
void forget_run(const std::string& job);

// Returns when all ranks have come; one rank alone needs nobody. Errors (kind usage): several servers without mpirun,
// no JOB_ID by which ranks that share memory find each other, another number of ranks in MPI's world, ranks whose rank
// tables differ.
std::unique_ptr<Communicator> connect(const RankIdentity& identity, const ConnectOptions& options);

}  // namespace ridgeline::comm
