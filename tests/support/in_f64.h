// tests/support/in_f64.h
//
// A graph in f64, for tests that tell rounding from mistakes.
#pragma once

#include <string>

#include "ridgeline/core/dtype.h"
#include "ridgeline/graph/ir/graph.h"

namespace ridgeline::testing {

// The graph with f64 wherever it has f32.
inline Graph in_f64(Graph graph) {
  for (ValueInfo& info : graph.values) {
    if (info.type.dtype == DType::f32) info.type.dtype = DType::f64;
  }
  for (Node& node : graph.nodes) {
    Attributes widened = node.attributes;
    for (const auto& [name, value] : node.attributes) {
      if (value == Attribute(DType::f32)) widened.set(name, DType::f64);
    }
    node.attributes = widened;
  }
  for (auto& [name, function] : graph.functions) function = in_f64(function);
  return graph;
}

}  // namespace ridgeline::testing
