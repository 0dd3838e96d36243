// ridgeline/train/interrupt.h
//
// Ctrl-C and SIGTERM as a flag: the loop finishes its step, saves and leaves. A second Ctrl-C ends the process at once.
#pragma once

namespace ridgeline::train {

// While alive, SIGINT and SIGTERM set the flag instead of ending the process. One at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

// True once the user has asked to stop; stays true.
bool interrupted();
// Asks to stop, as a signal would; false clears the flag (tests).
void set_interrupted(bool value);

}  // namespace ridgeline::train
