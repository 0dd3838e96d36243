#include "ridgeline/device/cuda/comm/exchange_watch.h"

#include "ridgeline/core/error.h"

namespace ridgeline::cuda {

ExchangeWatch::~ExchangeWatch() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ExchangeWatch::add(std::shared_ptr<CardGroup> group) {
  const std::lock_guard lock(mutex_);
  groups_.push_back(std::move(group));
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
}

void ExchangeWatch::run() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, pause_, [this] { return over_; })) {
    std::vector<std::shared_ptr<CardGroup>> groups = groups_;
    lock.unlock();  // asking and ending take their time
    std::string why;
    for (const auto& group : groups) {
      if (why.empty()) why = group->trouble();
    }
    // First the error, then the end of what hides it: work that is given later meets the error.
    if (!why.empty()) groups.front()->failure().end(std::make_exception_ptr(Error(why)));
    lock.lock();
    if (why.empty()) continue;
    groups = groups_;  // also one that came meanwhile
    lock.unlock();
    // The ranks are of no more use to any group: what one of them waits for may depend on another one's exchange. All
    // at once, as each end waits for the graphs that the host lets go of when it has learned of the error.
    std::vector<std::thread> ends;
    for (const auto& group : groups) ends.emplace_back([&] { group->give_up(why); });
    for (std::thread& end : ends) end.join();
    return;
  }
}

}  // namespace ridgeline::cuda
