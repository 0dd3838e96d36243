// ridgeline/data/ir/registry.h
//
// What a node or a transform is: one entry each, in the tables ir/nodes/table.cpp and transform/table.cpp. Validation,
// defaults, JSON, hashing, the reference page, the passes and the runs are driven by the entries, so that no code
// compares names; nothing registers itself.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

struct ArgSpec {
  std::string name;
  ArgType type;
  std::string doc;
  std::optional<Value> fallback = std::nullopt;  // absent: the argument is required
  std::vector<std::string> allowed = {};         // of a text argument; empty: any
  bool place = false;                            // a path to data: not part of the graph hash
  bool part = false;  // which rank reads, of as many as the argument before it says: part only of HashOf::part
  // Hashes of graphs are kept in checkpoints and must stay valid when an argument is added or its fallback changes:
  // hashes leave out a `newer` argument that has its fallback, and use `hashed_fallback` in place of the present
  // fallback.
  bool newer = false;
  bool code = false;  // a text, the name of user code (ir/registered_name.h): hashes leave out its number
  std::optional<Value> hashed_fallback = std::nullopt;
};
inline ArgSpec newer(ArgSpec spec) {
  spec.newer = true;
  return spec;
}
inline ArgSpec hashed_as(ArgSpec spec, Value fallback) {
  spec.hashed_fallback = std::move(fallback);
  return spec;
}

enum class NodeKind {
  source,   // no input, makes records
  order,    // one input; chooses and orders rows without reading them
  filter,   // one input; drops rows by their contents
  map,      // one input; transforms columns
  columns,  // one input; chooses or renames columns
  join,     // two inputs or more
  cache,    // one input; keeps its rows
  batch,    // one input; rows to batches
};

struct NodeEntry {
  std::string op;
  NodeKind kind;
  std::string doc;
  std::vector<ArgSpec> args;
  // Values that contradict each other or lie outside their range are Errors.
  std::function<void(const Node&)> check;
  // Output columns, from the columns of each input. Errors say what the node cannot take.
  std::function<Schema(const Node&, const std::vector<Schema>&)> schema;
  // Rows of one epoch, from those of its inputs; kForever and kUnknown are possible in and out. Sources ask their
  // handle.
  std::function<std::int64_t(const Node&, const std::vector<std::int64_t>&)> size;
  // Arguments that do not fit the rows of the inputs are Errors. Called only for a rank's own rows; the size rule is
  // also called for ranks with a row more or less, whose arguments may differ.
  std::function<void(const Node&, const std::vector<std::int64_t>&)> check_rows = nullptr;
  bool random = false;       // another order or other rows in every epoch: not below a cache
  bool repeats = false;      // rows may repeat within an epoch
  bool reads_label = false;  // chooses rows by their column label
  // Of sources: makes a node's handle. `whole`: a node with more of the columns, whose files it shares.
  std::shared_ptr<SourceHandle> (*handle)(const Node* whole) = nullptr;
  // Of sources that can give fewer columns: makes the node give only these, in the source's order.
  void (*choose_columns)(Node&, Texts wanted) = nullptr;
};

class Step;       // sample/step.h
class BatchStep;  // sample/batch_step.h

// A transform's role at the end of a chain: such transforms can be moved to the consumer or done in one pass.
enum class TailPart { none, flip, normalize, layout };

struct TransformEntry {
  std::string op;
  std::string doc;
  std::vector<ArgSpec> args;
  bool made_by_pass = false;    // no front end offers it; it appears in written graphs and can be read back
  bool needs_pixels = true;     // an encoded column must be decoded before
  bool any_value = false;       // takes pixels or other values: only the column image counts as encoded
  bool random = false;          // draws random numbers: not below a cache
  bool whole_batch = false;     // an operation of batch instead of map
  bool nests = false;           // contains other operations; works on samples or whole batches as they do
  bool fused_sequence = false;  // nests, and its own step runs them as one; the first decides the input and is
                                // named in errors
  bool costly = false;          // takes much longer than a lock, whatever the size of its value
  bool decodes = false;         // inserted before operations that need pixels; cannot be nested
  bool ends_in_resize = false;  // ends in a resize, and can pass on its rows one by one
  bool takes_rows = false;      // can take rows one by one (as the operation after one that ends in a resize)
  bool sequence = false;        // nests, and runs its operations in order: they can replace it
  bool adds_flip = false;       // makes the column kFlipColumn
  TailPart tail = TailPart::none;
  // If the transform refers to user code: the version of that code (code_version.h).
  std::uint64_t (*code_version)(const Args&) = nullptr;
  std::function<void(const Transform&)> check = nullptr;
  // Columns after transforming `columns` (those of the map; a batch operation has its own).
  std::function<Schema(const Transform&, Schema, const std::vector<std::string>& columns)> schema;
  // Makes the step that runs on a sample, or on a batch. Nesting operations may have both.
  std::function<std::unique_ptr<Step>(const Transform&, std::uint64_t seed)> step = nullptr;
  std::function<std::unique_ptr<BatchStep>(const Transform&, const Schema&, std::uint64_t seed)> batch_step = nullptr;
  // If only passes make this transform: the operations that it replaces, in their order, and how it is made from them.
  std::vector<std::string> fuses = {};
  Transform (*fuse)(std::span<const Transform> operations) = nullptr;
};

const std::vector<NodeEntry>& node_table();
const std::vector<TransformEntry>& transform_table();
// An unknown name is an Error with the nearest and all known ones.
const NodeEntry& node_entry(const std::string& op);
const TransformEntry& transform_entry(const std::string& op);
// The transform that decodes.
const TransformEntry& decoding_entry();

// A tuning parameter of a node: without it graphs run at another speed.
struct HintSpec {
  std::string name;
  NodeKind kind;  // of the nodes that may have it
  std::string doc;
  bool made_by_pass = false;  // no front end offers it; a pass sets it
};
const std::vector<HintSpec>& hint_table();
// An unknown name, a node of another kind, or a negative value is an Error.
void check_hint(const Node& node, const std::string& name, std::int64_t value);

// TransformEntry's flags of an operation; of a nesting one, those of the operations in it.
bool needs_pixels(const Transform& transform, const std::string& column);
bool is_random(const Transform& transform);
bool works_on_batches(const Transform& transform);
bool is_costly(const Transform& transform);

// The combined version of all user code that a node's operations refer to; 0 if there is none. Throws UnknownCode.
std::uint64_t code_version(const Node& node);

// Fills in defaults; unknown, missing and mistyped arguments and texts outside `allowed` are Errors "[op] ...".
void complete_args(const std::string& op, const std::vector<ArgSpec>& specs, Args& args);
// complete_args and the entry's check, for a node with all its operations.
void complete(Node& node);

std::string_view name_of(ArgType type);
// "an integer", for messages.
std::string name_with_article(ArgType type);
// The tables as a page of text: every op with its arguments, types, defaults and meaning.
std::string reference_page();

}  // namespace ridgeline::data
