// ridgeline/graph/pass/follows_batch.h
//
// What of a step follows from the rows of its batch: what ranks have of their own, and what is there once for each part
// or micro-batch. One walk for all passes that divide or repeat a step.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

// What a node's results are.
enum class Follows : std::uint8_t {
  as_operands,  // of the batch where an operand is
  no,           // the same for every batch, as what an exchange gives to all
  yes,          // others for every batch, whatever the operands are
};

// By value. The inputs are of the batch, and so are the values `also`; `of` says what a node's results are, as its
// operands by default.
std::vector<bool> follows_batch(const Graph& graph, const std::function<Follows(const Node&)>& of = nullptr,
                                std::span<const ValueId> also = {});

// For `of`: what exchanges over this group give back is the same for every batch. Made for one walk.
std::function<Follows(const Node&)> unless_exchanged(std::string group);

}  // namespace ridgeline
