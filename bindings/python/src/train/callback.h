// bindings/python/src/train/callback.h
//
// Callbacks written in Python. Called with the GIL on the training thread; an exception ends the run and is raised from
// train() unchanged.
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

// The view of the run that callbacks get; empty outside of hooks.
struct PyRunView {
  train::RunContext* context = nullptr;
  nb::object model;  // the Python model that trains
};

class PythonCallback : public train::Callback {
 public:
  // Makes a callback of an object with some of the hooks, or of a function, which is called after steps. Step hooks are
  // called after each step, or only where `every` (steps) or a method next_stop(step) says. An Error for anything else.
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
  std::int64_t every_ = 0;  // in steps; 0: not given
};

void bind_callback(nb::module_& m);

}  // namespace ridgeline::python
