// bindings/python/src/train/signals.h
//
// Work that Ctrl-C and other signals end when it has come to a point at which nothing is lost, and what Python makes of
// the signal then.
#pragma once

#include <nanobind/nanobind.h>

#include <csignal>
#include <exception>
#include <utility>

#include "ridgeline/train/loop/interrupt.h"

namespace ridgeline::python {

namespace nb = nanobind;

// work() without the interpreter's lock. Signals that come meanwhile set the flag of interrupt.h, by which the work
// ends; behind it they are sent once more, to whom they would have gone: SIGINT is a KeyboardInterrupt, as a rule.
// `signalled`, where it is given: whether there was one.
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
