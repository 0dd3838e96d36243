// ridgeline/comm/communicator.h
//
// Collectives between the ranks of a group. It knows addresses, counts and element types, but not graphs, devices or
// parameters. Engines: shared memory between processes of one machine (shared/shared_communicator.h), MPI between
// machines (mpi/mpi_communicator.h); connect.h chooses.
//
// Every rank of a group calls the same collectives in the same order with the same sizes. If a rank calls another one,
// ends, reports an error, or does not arrive within the timeout, the others' calls are Errors that name it. After such
// an Error the communicator cannot be used any more. One thread at a time uses a communicator.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/core/dtype.h"

namespace ridgeline::comm {

// mean: the sum times 1 / size, before it is rounded to a narrow type; of floating types only.
enum class Reduction : std::uint8_t { sum, prod, max, min, mean };

// What a communicator has moved for its rank so far.
struct Traffic {
  std::int64_t calls = 0;
  std::int64_t bytes = 0;  // that this rank sent, counted by the algorithm that sends the least: see each collective
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  const Traffic& traffic() const { return traffic_; }
  // The number in the world of a rank of this communicator, and its name in messages: "rank 2", "server 0".
  int world_rank(int rank) const;
  const std::string& name(int rank) const;
  const std::vector<int>& world_ranks() const { return world_ranks_; }

  // Element by element over all ranks, in place; all ranks get the same bits. Elements are combined in pairs of ranks,
  // then pairs of pairs ((0+1)+(2+3)), so that four ranks add in the same order as two ranks that each first added two
  // values. bf16 and f16 are combined in f32 and rounded once. Sends 2 (size-1)/size of the bytes.
  void all_reduce(void* values, std::int64_t count, DType type, Reduction how = Reduction::sum);
  // Combines `values` (count * size elements) over the ranks; rank r gets elements [r * count, (r + 1) * count) in
  // `result`. The bits of all_reduce. Sends (size-1)/size of the bytes.
  void reduce_scatter(const void* values, void* result, std::int64_t count, DType type, Reduction how = Reduction::sum);
  // Collects `bytes` bytes of each rank, in the order of ranks, into `all` (bytes * size). `mine` may be its own place
  // in `all`.
  void all_gather(const void* mine, void* all, std::int64_t bytes);
  // Copies the bytes of `root` to all ranks.
  void broadcast(void* data, std::int64_t bytes, int root = 0);
  // Block r of `parts` (bytes each) goes to rank r; block r of `received` comes from rank r. The two do not overlap.
  void all_to_all(const void* parts, void* received, std::int64_t bytes);
  // Between two ranks: the k-th send to a rank pairs with its k-th receive from this one; both give the same size.
  void send(const void* data, std::int64_t bytes, int to);
  void receive(void* data, std::int64_t bytes, int from);
  // No rank returns before all have called it.
  void barrier();

  // Zeroed memory of this rank, in whole pages, where collectives are fastest: over shared memory, all_reduce then
  // reads and writes the ranks' values in place, reduce_scatter reads `values` and all_gather `mine` there. All ranks
  // allocate the same sizes in the same order, and call these collectives with such memory at equal offsets (all_gather
  // in its own result: at equal offsets of that). It may outlive the communicator.
  std::shared_ptr<void> allocate(std::int64_t bytes);

  // A communicator of some of these ranks, which all call it with the same list; rank i of it is ranks[i].
  std::unique_ptr<Communicator> group(const std::vector<int>& ranks);

  // Tells the others that this rank gives up, and why: their next or current call is an Error that says so.
  virtual void abort(const std::string& why) = 0;
  // This rank has learned elsewhere that another one is gone (a negative number: something that all need): its own next
  // or current call also is an Error that says so. From any thread.
  virtual void lose(int /*rank*/, const std::string& why) { abort(why); }
  // Why its calls are Errors from now on, where that is known without a call: a rank, this one included, has given up,
  // or has ended. From any thread, beside a call, too.
  virtual std::optional<std::string> failure() { return std::nullopt; }

 protected:
  // `world_ranks` of a group; empty: the world itself. `names` by rank; empty: their numbers in the world.
  Communicator(int rank, int size, std::vector<int> world_ranks = {}, std::vector<std::string> names = {});

  // What an engine implements; arguments are checked, sizes are not 0, and there are at least two ranks.
  virtual void do_all_reduce(void* values, std::int64_t count, DType type, Reduction how) = 0;
  virtual void do_reduce_scatter(const void* values, void* result, std::int64_t count, DType type, Reduction how) = 0;
  virtual void do_all_gather(const void* mine, void* all, std::int64_t bytes) = 0;
  virtual void do_broadcast(void* data, std::int64_t bytes, int root) = 0;
  virtual void do_all_to_all(const void* parts, void* received, std::int64_t bytes) = 0;
  virtual void do_send(const void* data, std::int64_t bytes, int to) = 0;
  virtual void do_receive(void* data, std::int64_t bytes, int from) = 0;
  virtual void do_barrier() = 0;
  virtual std::shared_ptr<void> do_allocate(std::int64_t bytes) = 0;
  virtual std::unique_ptr<Communicator> do_group(const std::vector<int>& ranks, int rank_in_group) = 0;

 private:
  void check_peer(int rank, const char* what) const;
  void count(std::int64_t bytes);

  int rank_;
  int size_;
  std::vector<int> world_ranks_;
  std::vector<std::string> names_;
  Traffic traffic_;
};

// A communicator of one rank.
std::unique_ptr<Communicator> single_rank();

}  // namespace ridgeline::comm
