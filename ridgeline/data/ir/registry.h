// ridgeline/data/ir/registry.h
//
// What a node or a transform is: one entry each, in the tables ir/nodes/table.cpp and transform/table.cpp. Validation,
// defaults, JSON, hashing, the reference page, the passes and the runs are driven by the entries, so that nobody
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
  bool place = false;                            // where data lies: not part of the graph hash
  bool part = false;  // which rank reads, of as many as the argument in front says: in the hash of its rows alone
  // Hashes of graphs are kept in checkpoints, which stay good when an argument comes later or its fallback is changed:
  // hashes leave out the fallback of one that is `newer`, and have `hashed_fallback` in the place of today's.
  bool newer = false;
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
  order,    // one input; chooses and arranges rows, looks at none
  filter,   // one input; leaves rows out by what is in them
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
  // Columns it gives for the columns it gets, one schema an input. Errors say what the node cannot take.
  std::function<Schema(const Node&, const std::vector<Schema>&)> schema;
  // Rows of one epoch for the rows of its inputs; kForever and kUnknown in and out. Sources ask their handle.
  std::function<std::int64_t(const Node&, const std::vector<std::int64_t>&)> size;
  // Arguments that do not go with the rows of the inputs are Errors. Asked of a rank's own rows only: the size rule is
  // also asked about ranks with a row more or less, for which the arguments may be others.
  std::function<void(const Node&, const std::vector<std::int64_t>&)> check_rows = nullptr;
  bool random = false;       // another order or other rows in every epoch: not below a cache
  bool repeats = false;      // rows come again within an epoch
  bool reads_label = false;  // chooses by the column label of what is below
  // Of sources: what will lie behind a node. `whole`: a node that gives more of the columns, whose files it reads.
  std::shared_ptr<SourceHandle> (*handle)(const Node* whole) = nullptr;
  // Of sources that can give fewer of their columns: makes the node give these, in its own order.
  void (*choose_columns)(Node&, Texts wanted) = nullptr;
};

class Step;       // sample/step.h
class BatchStep;  // sample/batch_step.h

// What a transform is at the end of a chain: parts that may be cut off the samples and be done in one pass, or by the
// consumer.
enum class TailPart { none, flip, normalize, layout };

struct TransformEntry {
  std::string op;
  std::string doc;
  std::vector<ArgSpec> args;
  bool made_by_pass = false;    // no front end offers it; it appears in dumps and may be read back
  bool needs_pixels = true;     // an encoded column must be decoded before
  bool any_value = false;       // pixels or others: only the column image is taken for an encoded one
  bool random = false;          // draws random numbers: not below a cache
  bool whole_batch = false;     // an operation of batch instead of map
  bool nests = false;           // made of other operations, and of samples or of whole batches as these are
  bool fused_sequence = false;  // nests, and a step of its own runs them as one; the first decides what it takes and is
                                // named in errors
  bool costly = false;          // takes much longer than a lock, whatever the size of its value
  bool decodes = false;         // written down before what needs pixels; nothing holds it
  bool ends_in_resize = false;  // and can hand over its rows one by one
  bool takes_rows = false;      // can take them (the operation after one that ends in a resize)
  bool sequence = false;        // nests, and runs what it holds in order: may be replaced by it
  bool adds_flip = false;       // makes the column kFlipColumn
  TailPart tail = TailPart::none;
  // If the transform names code of the user's own: the version of that code (code_version.h).
  std::uint64_t (*code_version)(const Args&) = nullptr;
  std::function<void(const Transform&)> check = nullptr;
  // Columns after the transform of `columns` (those that the map names; a batch operation names its own).
  std::function<Schema(const Transform&, Schema, const std::vector<std::string>& columns)> schema;
  // How it runs: what it does to a sample, or to a batch. What nests may have both.
  std::function<std::unique_ptr<Step>(const Transform&, std::uint64_t seed)> step = nullptr;
  std::function<std::unique_ptr<BatchStep>(const Transform&, const Schema&, std::uint64_t seed)> batch_step = nullptr;
  // If only passes make this transform: the operations that it stands for, in their order, and how it is made of them.
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

// What tunes a node: graphs run without, at another speed.
struct HintSpec {
  std::string name;
  NodeKind kind;  // of the nodes that may have it
  std::string doc;
  bool made_by_pass = false;  // no front end offers it; a pass writes it anew
};
const std::vector<HintSpec>& hint_table();
// An unknown name, a node of another kind, or a negative value is an Error.
void check_hint(const Node& node, const std::string& name, std::int64_t value);

// TransformEntry's flags of an operation, looked up in what it is made of where it nests.
bool needs_pixels(const Transform& transform, const std::string& column);
bool is_random(const Transform& transform);
bool works_on_batches(const Transform& transform);
bool is_costly(const Transform& transform);

// Of all code that the operations of a node name, 0 where they name none. Throws UnknownCode.
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
