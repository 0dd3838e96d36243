// bindings/shared/turns.h
//
// A lock for two kinds of callers: short calls, and long ones that are repeated at once (a loop that waits for
// batches). A short call never waits for more than one long call.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace ridgeline::bindings {

class Turns {
 public:
  // Holds the lock during its lifetime; false if it was not obtained in time.
  class Turn {
   public:
    explicit Turn(Turns* turns) : turns_(turns) {}
    Turn(Turn&& other) noexcept : turns_(other.turns_) { other.turns_ = nullptr; }
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (turns_ != nullptr) turns_->give_back();
    }
    explicit operator bool() const { return turns_ != nullptr; }

   private:
    Turns* turns_;
  };

  Turn short_turn() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    free_.wait(lock, [&] { return !taken_; });
    --waiting_;
    taken_ = true;
    return Turn(this);
  }
  Turn long_turn(std::chrono::steady_clock::time_point end) {
    std::unique_lock lock(mutex_);
    if (!free_.wait_until(lock, end, [&] { return !taken_ && waiting_ == 0; })) return Turn(nullptr);
    taken_ = true;
    return Turn(this);
  }

 private:
  void give_back() {
    {
      const std::lock_guard lock(mutex_);
      taken_ = false;
    }
    free_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable free_;
  bool taken_ = false;
  int waiting_ = 0;  // short calls that wait
};

}  // namespace ridgeline::bindings
