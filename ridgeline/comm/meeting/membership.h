// ridgeline/comm/meeting/membership.h
//
// This process as a worker or a server among those that have met at a scheduler. A thread of its own says that it is
// alive and hears who is lost.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "ridgeline/comm/meeting/line_socket.h"
#include "ridgeline/comm/meeting/roles.h"
#include "ridgeline/core/given_function.h"

namespace ridgeline::comm {

class Membership {
 public:
  // Returns when all have come: waits for the scheduler, then for the others; `say` gets a line where that takes a
  // while. Errors: nobody listens at the scheduler's place in time; the scheduler refuses this process, or ends.
  explicit Membership(const RoleEnvironment& own, const OptionalFunction<void(const std::string&)>& say = {});
  // Says that it leaves.
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  // Its rank among all (the workers, then the servers), their names and machines, and a job of their own.
  const RankIdentity& identity() const { return identity_; }
  int workers() const { return own_.place.workers; }
  int servers() const { return own_.place.servers; }

  // Called from another thread, at most once, when a rank is lost (-1: the scheduler itself), also when that was before
  // this call. An empty function takes the last one back: it is not running any more then.
  void on_loss(std::function<void(int rank, const std::string& reason)> tell);

 private:
  void meet(const OptionalFunction<void(const std::string&)>& say);
  void read_world(const std::string& line);
  void listen(const std::stop_token& stop);
  void lose(int rank, const std::string& reason);
  std::string scheduler_text() const;

  RoleEnvironment own_;
  RankIdentity identity_;
  std::unique_ptr<LineSocket> socket_;
  std::mutex mutex_;
  std::function<void(int, const std::string&)> tell_;
  int lost_rank_ = -1;
  std::string lost_;
  bool told_ = false;
  std::jthread thread_;  // uses all others
};

// In place of coming: tells the scheduler, if it is there, why this process ends, and the scheduler tells the others.
void tell_scheduler(const RoleEnvironment& own, const std::string& reason);

}  // namespace ridgeline::comm
