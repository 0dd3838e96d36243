// ridgeline/train/ranks/ranks.h
//
// The ranks that train together, as the training loop sees them: what they must agree on, what is summed over them, and
// what one of them tells the others. Alone it does nothing. A value that shares the communicator; between steps only,
// as the step's own exchanges use the same one. Every rank makes the same calls in the same order.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ridgeline/comm/communicator.h"
#include "ridgeline/compile/run/parameter_store.h"
#include "ridgeline/compile/run/program.h"
#include "ridgeline/compile/run/session.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/given_function.h"

namespace ridgeline::train {

// The group of all ranks, in graphs and in sessions.
inline constexpr const char* kWorld = "world";

class Ranks {
 public:
  explicit Ranks(std::shared_ptr<comm::Communicator> all) : all_(std::move(all)) {}
  // The session's group of all ranks; one rank where it has none.
  explicit Ranks(const Session& session);
  // Those of the session that have a batch of their own: with parameter servers, the workers, who call it alone.
  static Ranks with_batch(const Session& session);

  int rank() const { return all_ ? all_->rank() : 0; }
  int size() const { return all_ ? all_->size() : 1; }
  // The rank that writes logs and checkpoints.
  bool main() const { return rank() == 0; }
  // What this rank has sent so far.
  comm::Traffic traffic() const { return all_ ? all_->traffic() : comm::Traffic(); }

  // The largest of the ranks' values, on all of them.
  int largest(int value) const;
  // Each number summed over the ranks.
  void sum(std::span<double> values) const;
  // What one rank has, to all.
  void tell(std::string& text, int of = 0) const;
  // Every stored value of the main rank, to all; what they hold then as a checksum, the same on each: else an Error.
  std::string tell(ParameterStore& store) const;
  // An Error on all ranks, with the first op, unless all run the same ops by the same kernels: values that kernels have
  // laid out otherwise (under another instruction set or other options) may not be added up.
  void compare(const Program& program) const;
  // An Error (usage) on all ranks that names the first setting which one has otherwise than the main rank.
  void agree(const std::vector<std::pair<std::string, std::string>>& settings) const;

 private:
  std::string difference(const std::vector<std::string>& own, const char* has) const;

  std::shared_ptr<comm::Communicator> all_;  // null: one rank
};

// CRC-32C over the names and values of all entries, 8 hex digits.
std::string checksum_of(const ParameterStore& store);

// The ranks of a run. A value that shares the communicators.
struct RunRanks {
  RunRanks(std::shared_ptr<comm::Communicator> all_ranks = nullptr) : all(std::move(all_ranks)) {}

  std::shared_ptr<comm::Communicator> all;  // null: one process alone
  // Of parameter-server training: the first ranks of all, which have a batch each; null on a server, whose ranks are
  // behind them.
  std::shared_ptr<comm::Communicator> workers;
  int servers = 0;
  int device = 0;  // the number of this rank's device on its machine

  int size() const { return all ? all->size() : 1; }
  int rank() const { return all ? all->rank() : 0; }
  int data_ranks() const { return size() - servers; }
  bool serves() const { return rank() >= data_ranks(); }
  // Tells the others that this rank gives up.
  void abort(const std::string& why) const;
};

// Of its rows among those of all: from which on a rank reads every ranks-th one. `batch_parts` as in RunSetup (run.h).
std::int64_t first_row_of(std::int64_t rank, std::int64_t ranks, std::int64_t batch_parts);

// Those of `all`, the last of which are servers: makes the group of the workers. All ranks call it.
RunRanks with_servers(std::shared_ptr<comm::Communicator> all, int servers);

// The session's device and groups, for these ranks: of a kind of which there may be several ("cuda") each rank takes
// the one of its own number, unless the name has one.
SessionOptions for_ranks(SessionOptions options, const RunRanks& ranks);

// Tells the other processes of this run, which wait for this one, that it ends before it has joined them, and why
// (comm/connect.h, comm/meeting/membership.h). Nothing where nobody waits.
void tell_refusal(const std::string& reason);

// What has to be done before this process joins the others; they are told of an Error.
template <class Prepare>
auto before_joining(const Prepare& prepare) {
  try {
    return prepare();
  } catch (const Error& error) {
    tell_refusal(error.what());
    throw;
  }
}

// The ranks that a launcher has started with this process (rank_environment.h, meeting/roles.h). `wanted`: how many
// with a batch the user has asked for, by the option `flag`, 0 for as many as there are; another number is an Error
// (usage). `say` gets a line where workers and servers have to wait for each other.
RunRanks connect_ranks(std::int64_t wanted = 0, std::string_view flag = "",
                       const OptionalFunction<void(const std::string&)>& say = {});

// Where MS_ROLE makes this process the scheduler of a training, it is that until all have left, and the result is true.
// Errors as those of comm::Scheduler.
bool scheduled(const OptionalFunction<void(const std::string&)>& say);

}  // namespace ridgeline::train
