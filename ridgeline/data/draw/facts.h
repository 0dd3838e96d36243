// ridgeline/data/draw/facts.h
//
// What drawings of a graph say about its nodes.
#pragma once

#include <map>
#include <optional>

#include "ridgeline/data/draw/draw.h"

namespace ridgeline::data {

struct NodeFacts {
  std::vector<std::string> arguments;   // "size=4"; of a map: its columns, unless they are the usual ones
  std::vector<std::string> operations;  // "resize(size=[8, 8])", "> of an operation that holds others"
  std::vector<std::string> extras;      // hints, callbacks
  std::optional<Schema> schema;         // absent: only known from files
  std::string rows;                     // "10 rows", "3 batches", "endless"; empty: not known
};

// By id.
std::map<std::string, NodeFacts> facts_of(const DataGraph& graph, const DrawOptions& options);

}  // namespace ridgeline::data
