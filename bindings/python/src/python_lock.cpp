#include "python_lock.h"

#include <pthread.h>

#include <mutex>

namespace ridgeline::python {

namespace {

std::mutex& adding_threads() {
  static auto* mutex = new std::mutex;  // never destroyed: threads may outlive everything
  return *mutex;
}

PyInterpreterState* interpreter = nullptr;

}  // namespace

PythonLock::PythonLock() {
  if (PyGILState_GetThisThreadState() != nullptr) {
    before_ = PyGILState_Ensure();
    return;
  }
  PyThreadState* state = nullptr;
  {
    const std::lock_guard lock(adding_threads());
    state = PyThreadState_New(interpreter);
  }
  PyEval_RestoreThread(state);
  before_ = PyGILState_UNLOCKED;  // the state ends with the last release
}

void make_forks_wait() {
  interpreter = PyInterpreterState_Get();
  ::pthread_atfork([] { adding_threads().lock(); }, [] { adding_threads().unlock(); },
                   [] { adding_threads().unlock(); });
}

}  // namespace ridgeline::python
