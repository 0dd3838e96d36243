// ridgeline/comm/mpi/mpi_process.h
//
// This process in MPI's world: MPI is started once and ended with the process. It knows which ranks have ended or given
// up, and passes that on, so that all ranks name the first. Any thread may call it; only one at a time is inside MPI.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ridgeline/comm/mpi/mpi_library.h"
#include "ridgeline/comm/peer_processes.h"

namespace ridgeline::comm {

// A notice about a failed rank, sent to another one.
struct MpiNotice {
  std::uint64_t channel = 0;  // the communicator that it is about
  char reason[504] = {};
};

class MpiProcess {
 public:
  // Starts MPI, once. An Error (kind usage) if there is no OpenMPI, or mpirun has not started this process.
  static MpiProcess& get();
  MpiProcess(const MpiProcess&) = delete;
  MpiProcess& operator=(const MpiProcess&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  // Whether this machine has a core for each of its ranks. (mpirun may have bound each to one.)
  bool has_cores() const { return has_cores_; }

  MpiLibrary::Handle start_send(const void* data, std::int64_t bytes, int to, int tag);
  MpiLibrary::Handle start_receive(void* data, std::int64_t bytes, int from, int tag);
  // Removes finished requests from the two parallel lists.
  void collect(std::vector<MpiLibrary::Handle>& requests, std::vector<int>& peers);
  // Cancels requests in flight: as far as MPI can, their memory is not accessed after this.
  void cancel(std::vector<MpiLibrary::Handle>& requests);

  // Why a communicator has failed, in the words of some rank; none if it has not.
  std::optional<std::string> failure_of(std::uint64_t channel);
  // Records a failure and tells `members`, ranks of the world. The first reason stays.
  void fail(std::uint64_t channel, std::span<const int> members, const std::string& reason);
  const PeerProcesses& peers() const { return *peers_; }
  // The reason for a failure that is the end of a rank's process.
  std::string told_end(int rank) const;
  // The number of this process's next world communicator: all ranks make equally many, each with tags of its own.
  int next_world() {
    const std::lock_guard lock(mutex_);
    return worlds_++;
  }

 private:
  MpiProcess();
  ~MpiProcess();
  void meet();
  void hear();

  const MpiLibrary& mpi_;
  std::mutex mutex_;
  bool owns_ = false;    // MPI was started here, and is ended here
  bool failed_ = false;  // a rank may be gone: ending MPI would wait for it
  int rank_ = 0;
  int size_ = 1;
  int worlds_ = 0;
  bool has_cores_ = false;
  MpiLibrary::Handle comm_ = nullptr;
  std::unique_ptr<PeerProcesses> peers_;
  MpiNotice heard_;
  MpiLibrary::Handle hearing_ = nullptr;
  std::map<std::uint64_t, std::string> reasons_;
  std::list<MpiNotice> said_;  // kept until the process ends: a message to a rank that is gone is never completed
};

}  // namespace ridgeline::comm
