// The interpreter's lock, for any thread, where processes may be forked meanwhile.
//
// A thread that Python does not know gets a state of its own, which the interpreter writes into its list of threads
// under a mutex, before it holds the interpreter's lock. If a fork fell into that moment, the child would wait for the
// mutex forever in os.fork(). So a fork waits for it here; nanobind's and Python's own way (PyGILState_Ensure) does
// not.
#pragma once

#include <nanobind/nanobind.h>

namespace ridgeline::python {

class PythonLock {
 public:
  PythonLock();
  ~PythonLock() { PyGILState_Release(before_); }
  // Whether Python did not know this thread.
  bool foreign() const { return foreign_; }
  PythonLock(const PythonLock&) = delete;
  PythonLock& operator=(const PythonLock&) = delete;

 private:
  PyGILState_STATE before_;
  bool foreign_ = false;
};

// In a thread of the engine that is to run a user's code: PyTorch's ops take this thread alone, as in the workers of
// PyTorch's own loader. Otherwise each of them would wake a team of threads as large as the machine.
void compute_alone();

// When the module is loaded.
void make_forks_wait();

}  // namespace ridgeline::python
