// ridgeline/comm/meeting/membership.h
//
// This process as a worker or a server of those that met at a scheduler. A separate thread reports that it is alive and
// hears which members are lost.
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
  // Returns when all members have arrived: waits for the scheduler, then for the others; `say` gets a line if that
  // takes a while. Errors: nobody listens at the scheduler's address in time; the scheduler refuses this process, or
  // ends.
  explicit Membership(const RoleEnvironment& own, const OptionalFunction<void(const std::string&)>& say = {});
  // Tells the scheduler that it leaves.
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  // Its rank among all (the workers, then the servers), their names and machines, and the name of the job.
  const RankIdentity& identity() const { return identity_; }
  int workers() const { return own_.place.workers; }
  int servers() const { return own_.place.servers; }

  // Called from another thread, at most once, when a rank is lost (-1: the scheduler itself), also if that was before
  // this call. An empty function removes the last one, which is no longer running when the call returns.
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
  std::jthread thread_;  // uses all other members
};

// Instead of joining: tells the scheduler, if there is one, why this process ends; the scheduler tells the others.
void tell_scheduler(const RoleEnvironment& own, const std::string& reason);

}  // namespace ridgeline::comm
