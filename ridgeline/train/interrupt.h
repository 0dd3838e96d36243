// ridgeline/train/interrupt.h
//
// Ctrl-C and SIGTERM as a flag: the loop finishes its step, saves and leaves. A second Ctrl-C ends the process at once.
#pragma once

namespace ridgeline::train {

// While alive, SIGINT and SIGTERM set the flag instead of ending the process. The flag is clear when the first guard
// begins and when the last one ends, so that one run stopped does not stop the next; within another guard it stays,
// as the user asked the whole of it to stop. One thread.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

// True once the user has asked to stop, until the last guard ends. Any thread.
bool interrupted();
// Which signal it was; 0: none, set_interrupted() was called.
int interrupting_signal();
// Asks to stop, as a signal would; false clears the flag. Any thread.
void set_interrupted(bool value);

}  // namespace ridgeline::train
