// bindings/python/src/train/optimization.h
//
// Optimizers and schedules in Python, made from the tables of ridgeline/optim. Plain values. All functions need the
// GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <string>
#include <vector>

#include "ridgeline/nn/training_step.h"
#include "ridgeline/optim/schedule.h"

namespace ridgeline::python {

namespace nb = nanobind;

// The length of a training, which schedules that count in epochs need.
struct TrainingLength {
  std::int64_t steps_per_epoch = 0;
  std::int64_t epochs = 0;
};

struct PySchedule {
  std::string text;  // as written in Python
  std::function<optim::Schedule(const TrainingLength&)> at;
};

struct PyOptimizer {
  std::string text;
  optim::Optimizer rule;
  PySchedule rate;
  double weight_decay;
  bool decay_vectors;
  std::vector<nn::ParameterGroup> groups;
};

// A number, a schedule, or a Python function of the step's index.
PySchedule schedule_of(nb::handle rate);

void bind_optimization(nb::module_& m);

}  // namespace ridgeline::python
