#include <fmt/format.h>

#include <iterator>

#include "ridgeline/data/ir/nodes/entries.h"

namespace ridgeline::data {

std::int64_t at_least(const Node& node, const std::string& name, std::int64_t least) {
  const std::int64_t value = arg<std::int64_t>(node.args, name);
  if (value < least) throw Error(fmt::format("[{}] {} is {}, it must be at least {}", node.op, name, value, least));
  return value;
}

void not_empty(const Node& node, const std::string& name) {
  if (arg<std::string>(node.args, name).empty()) throw Error(fmt::format("[{}] {} is empty", node.op, name));
}

Schema same_schema(const Node&, const std::vector<Schema>& inputs) { return inputs[0]; }
std::int64_t same_size(const Node&, const std::vector<std::int64_t>& inputs) { return inputs[0]; }

ArgSpec seed_arg() {
  return {.name = "seed",
          .type = ArgType::integer,
          .doc = "seed of this node; -1: the graph's",
          .fallback = std::int64_t{-1}};
}

const std::vector<NodeEntry>& node_table() {
  static const std::vector<NodeEntry> table = [] {
    std::vector<NodeEntry> all;
    for (std::vector<NodeEntry> (*part)() :
         {source_entries, order_entries, sampler_entries, row_entries, batch_entries}) {
      std::vector<NodeEntry> entries = part();
      std::move(entries.begin(), entries.end(), std::back_inserter(all));
    }
    return all;
  }();
  return table;
}

}  // namespace ridgeline::data
