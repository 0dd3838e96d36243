// ridgeline/device/cuda/comm/card_group.h
//
// Ranks that exchange from card to card: what they give to a stream, as calls of NCCL's. On the recording driver the
// same moves are made over the ranks' communicator, on the host. Owned by the device. One thread at a time; ended, and
// looked at, from any.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ridgeline/comm/communicator.h"
#include "ridgeline/device/cuda/comm/host_failure.h"
#include "ridgeline/device/cuda/driver/driver.h"
#include "ridgeline/device/cuda/nccl/communicator.h"

namespace ridgeline::cuda {

// Bytes between this rank and another one. The k-th of a rank to another one is received by its k-th from that.
struct CardMove {
  int peer = 0;  // rank of the group
  void* address = nullptr;
  std::size_t bytes = 0;
};

// Why these ranks are of no more use, "" where they are; where they cannot even be asked, why not. From any thread,
// also one on which nobody could catch an error.
std::string trouble_of(comm::Communicator& ranks);

class CardGroup {
 public:
  // `members`: the ranks of `ranks` that are in it, in order. All of both lists outlive it. Null for `nccl`: the
  // recording driver's.
  CardGroup(comm::Communicator& ranks, std::vector<int> members, HostFailure& failure,
            std::unique_ptr<nccl::Communicator> nccl);

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(members_.size()); }
  // Of a rank of the communicator, in this group.
  int place_of(int rank) const;

  // All moves at once: at most one each way between two ranks. Ones without bytes are left out.
  LibraryCall moves(const std::string& name, std::span<const CardMove> sends, std::span<const CardMove> receives) const;
  // Those of Communicator, of whole groups; sums are NCCL's, in its order. Only the root has the result of reduce.
  LibraryCall broadcast(const std::string& name, void* values, std::size_t bytes, int root) const;
  LibraryCall all_gather(const std::string& name, const void* mine, void* all, std::size_t bytes) const;
  LibraryCall all_reduce(const std::string& name, void* values, std::size_t count, DType type,
                         comm::Reduction how) const;
  LibraryCall reduce(const std::string& name, void* values, std::size_t count, DType type, comm::Reduction how,
                     int root) const;
  LibraryCall reduce_scatter(const std::string& name, const void* values, void* result, std::size_t count, DType type,
                             comm::Reduction how) const;

  // Whether it has to be watched: NCCL's kernels wait for ranks that may be gone.
  bool uses_nccl() const { return nccl_ != nullptr; }
  // What keeps these ranks from exchanging any more; "" where nothing does. From any thread.
  std::string trouble() const;
  // Ends what is under way; what is exchanged later is an Error that says why. From any thread.
  void give_up(const std::string& why);
  HostFailure& failure() const { return failure_; }

 private:
  std::function<void(StreamHandle)> by_nccl(const std::string& name, std::function<void(nccl::Group&)> calls) const;
  std::function<void(std::span<void* const>)> on_host(std::function<void(std::span<void* const>)> moves) const;

  comm::Communicator& ranks_;
  std::vector<int> members_;
  int rank_ = 0;
  HostFailure& failure_;
  std::unique_ptr<nccl::Communicator> nccl_;
};

}  // namespace ridgeline::cuda
