// ridgeline/device/cuda/driver/context.h
//
// One card: its primary context, held for as long as this lives, and what the card can do. Owned by the device; memory,
// streams, events, modules and graphs keep it alive. Any thread; each enters it before it calls the driver.
#pragma once

#include <memory>
#include <string>

#include "ridgeline/device/cuda/driver/calls.h"

namespace ridgeline::cuda {

struct CardInfo {
  std::string name;  // "NVIDIA H100 80GB HBM3"
  std::string uuid;  // 32 hexadecimal digits
  int driver_version = 0;
  int compute_capability = 0;  // 90
  int multiprocessors = 0;
  int clock_khz = 0;
  int memory_clock_khz = 0;
  int memory_bus_bits = 0;
  std::size_t l2_bytes = 0;
  std::size_t memory_bytes = 0;
  int shared_bytes = 0;  // the limit for a block
};

// The driver, initialised and not too old; an Error says in one line why not.
std::shared_ptr<Calls> start_driver(std::unique_ptr<Driver> driver, Calls::Fault fault = {});
// The number of cards that the driver shows this process.
int card_count(Calls& calls);
CardInfo card_info(Calls& calls, int index);
// Why our kernels do not run on the card; empty: they do.
std::string unsupported(const CardInfo& card);

class Context {
 public:
  // An Error if there is no such card, or our kernels do not run on it.
  Context(std::shared_ptr<Calls> calls, int index);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Calls& calls() { return *calls_; }
  Driver& driver() { return calls_->driver(); }
  const CardInfo& info() const { return info_; }
  // Makes it the calling thread's context.
  void enter();
  // Bytes that are now free on the card, which others may also use.
  std::size_t free_bytes();
  void synchronize();

  // As Calls::make and answer, after entering on the calling thread.
  template <class... Arguments>
  void make(std::string_view call, std::string_view subject, Arguments&&... arguments) {
    enter();
    calls_->make(call, subject, std::forward<Arguments>(arguments)...);
  }
  // For destructors: the result is ignored.
  template <class... Arguments>
  void release(std::string_view call, Arguments&&... arguments) noexcept {
    try {
      enter();
      calls_->answer(call, std::forward<Arguments>(arguments)...);
    } catch (...) {  // the error of a broken context was already thrown
    }
  }

 private:
  std::shared_ptr<Calls> calls_;
  CardInfo info_;
  DeviceOrdinal device_ = 0;
  ContextHandle handle_ = nullptr;
};

}  // namespace ridgeline::cuda
