// ridgeline/comm/connect.h
//
// Makes a communicator of all ranks from a rank's identity: chooses the engine, keeps the environment's timeouts, and
// checks that all ranks have the same rank table.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "ridgeline/comm/communicator.h"
#include "ridgeline/comm/rank_environment.h"

namespace ridgeline::comm {

enum class Engine : std::uint8_t {
  automatic,  // MPI if mpirun has started the ranks and OpenMPI can be loaded, else shared memory
  shared,
  mpi
};
// "auto", "shared" or "mpi"; an Error (kind usage) that names `where` for another text.
Engine engine_named(const std::string& text, const std::string& where);

struct ConnectOptions {
  Engine engine = Engine::automatic;
  std::chrono::milliseconds connect_timeout{120'000};
  std::chrono::milliseconds execute_timeout{1'836'000};
  std::function<void()> watch = {};  // called while waiting for the others over shared memory; may throw
};
// RIDGELINE_RANKS_OVER (auto, shared, mpi), HCCL_CONNECT_TIMEOUT (120 to 7200 s) and HCCL_EXEC_TIMEOUT (1 to 17340 s).
ConnectOptions connect_options(const Environment& environment);

// A rank that ends before it has connected tells the others why, so that ranks waiting for it over shared memory do not
// wait any longer: their connect() is an Error with its number and that reason. Does nothing if nobody waits: for a
// rank alone, without JOB_ID, or under mpirun, which ends the others itself.
void tell_refusal(const RankIdentity& identity, const std::string& reason);
// Removes what a finished run of this machine may have left in shared memory: reasons told as above, and the meeting
// place of ranks that were killed before all had arrived.
void forget_run(const std::string& job);

// Returns when all ranks have arrived; at once for a single rank. Errors (kind usage): several servers without mpirun,
// no JOB_ID, by which ranks that share memory find each other, another number of ranks in MPI's world, ranks whose rank
// tables differ.
std::unique_ptr<Communicator> connect(const RankIdentity& identity, const ConnectOptions& options);

}  // namespace ridgeline::comm
