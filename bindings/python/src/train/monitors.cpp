#include "monitors.h"

#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>

#include "../callables.h"
#include "../values.h"
#include "ridgeline/core/error.h"
#include "ridgeline/train/callback/model_checkpoint.h"
#include "ridgeline/train/callback/monitors.h"

namespace ridgeline::python {
namespace {

namespace nb = nanobind;

// Passes lines to a Python function, with the GIL.
train::LineSink sink_of(nb::object print) {
  return [held = std::make_shared<Held>(std::move(print))](const std::string& line) {
    const PythonLock locked;
    held->get()(to_python(line));
  };
}

NativeCallback model_checkpoint(const std::string& prefix, nb::handle directory, const std::string& ending, bool graph,
                                std::int64_t steps, std::int64_t seconds, std::int64_t keep, std::int64_t minutes,
                                bool exception_save) {
  return {std::make_shared<train::ModelCheckpoint>(prefix, text_of(directory),
                                                   train::CheckpointConfig{.save_checkpoint_steps = steps,
                                                                           .save_checkpoint_seconds = seconds,
                                                                           .keep_checkpoint_max = keep,
                                                                           .keep_checkpoint_per_n_minutes = minutes,
                                                                           .exception_save = exception_save},
                                                   train::CheckpointFiles{.ending = ending, .graph = graph})};
}

}  // namespace

void bind_monitors(nb::module_& m) {
  nb::class_<NativeCallback>(m, "NativeCallback", "A callback of the library, for train() of a Model.")
      .def_prop_ro(
          "latest",
          [](const NativeCallback& native) -> nb::object {
            const auto* saver = dynamic_cast<const train::ModelCheckpoint*>(native.callback.get());
            if (saver == nullptr || saver->latest_ckpt_file_name().empty()) return nb::none();
            return to_python(saver->latest_ckpt_file_name());
          },
          "The newest checkpoint of one that writes them.");
  m.def("loss_monitor", [](std::int64_t per_print_times, nb::object print) {
    return NativeCallback{std::make_shared<train::LossMonitor>(per_print_times, sink_of(std::move(print)))};
  });
  m.def("time_monitor", [](std::int64_t data_size, nb::object print) {
    return NativeCallback{std::make_shared<train::TimeMonitor>(data_size, sink_of(std::move(print)))};
  });
  m.def("learning_rate_monitor", [](nb::object print) {
    return NativeCallback{std::make_shared<train::LearningRateMonitor>(sink_of(std::move(print)))};
  });
  m.def("model_checkpoint", &model_checkpoint, nb::arg("prefix"), nb::arg("directory"), nb::arg("ending"),
        nb::arg("graph"), nb::arg("steps"), nb::arg("seconds"), nb::arg("keep"), nb::arg("minutes"),
        nb::arg("exception_save"));
}

}  // namespace ridgeline::python
