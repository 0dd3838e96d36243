#include "callback.h"

#include <nanobind/stl/string.h>

#include "../arrays.h"
#include "../values.h"
#include "ridgeline/core/error.h"

namespace ridgeline::python {
namespace {

constexpr std::array kHookNames = {"begin", "epoch_begin", "step_begin", "step_end", "epoch_end", "end", "failed"};

// Gives a view its run while a hook runs.
train::RunContext& context_of(const PyRunView& view) {
  if (view.context != nullptr) return *view.context;
  throw Error("a run is there while the callback's function runs, and not behind it: keep the numbers, not the run",
              ErrorKind::usage);
}

}  // namespace

PythonCallback::PythonCallback(nb::handle object, nb::handle view)
    : object_(std::make_unique<Held>(nb::borrow(object))), view_(std::make_unique<Held>(nb::borrow(view))) {
  bool any = false;
  for (std::size_t i = 0; i < kHookNames.size(); ++i) {
    if (!nb::hasattr(object, kHookNames[i])) continue;
    hooks_[i] = std::make_unique<Held>(nb::object(object.attr(kHookNames[i])));
    any = true;
  }
  if (!any && PyCallable_Check(object.ptr()) != 0) {
    hooks_[kStepEnd] = std::make_unique<Held>(nb::borrow(object));
    any = true;
  }
  if (!any)
    throw Error("the callback " + shown(nb::repr(object)) +
                    " has none of the methods begin, epoch_begin, step_begin, step_end, epoch_end, end, failed, and is "
                    "no function",
                ErrorKind::usage);
  if (nb::hasattr(object, "next_stop")) {
    next_stop_ = std::make_unique<Held>(nb::object(object.attr("next_stop")));
    return;
  }
  if (hooks_[kStepEnd] == nullptr && hooks_[kStepBegin] == nullptr) return;
  every_ = 1;
  if (!nb::hasattr(object, "every")) return;
  const nb::object every = object.attr("every");
  if (PyBool_Check(every.ptr()) || !nb::try_cast(every, every_) || every_ < 1)
    throw Error("`every` of the callback " + shown(nb::repr(object)) + " is " + shown(nb::repr(every)) +
                    "; a number of steps, 1 or more, is meant",
                ErrorKind::usage);
}

std::int64_t PythonCallback::next_stop(std::int64_t step) const {
  if (next_stop_ == nullptr) return train::next_multiple(step, every_);
  const PythonLock locked;
  const nb::object stop = next_stop_->get()(step);
  if (stop.is_none()) return kNever;
  std::int64_t value = 0;
  if (!nb::try_cast(stop, value))
    throw Error("next_stop() of the callback " + shown(nb::repr(object_->get())) + " gave " + shown(nb::repr(stop)) +
                    "; a later step, or None, is meant",
                ErrorKind::usage);
  return value;
}

// A loop may end for other reasons; hooks are called only at multiples of `every` and after the last step.
void PythonCallback::step_end(train::RunContext& context) {
  if (next_stop_ == nullptr && every_ > 1 && !train::is_multiple(context.step(), every_) && !context.stopping() &&
      !context.last())
    return;
  call(kStepEnd, context);
}

void PythonCallback::call(Hook hook, train::RunContext& context) {
  if (hooks_[hook] == nullptr) return;
  const PythonLock locked;
  const struct Shown {
    PyRunView& view;
    train::RunContext* outer;
    ~Shown() { view.context = outer; }
  } shown{nb::cast<PyRunView&>(view_->get()), nb::cast<PyRunView&>(view_->get()).context};
  shown.view.context = &context;
  hooks_[hook]->get()(view_->get());
}

void bind_callback(nb::module_& m) {
  const auto number = [](auto member) {
    return [member](const PyRunView& view) { return (context_of(view).*member)(); };
  };
  using Context = train::RunContext;
  nb::class_<PyRunView>(m, "RunView", "What a callback sees of the run, while its function runs.")
      .def_prop_ro("step", number(&Context::step), "Steps done, of the whole run and not of this process alone.")
      .def_prop_ro("total_steps", number(&Context::total_steps), "The run ends behind this step.")
      .def_prop_ro("steps_per_epoch", number(&Context::steps_per_epoch))
      .def_prop_ro("epoch", number(&Context::epoch), "The running epoch, from 1 on; behind steps, that of the last.")
      .def_prop_ro("step_in_epoch", number(&Context::step_in_epoch))
      .def_prop_ro("loss", number(&Context::loss), "Of the last step's batch, without the penalty of weight decay.")
      .def_prop_ro("learning_rate", number(&Context::learning_rate), "Of the last step.")
      .def_prop_ro("loop_steps", number(&Context::loop_steps),
                   "Steps that ran without Python between this call and the one before.")
      .def_prop_ro("loop_seconds", number(&Context::loop_seconds), "What these took, in seconds.")
      .def_prop_ro("loop_loss", number(&Context::loop_loss), "The mean of their losses.")
      .def_prop_ro("skipped_steps", number(&Context::skipped_steps),
                   "Steps of this process that did not count, as their gradients overflowed under a loss scale.")
      .def_prop_ro("has_outputs", number(&Context::has_outputs), "Whether a step was done in this process.")
      .def_prop_ro("stopping", number(&Context::stopping), "Whether the run ends behind this step.")
      .def_prop_ro("last", number(&Context::last), "Whether this is the last step that was asked for.")
      .def_prop_ro(
          "model", [](const PyRunView& view) { return view.model; }, "The Model that trains.")
      .def(
          "fetch",
          [](const PyRunView& view, const std::string& name) { return to_numpy(context_of(view).fetch(name).clone()); },
          nb::arg("name"),
          "What the last step returned by that name, as a NumPy array: 'loss', 'total_loss', 'learning_rate', ... An "
          "ArgumentError for an unknown name lists all.")
      .def(
          "stop", [](const PyRunView& view) { context_of(view).request_stop(); },
          "The run ends behind the step that is done, and is saved.");
}

}  // namespace ridgeline::python
