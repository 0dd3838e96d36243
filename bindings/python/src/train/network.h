// bindings/python/src/train/network.h
//
// The nn::Network of a Python model: a built-in model or a Python function of layers, and a loss, for batches whose
// format is taken from the data. Functions that build graphs take the GIL themselves; Python exceptions pass through
// C++ unchanged.
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

// Computes the outputs of a batch from its inputs: a built-in model, or a Python function of Values.
struct PyNet {
  std::string name;
  const nn::ModelInfo* model = nullptr;
  nn::ModelOptions options = {};  // of the model, complete
  std::int64_t image_size = 0;    // likewise
  std::shared_ptr<Held> function;
};

// Computes the loss from outputs and labels: softmax cross-entropy, or a Python function of two Values that returns
// f32[N], one loss per row, or f32[].
struct PyLoss {
  std::optional<double> label_smoothing;
  std::shared_ptr<Held> function;
  bool given() const { return label_smoothing.has_value() || function != nullptr; }
};

// The format of the batches of a step.
struct BatchForm {
  struct Input {
    std::string name, column;
    ValueType type;
    friend bool operator==(const Input&, const Input&) = default;
  };
  std::int64_t rows = 0;
  std::vector<Input> inputs;
  std::optional<ValueType> label = {};  // of the column `label_column`
  bool masked = false;                  // some rows may be masked
  friend bool operator==(const BatchForm&, const BatchForm&) = default;
  std::string text() const;  // "image u8[64,224,224,3], label i32[64]"
};

struct Columns {
  std::vector<std::string> inputs;  // empty: image, or the only other column
  std::string label = data::kLabelColumn;
};
// An Error for data without batches or without these columns, or with extents that vary.
BatchForm form_of(const data::Dataset& dataset, const Columns& columns, bool with_label);

// Read by the functions of a network when they are called.
struct Forms {
  BatchForm training, evaluation, prediction;
};

nn::Network network_of(const PyNet& net, const PyLoss& loss, const Columns& columns,
                       std::shared_ptr<const Forms> forms);

// The preprocessing of encoded images for the net: that of a built-in model; for another net with u8 images [N,S,S,3]
// the usual one. nullopt: the net takes no images.
std::optional<infer::EvaluationTransform> preprocessing_of(const PyNet& net, const BatchForm& form);

void bind_network(nb::module_& m);

}  // namespace ridgeline::python
