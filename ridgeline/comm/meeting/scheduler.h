// ridgeline/comm/meeting/scheduler.h
//
// The process at which the workers and servers of a training meet: it numbers them, tells each who the others are, and
// notices when one of them is lost, which it tells all others. No parameters and no gradients pass through it.
//
// Lines of text over TCP, one connection a member; whoever reaches the port may join, so it belongs into a network that
// is trusted:
//   join 1 ROLE NUMBER|- PROCESS MACHINE SERVERS WORKERS    member: who it is
//   cannot 1 ROLE NUMBER|- PROCESS REASON                   one that ends before it has joined: why
//   world RANK JOB MACHINE,PROCESS ...                      scheduler: all are there, by rank
//   refused REASON                                          scheduler: it is not of this run
//   alive                                                   both, each second
//   lost RANK REASON                                        scheduler: this one is gone
//   left                                                    member: it has done what it had to
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "ridgeline/comm/meeting/line_socket.h"
#include "ridgeline/comm/meeting/roles.h"
#include "ridgeline/core/given_function.h"

namespace ridgeline::comm {

class Scheduler {
 public:
  // Listens from here on; port 0 takes a free one. `say` gets a line for the log now and then.
  explicit Scheduler(const MeetingPlace& place, OptionalFunction<void(const std::string&)> say = {});
  ~Scheduler();
  int port() const { return place_.port; }

  // Returns when all members have come and left. Errors: members that do not come in time; one that ends without having
  // left, or of which nothing is heard any more. The others know it by then.
  void run();
  // Lets run() return; from any thread.
  void stop() { stopped_ = true; }

 private:
  struct Member;

  void wait() const;
  void accept();
  void hear(Member& member);
  void handle(Member& member, const std::string& line);
  bool identify(Member& member, const std::vector<std::string>& words) const;
  bool join(Member& member, const std::vector<std::string>& words);
  void refuse(Member& member, const std::vector<std::string>& words);
  std::string why_not(const Member& member, int servers, int workers) const;
  bool complete() const;
  void begin();
  void look();
  void lose(int rank, const std::string& reason);
  std::string missing() const;
  void say_who_is_missing();
  int count(Role role) const;

  MeetingPlace place_;
  OptionalFunction<void(const std::string&)> say_;
  Descriptor listening_;
  std::vector<std::unique_ptr<Member>> connections_;
  bool begun_ = false;
  int refused_ = 0;           // that have said that they cannot come
  std::string lost_;          // why the run has failed
  std::string said_missing_;  // who was waited for when that was last said
  std::chrono::steady_clock::time_point looked_ = std::chrono::steady_clock::now();
  std::atomic<bool> stopped_{false};
};

}  // namespace ridgeline::comm
