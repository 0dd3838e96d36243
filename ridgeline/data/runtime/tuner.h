// ridgeline/data/runtime/tuner.h
//
// Chooses how many workers fill batches and how many batches are in preparation, from the time that the consumer waits.
// Changes speed, never results, which do not depend on the number of workers. One thread at a time (the ring's mutex).
//
// The rule, for every window of batches: if the consumer waited for more than a twentieth of the time, one more worker
// and one more slot; after four windows without waiting, one worker fewer, but never again a number that made it wait.
#pragma once

#include <algorithm>
#include <cstdint>

namespace ridgeline::data {

class Tuner {
 public:
  Tuner() = default;
  Tuner(bool on, int workers, int slots)
      : on_(on),
        most_workers_(workers),
        most_slots_(slots),
        workers_(workers),
        slots_(on ? std::min(slots, kFirstSlots) : slots) {}

  int workers() const { return workers_; }
  int slots() const { return slots_; }

  // Call after every delivered batch with the time since the run began and the time waited so far. True if something
  // changed.
  bool delivered(double seconds, double waited) {
    if (!on_ || ++batches_ < kWindow) return false;
    const double time = seconds - window_seconds_, wait = waited - window_waited_;
    window_seconds_ = seconds;
    window_waited_ = waited;
    batches_ = 0;
    const int workers = workers_, slots = slots_;
    if (wait > time / 20) {
      calm_ = 0;
      least_workers_ = std::min(most_workers_, workers_ + 1);
      workers_ = least_workers_;
      slots_ = std::min(most_slots_, slots_ + 1);
    } else if (wait > 0) {
      calm_ = 0;
    } else if (++calm_ == kCalmWindows) {
      calm_ = 0;
      workers_ = std::max(least_workers_, workers_ - 1);
    }
    return workers != workers_ || slots != slots_;
  }

 private:
  static constexpr int kWindow = 8, kCalmWindows = 4, kFirstSlots = 3;
  bool on_ = false;
  int most_workers_ = 0, most_slots_ = 0, workers_ = 0, slots_ = 0;
  int least_workers_ = 1;  // fewer made the consumer wait
  int batches_ = 0, calm_ = 0;
  double window_seconds_ = 0, window_waited_ = 0;
};

}  // namespace ridgeline::data
