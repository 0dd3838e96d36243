// ridgeline/train/loop/interrupt.h
//
// The flag that asks a run to stop, set by Ctrl-C, SIGTERM, SIGHUP (a terminal that is closed), SIGUSR1 (queues send it
// before they end a job), a log that nobody reads any more, or a time limit. The loop finishes its step, saves and
// ends.
#pragma once

#include <chrono>
#include <csignal>

namespace ridgeline::train {

// While alive, SIGINT, SIGTERM, SIGHUP and SIGUSR1 set the flag instead of ending the process; a SIGHUP that is ignored
// (nohup) stays so. A second Ctrl-C, and a second signal of the same sender, ends the process at once; signals of a
// queue and of a launcher count as one request. The flag and the time limit are cleared when the first guard begins and
// when the last one ends, so that a stopped run does not stop the next; nested guards do not clear them, since the user
// asked to stop the whole. Guards of several threads count as nested: a signal stops all of their runs.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

// While alive, writing into a pipe that nobody reads is an error of that write and does not end the process; child
// processes are not affected. Every InterruptGuard is also a PipeGuard. Guards end in reverse order. One thread.
class PipeGuard {
 public:
  PipeGuard();
  ~PipeGuard();
  PipeGuard(const PipeGuard&) = delete;
  PipeGuard& operator=(const PipeGuard&) = delete;

 private:
  struct sigaction before_;
};

// True from a request to stop, or the end of the time limit, until the last guard ends. Any thread.
bool interrupted();
// The signal that asked to stop; 0: set_interrupted() or the time limit did.
int interrupting_signal();
// Asks to stop, as a signal would; false clears the flag and the time limit. Any thread.
void set_interrupted(bool value);

// From then on interrupted() is true. Any thread.
void set_time_limit(std::chrono::steady_clock::time_point end);
// Whether only the time limit has asked to stop.
bool out_of_time();

}  // namespace ridgeline::train
