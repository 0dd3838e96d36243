// ridgeline/train/loop/interrupt.h
//
// What asks a run to stop, as a flag: Ctrl-C, SIGTERM, SIGHUP (a terminal that is closed), SIGUSR1 (queues send it
// before they end a job), a log that nobody reads any more, a limit of time. The loop finishes its step, saves and
// leaves.
#pragma once

#include <chrono>
#include <csignal>

namespace ridgeline::train {

// While alive, SIGINT, SIGTERM, SIGHUP and SIGUSR1 set the flag instead of ending the process; a SIGHUP that is ignored
// (nohup) stays so. A second Ctrl-C, and a second signal of the same sender, ends the process at once: a queue and a
// launcher that both hand one on mean the same request. The flag and the limit of time are clear when the first guard
// begins and when the last one ends, so that one run stopped does not stop the next; within another guard they stay, as
// the user asked the whole of it to stop. Guards of several threads are within each other: a signal stops all of their
// runs.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

// While alive, writing into a pipe that nobody reads is an error of that write and does not end the process; programs
// that it starts are not concerned. Every InterruptGuard is one, too. Guards end in the reverse order. One thread.
class PipeGuard {
 public:
  PipeGuard();
  ~PipeGuard();
  PipeGuard(const PipeGuard&) = delete;
  PipeGuard& operator=(const PipeGuard&) = delete;

 private:
  struct sigaction before_;
};

// True once somebody has asked to stop or the time is over, until the last guard ends. Any thread.
bool interrupted();
// Which signal it was; 0: none, set_interrupted() was called or the time is over.
int interrupting_signal();
// Asks to stop, as a signal would; false clears the flag and the limit. Any thread.
void set_interrupted(bool value);

// From then on interrupted() is true. Any thread.
void set_time_limit(std::chrono::steady_clock::time_point end);
// Whether the time limit has asked to stop, and nobody else.
bool out_of_time();

}  // namespace ridgeline::train
