// ridgeline/data/minddata/forms.h
//
// Tables of the names of MindData's nodes, samplers and operations, and of how their parameters correspond to ours: the
// reader and writer of json.h know only these names. A new operation is one line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ridgeline/data/ir/value.h"
#include "ridgeline/data/minddata/json.h"

namespace ridgeline::data {

// How one of MindData's values corresponds to ours.
enum class MindDataRule {
  same,
  real32,        // MindData stores a float: it is read as the shortest decimal that gives that float
  times_255,     // a list of such; ours are fractions of 255
  count,         // our -1 (all) is 0 there; our 0 cannot be written
  count_or_all,  // -1 is all on both sides; our 0 cannot be written
  four_sides,    // one number for [left, top, right, bottom]
  colour,        // one value for [red, green, blue]
  filter,        // InterpolationMode as an integer
  dtype,         // "float32"
};

struct MindDataField {
  std::string key;  // MindData's; empty: MindData has none
  std::string arg;  // ours; empty: ours has none
  MindDataRule rule = MindDataRule::same;
  // Of a field that only one side has: the value that means the same as its absence. It is the only one accepted on the
  // side that has the field, and what ours gets on reading.
  std::optional<Value> only = std::nullopt;
  std::string reason = {};  // of the Error for other values
  bool optional = false;    // key that some releases do not write: read if it is there
  bool written = true;      // whether this engine writes an optional key
};

struct MindDataForm {
  std::string name;  // op_type, sampler_name or tensor_op_name
  std::string op;    // ours
  std::vector<MindDataField> fields;
};

const std::vector<MindDataForm>& minddata_nodes();       // of one input
const std::vector<std::string>& minddata_sources();      // by name: the reader and the writer know their keys
const std::vector<MindDataForm>& minddata_samplers();    // fields without sampler_name and child_sampler
const std::vector<MindDataForm>& minddata_operations();  // fields of tensor_op_params

// Why MindData's or our node of that name has no counterpart; "" for an unknown name.
std::string minddata_refusal(const std::string& op_type);
std::string refusal_of_ours(const std::string& op);

// The files of Cifar10Dataset in MindData's order for usage train, test or all; empty for another usage.
std::vector<std::string> cifar10_files(const std::string& dir, const std::string& usage);

// The keys num_parallel_workers and connector_queue_size: MindData's own tuning, written with its defaults.
inline constexpr std::int64_t kMindDataWorkers = 8;
inline constexpr std::int64_t kMindDataQueue = 16;

// The name of the filter for an InterpolationMode, or "" (and back: -1).
std::string minddata_filter(std::int64_t mode, MindDataPixels pixels);
std::int64_t minddata_mode(const std::string& filter, MindDataPixels pixels);
// Converts between "float32" and f32; "" if the other side has no such type.
std::string minddata_dtype(const std::string& dtype);
std::string dtype_of_minddata(const std::string& name);

// Shortens [v, v, v] to [v].
Integers short_colour(Integers colour);

// The number meant by a float or double that MindData wrote: the shortest decimal that gives the same float, if it is
// one.
double shortest_of_float(double value);
// The shortest decimal that, times 255, gives `value` (as a float, if it is one), else value / 255.
double share_of_255(double value);

}  // namespace ridgeline::data
