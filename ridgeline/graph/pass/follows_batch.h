// ridgeline/graph/pass/follows_batch.h
//
// Which values of a step depend on the rows of its batch: those that each rank has of its own, or that each part or
// micro-batch has. Shared by all passes that divide or repeat a step.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

// Whether a node's results depend on the batch.
enum class Follows : std::uint8_t {
  as_operands,  // if an operand does
  no,           // the same for every batch, such as the result of an exchange
  yes,          // different for every batch, whatever the operands are
};

// By value. The inputs depend on the batch, and so do the values `also`; `of` says whether a node's results do, by
// default if its operands do.
std::vector<bool> follows_batch(const Graph& graph, const std::function<Follows(const Node&)>& of = nullptr,
                                std::span<const ValueId> also = {});

// For `of`: results of exchanges over this group are the same for every batch. Use one object for one walk.
std::function<Follows(const Node&)> unless_exchanged(std::string group);

}  // namespace ridgeline
