// bindings/python/src/train/callback.h
//
// Callbacks written in Python, as the loop calls them: with the interpreter's lock, on the thread that trains. What
// they raise ends the run and comes out of train() as it was raised.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "../callables.h"
#include "ridgeline/train/loop/callback.h"

namespace ridgeline::python {

namespace nb = nanobind;

// What callbacks see of the run; empty outside of their hooks.
struct PyRunView {
  train::RunContext* context = nullptr;
  nb::object model;  // that trains, as the user holds it
};

class PythonCallback : public train::Callback {
 public:
  // An object with some of the hooks, or a function, which is called behind steps. With `every` (steps), or a method
  // next_stop(step), the hooks of steps are called there; without them behind each step. An Error for anything else.
  PythonCallback(nb::handle object, nb::handle view);

  std::int64_t next_stop(std::int64_t step) const override;
  void begin(train::RunContext& context) override { call(kBegin, context); }
  void epoch_begin(train::RunContext& context) override { call(kEpochBegin, context); }
  void step_begin(train::RunContext& context) override { call(kStepBegin, context); }
  void step_end(train::RunContext& context) override;
  void epoch_end(train::RunContext& context) override { call(kEpochEnd, context); }
  void end(train::RunContext& context) override { call(kEnd, context); }
  void failed(train::RunContext& context) override { call(kFailed, context); }

 private:
  enum Hook { kBegin, kEpochBegin, kStepBegin, kStepEnd, kEpochEnd, kEnd, kFailed, kHooks };
  void call(Hook hook, train::RunContext& context);

  std::unique_ptr<Held> object_, view_;
  std::array<std::unique_ptr<Held>, kHooks> hooks_;
  std::unique_ptr<Held> next_stop_;
  std::int64_t every_ = 0;  // steps; 0: it does not ask for any
};

void bind_callback(nb::module_& m);

}  // namespace ridgeline::python
