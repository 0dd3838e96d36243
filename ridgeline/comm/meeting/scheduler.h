// ridgeline/comm/meeting/scheduler.h
//
// The process at which the workers and servers of a training meet: it numbers them, tells each who the others are, and
// when one of them is lost, tells all others. No parameters and no gradients pass through it.
//
// Lines of text over TCP, one connection per member. Whoever reaches the port may join, so the port must be in a
// trusted network:
//   join 1 ROLE NUMBER|- PROCESS MACHINE SERVERS WORKERS    member: who it is
//   cannot 1 ROLE NUMBER|- PROCESS REASON                   one that ends before it has joined: why
//   world RANK JOB MACHINE,PROCESS ... scheduler: all have joined, by rank
//   refused REASON scheduler: it does not belong to this run
//   alive                                                   both, each second
//   lost RANK REASON                                        scheduler: this one is gone
//   left member: it has finished
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

  // Returns when all members have arrived and left. Errors: members that do not arrive in time; one that ends without
  // leaving, or is no longer heard of. The others have been told by then.
  void run();
  // Makes run() return; from any thread.
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
  int refused_ = 0;           // members that said that they cannot join
  std::string lost_;          // why the run has failed
  std::string said_missing_;  // the members that the last line about waiting named
  std::chrono::steady_clock::time_point looked_ = std::chrono::steady_clock::now();
  std::atomic<bool> stopped_{false};
};

}  // namespace ridgeline::comm
