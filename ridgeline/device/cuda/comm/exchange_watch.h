// ridgeline/device/cuda/comm/exchange_watch.h
//
// A thread that looks, every now and then, whether ranks that exchange by NCCL are still there: a kernel of NCCL's
// waits for a rank that is gone for ever. Where one is, the error is kept for the host's next wait, and the kernels are
// ended. Owned by the device; asleep between looks, and not there as long as it has nothing to watch.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "ridgeline/device/cuda/comm/card_group.h"

namespace ridgeline::cuda {

class ExchangeWatch {
 public:
  explicit ExchangeWatch(std::chrono::milliseconds pause = std::chrono::milliseconds(100)) : pause_(pause) {}
  ~ExchangeWatch();
  ExchangeWatch(const ExchangeWatch&) = delete;
  ExchangeWatch& operator=(const ExchangeWatch&) = delete;

  void add(std::shared_ptr<CardGroup> group);

 private:
  void run();

  std::chrono::milliseconds pause_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool over_ = false;
  std::vector<std::shared_ptr<CardGroup>> groups_;
  std::thread thread_;
};

}  // namespace ridgeline::cuda
