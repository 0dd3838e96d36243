// tests/compile/random_sequences.h
//
// The part of a random step that deals with products, parts and rows: what random_graph.cpp lends it, and what it adds.
// Borrows all of it for one call.
#pragma once

#include <functional>
#include <vector>

#include "ridgeline/graph/ir/builder.h"

namespace ridgeline::testing {

struct RandomSequences {
  GraphBuilder& builder;
  std::function<std::int64_t(std::int64_t)> below;  // a random number in [0, n)
  std::function<Value(const Shape&)> weight;
  std::function<Value(const Value&)> tamed;
  Value scalar;
  bool exact;  // whole numbers alone
  std::vector<Value>& values;
  std::vector<Value>& layers;  // of which a loss may be the sum
  std::vector<Value>& sums;    // scalars

  // Pixels as a sequence: by weights, or by each other; then perhaps a softmax.
  void add_product(const Value& x);
  // Channels side by side, or apart.
  void add_parts(const Value& x);
  // Of rows of classes, where there are any: a softmax, or a loss with labels of the first two.
  void add_classes(const Value& x);
  // A norm of samples, or rows of a table by labels.
  void add_rows(const Value& x);

 private:
  bool chance(int percent) { return below(100) < percent; }
};

}  // namespace ridgeline::testing
