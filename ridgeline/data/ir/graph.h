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

// Numbers of rows: endless, and unknown without looking at the rows (filter).
inline constexpr std::int64_t kForever = -1;
inline constexpr std::int64_t kUnknown = -2;

class SourceHandle;  // ir/source_handle.h: access to a source's data, shared by copies of the graph

// One operation of a map node (on samples) or of a batch node (on whole batches).
struct Transform {
  std::string op;    // an entry of the transform table
  Args args;         // complete after DataGraph::add, which fills in defaults
  std::string name;  // stable key of its random numbers; given by DataGraph::add when empty, kept by every pass
  std::vector<Transform> operations = {};  // of those that contain others (random_apply, compose, ...)
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
  // Identifies the call that made the node, so that joining two graphs recognises a node of both. Not compared, not
  // written.
  std::uint64_t origin = 0;
  // Of map nodes only. Not compared, not part of the hash; JSON shows their step sizes, but reading JSON makes none.
  std::vector<std::shared_ptr<DataCallback>> callbacks = {};
};
bool operator==(const Node& a, const Node& b);

struct DataGraph {
  std::uint64_t seed = 0;
  std::vector<Node> nodes;  // inputs come before their readers
  std::vector<std::string> outputs;

  // Appends a node: fills in defaults, checks the arguments, gives id and names, makes it the output. Returns its id.
  const std::string& add(Node node);
  // Adds the nodes of `other` that this graph does not have yet, under new ids and names if theirs are taken. It has a
  // node already if the same call made it (Node::origin) and neither the node nor anything below it was changed since;
  // callbacks of both are joined. Returns the new id of the other's output.
  std::string absorb(const DataGraph& other);
  const Node& node(const std::string& id) const;
  Node& node(const std::string& id);
  // The only output node. A graph without nodes is an Error.
  const Node& output() const;
  friend bool operator==(const DataGraph&, const DataGraph&) = default;
};

// Versioned flat JSON:
// {"schema":"data-graph","version":1,"seed":0,"nodes":[{"id","op","name","inputs","args","hints"}],"outputs":[...]}
// A node with callbacks also has "callback", their step sizes: checked, but otherwise ignored on reading. Operations
// are an entry "operations" of args, both in nodes and in operations that contain others: [{"op","name","args"}].
std::string to_json(const DataGraph& graph, int indent = -1);
// Unknown versions, ops, keys and values are Errors that name the nearest known one.
DataGraph graph_from_json(const std::string& text);

// What the samples depend on, except the seed: nodes, names and arguments, without hints and file system paths. Of a
// run, also without the rank's shard index: two runs with equal hash, seed and data give the same batches. Of a part
// (one rank's rows), with it: equal hash, seed and data give the same rows.
enum class HashOf { run, part };
std::uint64_t graph_hash(const DataGraph& graph, HashOf of = HashOf::run);

}  // namespace ridgeline::data
