// ridgeline/comm/mpi/mpi_communicator.h
//
// Ranks that mpirun has started, on one machine or several. Its collectives are made of messages between pairs of
// ranks, so that a sum has the same bits as over shared memory, and no rank waits for one that is gone: MPI's own
// collectives promise neither.
#pragma once

#include <chrono>
#include <memory>

#include "ridgeline/comm/communicator.h"

namespace ridgeline::comm {

struct MpiOptions {
  std::chrono::milliseconds execute_timeout{1'836'000};  // for a live rank to arrive (HCCL_EXEC_TIMEOUT)
};

// The world of mpirun. Errors (kind usage): there is no OpenMPI, or mpirun has not started this process.
std::unique_ptr<Communicator> mpi_communicator(const MpiOptions& options = {});

}  // namespace ridgeline::comm
