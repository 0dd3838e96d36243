// ridgeline/graph/pass/annotate.h
//
// Annotations as a user gives them with a model, by layer name: how the ranks divide the layer's ops
// (ir/annotations.h).
#pragma once

#include <string>
#include <vector>

#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

struct Annotation {
  std::string layer;  // an op's name, or a scope: the name in front of a "/" in the names of its ops
  Attribute value;
};

// Gives every forward op of the layers the annotation `name`; for `shard`, only the dense and conv2d ops of a scope. An
// Error (usage) for a layer that the step does not have, with the nearest name.
Graph annotate(Graph step, const std::string& name, const std::vector<Annotation>& annotations);

}  // namespace ridgeline
