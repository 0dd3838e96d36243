// ridgeline/infer/model.h
//
// A model that needs nothing else to run: a graph, the values of its params and states, and how images and classes are
// meant. A prediction takes `images` and returns `logits` and `probabilities`; a training step is any step with
// updates. Plain values; tensors are handles.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/compile/run/parameter_store.h"
#include "ridgeline/format/tensor/safetensors.h"
#include "ridgeline/graph/ir/graph.h"
#include "ridgeline/infer/preprocess.h"

namespace ridgeline::infer {

struct Model {
  std::string name;                                       // "resnet18"; only informs
  Graph graph;                                            // inlined or not; without the builder's lines in files
  std::vector<NamedTensor> tensors;                       // one for each param and state, logical shapes
  std::optional<EvaluationTransform> preprocessing = {};  // of encoded images; none: the caller gives tensors
  std::vector<std::string> class_names = {};              // by label, any bytes; may be empty
};

// What every function that takes a model relies on: each param and state of the graph has one tensor of its type, and
// no other tensor is there; a graph with preprocessing has an input `images` u8[N,crop,crop,3]. An Error says what
// differs.
void check(const Model& model);
// An Error that names tensors with values that nothing can be computed with (infer/unusable_values.h).
void check_values(const Model& model);

// The graph with what the store holds for its params and states now.
Model capture(const ParameterStore& store, Graph graph, std::string name);

// The same graph for another number of rows. Only for graphs whose inputs all have the same first extent, and whose ops
// work on every row by itself; an Error names the op that does not follow.
Graph with_batch_size(const Graph& graph, std::int64_t rows);
// The first extent of the inputs. An Error where they differ or there is none.
std::int64_t batch_size_of(const Graph& graph);

}  // namespace ridgeline::infer
