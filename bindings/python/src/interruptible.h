// bindings/python/src/interruptible.h
//
// Work that may wait for long (for a server, while a data set is opened) without making Ctrl-C wait.
#pragma once

#include <nanobind/nanobind.h>

#include <functional>

namespace ridgeline::python {

namespace nb = nanobind;

// Runs `work` without the interpreter's lock, on a thread of its own under a StopScope (core/stop.h), while the calling
// thread looks for signals. A signal whose handler raises ends the work's waits, and its exception is thrown on when
// the work has ended; else what the work throws. `work` must touch no Python object of the calling thread's.
void run_interruptibly(const std::function<void()>& work);

}  // namespace ridgeline::python
