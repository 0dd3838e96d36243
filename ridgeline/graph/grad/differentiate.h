// ridgeline/graph/grad/differentiate.h
//
// Reverse-mode differentiation of a step graph, before anything rewrites it.
#pragma once

#include <span>
#include <vector>

#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

// Extends `graph` by the gradients of the scalar `loss`; returns d loss / d value for each of `with_respect_to`
// (kNoValue where the loss does not depend on it). Works on graphs without `call`.
// Gradient nodes are named "<forward name>/grad" (made unique), carry the forward op's location, and their values have
// kind grad. Only what a requested gradient needs is computed; several contributions are added in a fixed order: the
// last consumer's first. An Error names the op when the loss depends on a requested value through an op without a
// gradient.
std::vector<ValueId> differentiate(Graph& graph, ValueId loss, std::span<const ValueId> with_respect_to);

}  // namespace ridgeline
