// ridgeline/infer/model.h
//
// A self-contained model: a graph, the values of its params and states, its preprocessing and the names of its classes.
// A prediction takes `images` and returns `logits` and `probabilities`; a training step is any step with updates. Plain
// values; tensors are handles.
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
  Graph graph;                                            // inlined or not; files do not keep the builder's lines
  std::vector<NamedTensor> tensors;                       // one for each param and state, logical shapes
  std::optional<EvaluationTransform> preprocessing = {};  // of encoded images; none: the caller gives tensors
  std::vector<std::string> class_names = {};              // by label, any bytes; may be empty
};

// The condition for every function that takes a model: each param and state of the graph has one tensor of its type,
// and there are no other tensors; a graph with preprocessing has an input `images` u8[N,crop,crop,3]. An Error says
// what differs.
void check(const Model& model);
// An Error that names tensors with unusable values (infer/unusable_values.h).
void check_values(const Model& model);

// The graph with the store's present values of its params and states.
Model capture(const ParameterStore& store, Graph graph, std::string name);

// The same graph for another number of rows. Only for graphs whose inputs all have the same first extent, and whose ops
// work on every row separately; an Error names the op that cannot.
Graph with_batch_size(const Graph& graph, std::int64_t rows);
// The first extent of the inputs. An Error if they differ or there are none.
std::int64_t batch_size_of(const Graph& graph);

}  // namespace ridgeline::infer
