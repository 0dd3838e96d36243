// bindings/python/src/train/signals.h
//
// Runs work that Ctrl-C and other signals end at a point at which nothing is lost, and passes the signal to Python
// afterwards.
#pragma once

#include <nanobind/nanobind.h>

#include <csignal>
#include <exception>
#include <utility>

#include "ridgeline/train/loop/interrupt.h"

namespace ridgeline::python {

namespace nb = nanobind;

// Runs work() without the GIL. Signals during it set the flag of interrupt.h, which ends the work; afterwards they are
// sent to their previous handlers: SIGINT normally becomes a KeyboardInterrupt. `signalled`, if given: whether there
// was a signal.
template <class F>
auto with_signals(F&& work, bool* signalled = nullptr) {
  int signal = 0;
  std::exception_ptr error;
  decltype(work()) result{};
  {
    const train::InterruptGuard guard;
    const nb::gil_scoped_release unlocked;
    try {
      result = work();
    } catch (...) {
      error = std::current_exception();
    }
    signal = train::interrupting_signal();
  }
  if (signalled != nullptr) *signalled = signal != 0;
  if (signal != 0) std::raise(signal);
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  if (error) std::rethrow_exception(error);
  return result;
}

}  // namespace ridgeline::python
