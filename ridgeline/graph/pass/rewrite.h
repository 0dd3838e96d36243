// ridgeline/graph/pass/rewrite.h
//
// What passes share: makers and readers of values, moving an op, names for new ops.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

using NameSet = std::set<std::string, std::less<>>;

// `base`, or base_1, base_2, ... if that is taken; added to `taken`.
std::string add_unique(NameSet& taken, const std::string& base);

// Passes that make copies of an op for the parts of a batch name them after it: "conv1/micro_2", "conv1/part2", and
// "conv1" for number 0.
inline constexpr std::string_view kMicroBatchCopy = "/micro_";
inline constexpr std::string_view kPartCopy = "/part";
std::string copy_name(const std::string& name, std::string_view of_what, std::int64_t number);
// The name of the op that `name` is such a copy of; `name` if it is none.
std::string_view copied_from(std::string_view name);

// Appends an op with one result, whose type follows from its operands: `result`, or a new value of that kind. The name
// is made unique.
ValueId append_node(Graph& graph, NameSet& taken, std::string_view op, std::vector<ValueId> inputs,
                    const Attributes& attributes, const std::string& name, ValueKind kind = ValueKind::activation,
                    ValueId result = kNoValue);

// Adds the lines of `from` that `node` does not have yet.
void add_locations(Node& node, const Node& from);

// Readers and makers of values, as they were at construction.
class ValueUses {
 public:
  explicit ValueUses(const Graph& graph);
  // Index of the node that makes the value; -1 of arguments.
  int producer(ValueId id) const { return producer_[static_cast<std::size_t>(id)]; }
  // By ops, updates and returns.
  int count(ValueId id) const { return uses_[static_cast<std::size_t>(id)]; }

 private:
  std::vector<int> producer_;
  std::vector<int> uses_;
};

// True if node `from` may run at the place of `to`, a later node: nobody between them reads its results or overwrites
// its operands.
bool may_run_later(const Graph& graph, int from, int to);

// True when an update among nodes `first` to `last` - 1 overwrites what `node` reads.
bool overwritten(const Graph& graph, const Node& node, int first, int last);

// Moves node `from` to index `to`.
void move_node(Graph& graph, int from, int to);

}  // namespace ridgeline
