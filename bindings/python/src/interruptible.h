// bindings/python/src/interruptible.h
//
// Runs work that may wait for long (such as opening a data set on a server) so that Ctrl-C interrupts it.
#pragma once

#include <nanobind/nanobind.h>

#include <functional>

namespace ridgeline::python {

namespace nb = nanobind;

// Runs `work` without the GIL, on its own thread under a StopScope (core/stop.h), while the calling thread checks for
// signals. If a signal handler raises, waits inside `work` end, and the handler's exception is thrown once `work` has
// ended; else exceptions of `work` are thrown. `work` must not use Python objects of the calling thread.
void run_interruptibly(const std::function<void()>& work);

}  // namespace ridgeline::python
