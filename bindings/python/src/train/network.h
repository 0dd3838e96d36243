// bindings/python/src/train/network.h
//
// What Python trains as nn::Network: a model of the library's table or a function of layers, and a loss, for batches of
// a form that is read off the data. The functions that build graphs take the interpreter's lock themselves; what they
// raise passes through C++ as it was raised.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../callables.h"
#include "ridgeline/data/api/dataset.h"
#include "ridgeline/infer/model.h"
#include "ridgeline/nn/models.h"
#include "ridgeline/nn/network.h"

namespace ridgeline::python {

namespace nb = nanobind;

// What gives the outputs of a batch from its inputs: a model of the table, or a Python function of Values.
struct PyNet {
  std::string name;
  const nn::ModelInfo* model = nullptr;
  nn::ModelOptions options = {};  // of the model, complete
  std::int64_t image_size = 0;    // likewise
  std::shared_ptr<Held> function;
};

// Of outputs and labels: the softmax's cross-entropy, or a Python function of two Values that gives f32[N], a loss a
// row, or f32[].
struct PyLoss {
  std::optional<double> label_smoothing;
  std::shared_ptr<Held> function;
  bool given() const { return label_smoothing.has_value() || function != nullptr; }
};

// The batches that a step takes.
struct BatchForm {
  struct Input {
    std::string name, column;
    ValueType type;
    friend bool operator==(const Input&, const Input&) = default;
  };
  std::int64_t rows = 0;
  std::vector<Input> inputs;
  std::optional<ValueType> label = {};  // of the column `label_column`
  bool masked = false;                  // some rows may not count
  friend bool operator==(const BatchForm&, const BatchForm&) = default;
  std::string text() const;  // "image u8[64,224,224,3], label i32[64]"
};

struct Columns {
  std::vector<std::string> inputs;  // empty: image, or the only other one
  std::string label = data::kLabelColumn;
};
// An Error for data without batches, without these columns, or whose extents vary.
BatchForm form_of(const data::Dataset& dataset, const Columns& columns, bool with_label);

// By which the functions of a network go when they are called.
struct Forms {
  BatchForm training, evaluation, prediction;
};

nn::Network network_of(const PyNet& net, const PyLoss& loss, const Columns& columns,
                       std::shared_ptr<const Forms> forms);

// How encoded images become what the net takes: of a model its own; of another net with u8 images [N,S,S,3] the usual
// one. nullopt: it takes no such images.
std::optional<infer::EvaluationTransform> preprocessing_of(const PyNet& net, const BatchForm& form);

void bind_network(nb::module_& m);

}  // namespace ridgeline::python
