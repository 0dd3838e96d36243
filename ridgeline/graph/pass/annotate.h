// ridgeline/graph/pass/annotate.h
//
// Annotations by name, as a user gives them beside a model: what ranks make of a layer's ops (ir/annotations.h).
#pragma once

#include <string>
#include <vector>

#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

struct Annotation {
  std::string layer;  // an op's name, or a scope: the name in front of a "/" in the names of its ops
  Attribute value;
};

// Every forward op of the layers gets the annotation `name`; of a scope, for `shard`, its dense and conv2d ops alone.
// An Error (usage) for a layer that the step does not have, with the nearest name.
Graph annotate(Graph step, const std::string& name, const std::vector<Annotation>& annotations);

}  // namespace ridgeline
