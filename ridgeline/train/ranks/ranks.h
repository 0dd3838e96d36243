// ridgeline/train/ranks/ranks.h
//
// The ranks that train together, as the training loop sees them: what they must agree on, what is summed over them, and
// what one of them tells the others. With one rank it does nothing. A value that shares the communicator; use it only
// between steps, since the step's own exchanges use the same one. Every rank makes the same calls in the same order.
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
  // The session's group of all ranks; one rank if it has none.
  explicit Ranks(const Session& session);
  // The session's ranks that have their own batch: with parameter servers, the workers, and only these call it.
  static Ranks with_batch(const Session& session);

  int rank() const { return all_ ? all_->rank() : 0; }
  int size() const { return all_ ? all_->size() : 1; }
  // The rank that writes logs and checkpoints.
  bool main() const { return rank() == 0; }
  // What this rank has sent so far.
  comm::Traffic traffic() const { return all_ ? all_->traffic() : comm::Traffic(); }

  // The largest of the ranks' values; all get it.
  int largest(int value) const;
  // Each number summed over the ranks.
  void sum(std::span<double> values) const;
  // Gives all ranks the text of rank `of`.
  void tell(std::string& text, int of = 0) const;
  // Gives all ranks every stored value of the main rank; returns a checksum of the values, and throws an Error if it
  // differs between ranks.
  std::string tell(ParameterStore& store) const;
  // An Error on all ranks, with the first op, unless all run the same ops by the same kernels: values in different
  // layouts (under another instruction set or other options) must not be added.
  void compare(const Program& program) const;
  // An Error (usage) on all ranks that names the first setting in which a rank differs from the main rank.
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
  // For parameter-server training: the first ranks of `all`, which have a batch each; null on a server; servers are the
  // last ranks.
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

// The first of its rows among those of all: from there a rank reads every ranks-th one. `batch_parts` as in RunSetup
// (run.h).
std::int64_t first_row_of(std::int64_t rank, std::int64_t ranks, std::int64_t batch_parts);

// Makes the group of the workers from `all`, whose last ranks are servers. All ranks call it.
RunRanks with_servers(std::shared_ptr<comm::Communicator> all, int servers);

// The session's device and groups, for these ranks: if there may be several devices of a kind ("cuda"), each rank takes
// the one with its own number, unless the name contains a number.
SessionOptions for_ranks(SessionOptions options, const RunRanks& ranks);

// Tells the other processes of this run that wait for this one that it ends before joining them, and why
// (comm/connect.h, comm/meeting/membership.h). Does nothing if nobody waits.
void tell_refusal(const std::string& reason);

// Runs what must be done before this process joins the others, and tells these of an Error.
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
// ranks with a batch the user wants, by the option `flag`, 0 for any number; another number is an Error (usage). `say`
// gets a line where workers and servers have to wait for each other.
RunRanks connect_ranks(std::int64_t wanted = 0, std::string_view flag = "",
                       const OptionalFunction<void(const std::string&)>& say = {});

// If MS_ROLE makes this process the scheduler of a training, runs it until all have left, and returns true. Errors as
// those of comm::Scheduler.
bool scheduled(const OptionalFunction<void(const std::string&)>& say);

}  // namespace ridgeline::train
