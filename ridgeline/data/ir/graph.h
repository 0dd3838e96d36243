// ridgeline/data/ir/graph.h
//
// The data graph: nodes with typed arguments, in topological order. A value: copies are independent, passes work on
// copies, nothing in it runs. Front ends (C++, JSON, command line) only build it. One thread at a time may change it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/data/ir/callback.h"
#include "ridgeline/data/ir/column.h"
#include "ridgeline/data/ir/value.h"

namespace ridgeline::data {

// Numbers of rows: of what repeats without end, and of what cannot be told without looking at the rows (filter).
inline constexpr std::int64_t kForever = -1;
inline constexpr std::int64_t kUnknown = -2;

class SourceHandle;  // ir/source_handle.h: what lies behind a source node, shared by copies of the graph

// One operation of a map node (on samples) or of a batch node (on whole batches).
struct Transform {
  std::string op;    // an entry of the transform table
  Args args;         // complete after DataGraph::add: absent ones take their defaults
  std::string name;  // stable key of its random numbers; given by DataGraph::add when empty, kept by every pass
  std::vector<Transform> operations = {};  // of those that are made of others (random_apply, compose, ...)
};
bool operator==(const Transform& a, const Transform& b);

struct Node {
  std::string id;  // unique in the graph: "shuffle_1"
  std::string op;  // an entry of the node table
  std::vector<std::string> inputs;
  Args args;
  std::vector<Transform> operations;  // map and batch only
  std::string name;                   // as Transform::name
  // Tuning: workers, memory_limit. Can change speed, never results; not part of the graph hash.
  std::map<std::string, std::int64_t> hints;
  std::shared_ptr<SourceHandle> source;  // sources only; not compared, not written
  // Which call made the node: graphs that are joined know a node that both hold. Not compared, not written.
  std::uint64_t origin = 0;
  // Of map nodes only. Not compared, not part of the hash; JSON shows their step sizes, reading makes none.
  std::vector<std::shared_ptr<DataCallback>> callbacks = {};
};
bool operator==(const Node& a, const Node& b);

struct DataGraph {
  std::uint64_t seed = 0;
  std::vector<Node> nodes;  // inputs come before their readers
  std::vector<std::string> outputs;

  // Appends a node: fills in defaults, checks the arguments, gives id and names, makes it the output. Returns its id.
  const std::string& add(Node node);
  // Takes over the nodes of `other` that this graph does not hold yet, under new ids and names where theirs are taken.
  // A node is held already if the same call made it (Node::origin) and neither it nor what lies below was changed
  // since; its callbacks are joined. Returns the id of its output here.
  std::string absorb(const DataGraph& other);
  const Node& node(const std::string& id) const;
  Node& node(const std::string& id);
  // The single output node. A graph without nodes is an Error.
  const Node& output() const;
  friend bool operator==(const DataGraph&, const DataGraph&) = default;
};

// Versioned flat JSON:
// {"schema":"data-graph","version":1,"seed":0,"nodes":[{"id","op","name","inputs","args","hints"}],"outputs":[...]}
// A node with callbacks also has "callback", their step sizes: checked, but not made into anything on reading.
// Operations are an entry "operations" of args, in nodes as in operations that hold others: [{"op","name","args"}].
std::string to_json(const DataGraph& graph, int indent = -1);
// Unknown versions, ops, keys and values are Errors that name the nearest known one.
DataGraph graph_from_json(const std::string& text);

// What the samples depend on, apart from the seed: nodes, names and arguments without hints and without places in the
// file system. Of a run, also without the rank's shard index: two runs with equal hash, seed and data give the same
// batches. Of a part, with it: equal hash, seed and data give the same rows.
enum class HashOf { run, part };
std::uint64_t graph_hash(const DataGraph& graph, HashOf of = HashOf::run);

}  // namespace ridgeline::data
