#include "interruptible.h"

#include <atomic>
#include <chrono>
#include <exception>
#include <future>
#include <optional>
#include <thread>

#include "python_lock.h"
#include "ridgeline/core/stop.h"

namespace ridgeline::python {

void run_interruptibly(const std::function<void()>& work) {
  constexpr std::chrono::milliseconds kLook(50);
  std::atomic<bool> stop{false};
  std::packaged_task<void()> task([&] {
    const StopScope scope(stop);
    work();
  });
  std::future<void> done = task.get_future();
  std::thread thread(std::move(task));
  std::optional<nb::python_error> raised;
  {
    const nb::gil_scoped_release unlocked;
    while (done.wait_for(kLook) != std::future_status::ready) {
      if (stop) continue;
      const PythonLock locked;
      if (PyErr_CheckSignals() == 0) continue;
      raised.emplace();  // moves the exception out of the interpreter
      stop = true;
    }
    thread.join();
  }
  if (raised) throw nb::python_error(*raised);
  done.get();
}

}  // namespace ridgeline::python
