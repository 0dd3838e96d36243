// ridgeline/graph/op/collective.h
//
// Values that the ranks of a group exchange. A graph knows a group by its name and its size; who is in it is known to
// whoever runs the graph. all_reduce and the like are whole exchanges. Programs run them as pairs (the pass
// split_collectives): collective_start hands values over, collective_done waits for what comes of them, and what stands
// between the two runs meanwhile. The references know one rank: for a larger group they are an Error.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

enum class CollectiveKind : std::uint8_t {
  all_reduce,
  reduce,
  broadcast,
  all_gather,
  reduce_scatter,
  all_to_all,
  transfer
};

struct CollectiveRule {
  std::string_view name;  // of the op, and what the attribute "collective" of a start says
  CollectiveKind kind;
  bool combines;     // element by element over the ranks, by the attribute "reduction"
  bool has_root;     // the attribute "root" names the rank that sends or receives what the others do not
  bool between_two;  // only the ranks of the attributes "from" and "to" take part
  // True: any number of values, which lie side by side in memory; results replace them there. False: one value, whose
  // result has memory of its own.
  bool packed;
  bool alike;          // every rank gets the same result
  bool read_in_place;  // where packed is false: if the other ranks see the memory of x, they read x there
  int grows;           // the first extent of the result: 1: times the number of ranks, -1: divided by it, 0: as x
  std::string_view formula;
};

std::span<const CollectiveRule> collective_rules();
// The node starts an exchange, or is a whole one.
const CollectiveRule& collective_rule(const Node& node);

// all_reduce, reduce, broadcast, all_gather, reduce_scatter, all_to_all, transfer, collective_start, collective_done.
std::vector<OpDef> collective_ops();

// The attributes of the start and the done that stand for `node`, a whole exchange of `x`.
Attributes start_attributes(const Node& node);
Attributes done_attributes(std::span<const ValueType> results, std::int64_t ranks);

// Where packed values lie: each begins at a multiple of 64 bytes.
struct Packing {
  std::vector<std::size_t> offsets;  // bytes
  std::size_t bytes = 0;
};
Packing pack(std::span<const std::size_t> bytes);

}  // namespace ridgeline
