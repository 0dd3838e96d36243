#include "ridgeline/core/lane_threads.h"

#include <string>
#include <system_error>

#include "ridgeline/core/error.h"

namespace ridgeline {

LaneThreads::LaneThreads(int lanes) {
  RIDGELINE_CHECK(lanes >= 1, "there is a lane");
  threads_.reserve(static_cast<std::size_t>(lanes) - 1);
  for (int lane = 1; lane < lanes; ++lane) {
    try {
      threads_.emplace_back([this, lane] { wait_for_work(lane); });
    } catch (const std::system_error& error) {
      end();
      throw Error("launches side by side: thread " + std::to_string(lane) + " of " + std::to_string(lanes - 1) +
                  " cannot be started: " + error.code().message() + " (fewer lanes need fewer threads)");
    }
  }
}

LaneThreads::~LaneThreads() { end(); }

void LaneThreads::end() {
  ending_ = true;
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void LaneThreads::run(int lanes, FunctionRef<void(int)> body) {
  RIDGELINE_CHECK(lanes >= 1 && lanes <= this->lanes(), "more lanes than threads");
  if (lanes > 1) {
    body_ = &body;
    wanted_ = lanes;
    running_.store(static_cast<std::uint32_t>(threads_.size()), std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
  }
  body(0);
  if (lanes == 1) return;
  for (std::uint32_t left = running_.load(std::memory_order_acquire); left > 0;
       left = running_.load(std::memory_order_acquire)) {
    running_.wait(left, std::memory_order_acquire);
  }
}

void LaneThreads::wait_for_work(int lane) {
  for (std::uint32_t seen = 0;; ++seen) {
    round_.wait(seen, std::memory_order_acquire);
    if (ending_) return;
    if (lane < wanted_) (*body_)(lane);
    if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) running_.notify_one();
  }
}

}  // namespace ridgeline
