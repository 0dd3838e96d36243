// ridgeline/graph/op/collective.h
//
// Exchanges of values between the ranks of a group. A graph knows a group by its name and size; whoever runs the graph
// knows its members. all_reduce and the others are whole exchanges. Programs run them as pairs (the pass
// split_collectives): collective_start begins the exchange, collective_done waits for its result, and the ops in
// between run meanwhile. The reference implementations know one rank: a larger group is an Error.
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
  std::string_view name;  // of the op, and the value of a start's attribute "collective"
  CollectiveKind kind;
  bool combines;     // reduces element by element over the ranks, by the attribute "reduction"
  bool has_root;     // the attribute "root" names the rank that sends to the others, or alone receives
  bool between_two;  // only the ranks of the attributes "from" and "to" take part
  // True: takes any number of values, packed into one buffer, and results replace them there. False: one value, whose
  // result has memory of its own.
  bool packed;
  bool alike;          // all ranks get the same result
  bool read_in_place;  // if not packed: ranks that can access the memory of x read x there
  int grows;           // the first extent of x is multiplied by the number of ranks (1), divided (-1), or kept (0)
  std::string_view formula;
};

std::span<const CollectiveRule> collective_rules();
// `node`: the start of an exchange, or a whole one.
const CollectiveRule& collective_rule(const Node& node);

// all_reduce, reduce, broadcast, all_gather, reduce_scatter, all_to_all, transfer, collective_start, collective_done.
std::vector<OpDef> collective_ops();

// The attributes of the start and the done that replace `node`, a whole exchange of `x`.
Attributes start_attributes(const Node& node);
Attributes done_attributes(std::span<const ValueType> results, std::int64_t ranks);

// Offsets of packed values: each begins at a multiple of 64 bytes.
struct Packing {
  std::vector<std::size_t> offsets;  // bytes
  std::size_t bytes = 0;
};
Packing pack(std::span<const std::size_t> bytes);

}  // namespace ridgeline
