// ridgeline/device/cuda/driver/calls.h
//
// Every call of the driver goes through here: a failure becomes a DriverError that names the call, its purpose, and the
// driver's message. Tests make a call fail by `fault`. Any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "ridgeline/core/error.h"
#include "ridgeline/device/cuda/driver/driver.h"

namespace ridgeline::cuda {

class DriverError final : public Error {
 public:
  DriverError(const std::string& message, Result code) : Error(message), code_(code) {}
  Result code() const { return code_; }

 private:
  Result code_;
};

class Calls {
 public:
  // Gets a call's name; returns the result with which the call ends instead of being made, or 0 to make it.
  using Fault = std::function<Result(std::string_view call)>;

  explicit Calls(std::unique_ptr<Driver> driver, Fault fault = {})
      : driver_(std::move(driver)), fault_(std::move(fault)) {}
  Driver& driver() { return *driver_; }

  // calls.make("cuMemAlloc", "64 bytes of the arena", &Driver::allocate, &address, 64)
  template <class Method, class... Arguments>
  void make(std::string_view call, std::string_view subject, Method method, Arguments&&... arguments) {
    const Result code = answer(call, method, std::forward<Arguments>(arguments)...);
    if (code != result::kSuccess) fail(call, subject, code);
  }

  // The same, but the caller checks the result: for destructors, queries and calls that may be refused.
  template <class Method, class... Arguments>
  Result answer(std::string_view call, Method method, Arguments&&... arguments) {
    if (fault_) {
      if (const Result code = fault_(call); code != result::kSuccess) return code;
    }
    return (driver_.get()->*method)(std::forward<Arguments>(arguments)...);
  }

  [[noreturn]] void fail(std::string_view call, std::string_view subject, Result code);

 private:
  std::unique_ptr<Driver> driver_;
  Fault fault_;
};

}  // namespace ridgeline::cuda
