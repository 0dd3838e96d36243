// tests/compile/random_sequences.h
//
// The part of a random step with matrix products, slices and table rows. Borrows its inputs from random_graph.cpp for
// one call.
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
  bool exact;  // whole numbers only
  std::vector<Value>& values;
  std::vector<Value>& layers;  // values of which a loss may be the sum
  std::vector<Value>& sums;    // scalars

  // Pixels as a sequence: products with weights or with each other; then perhaps a softmax.
  void add_product(const Value& x);
  // Channels concatenated, or split.
  void add_parts(const Value& x);
  // For rows of classes, if there are any: a softmax, or a loss with the labels.
  void add_classes(const Value& x);
  // A norm of samples, or table rows selected by labels.
  void add_rows(const Value& x);

 private:
  bool chance(int percent) { return below(100) < percent; }
};

}  // namespace ridgeline::testing
