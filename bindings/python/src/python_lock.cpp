#include "python_lock.h"

#include <mutex>

namespace nb = nanobind;

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
  foreign_ = true;
  PyThreadState* state = nullptr;
  {
    const std::lock_guard lock(adding_threads());
    state = PyThreadState_New(interpreter);
  }
  PyEval_RestoreThread(state);
  before_ = PyGILState_UNLOCKED;  // the state ends with the last release
}

void compute_alone() {
  static thread_local bool alone = false;
  if (alone) return;
  const nb::object torch = nb::steal(PyImport_GetModule(nb::str("torch").ptr()));
  if (!torch.is_valid()) {
    PyErr_Clear();
    return;
  }
  alone = true;
  nb::module_::import_("ridgeline.data._torch_threads").attr("compute_alone")(torch);
}

void make_forks_wait() {
  interpreter = PyInterpreterState_Get();
  // Python's own hooks: it calls them before it takes its mutex for a fork (from 3.13 on), pthread_atfork's behind that,
  // where they would wait for a thread that waits for Python's mutex.
  nb::module_::import_("os").attr("register_at_fork")(
      nb::arg("before") = nb::cpp_function([] { adding_threads().lock(); }),
      nb::arg("after_in_parent") = nb::cpp_function([] { adding_threads().unlock(); }),
      nb::arg("after_in_child") = nb::cpp_function([] { adding_threads().unlock(); }));
}

}  // namespace ridgeline::python
