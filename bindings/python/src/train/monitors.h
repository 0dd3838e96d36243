// bindings/python/src/train/monitors.h
//
// Callbacks of the library that Python can pass to a training: MindSpore's monitors and its ModelCheckpoint.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "ridgeline/train/loop/callback.h"

namespace ridgeline::python {

// One such callback. train() borrows it for the duration of the call.
struct NativeCallback {
  std::shared_ptr<train::Callback> callback;
};

void bind_monitors(nanobind::module_& m);

}  // namespace ridgeline::python
