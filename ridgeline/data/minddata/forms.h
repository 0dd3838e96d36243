// ridgeline/data/minddata/forms.h
//
// What MindData's nodes, samplers and operations are called and how their parameters correspond to ours, as tables:
// reader and writer of json.h know no names but these. A new operation is a line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ridgeline/data/ir/value.h"
#include "ridgeline/data/minddata/json.h"

namespace ridgeline::data {

// How a value of MindData's stands for one of ours.
enum class MindDataRule {
  same,
  real32,        // MindData holds a float: a value that is one is read as the shortest decimal that gives it
  times_255,     // a list of such; ours are shares of 255
  count,         // ours -1 (all) is 0 there; ours 0 has no form there
  count_or_all,  // -1 is all on both sides; ours 0 has no form there
  four_sides,    // one number for [left, top, right, bottom]
  colour,        // one value for [red, green, blue]
  filter,        // InterpolationMode as an integer
  dtype,         // "float32"
};

struct MindDataField {
  std::string key;  // MindData's; empty: MindData has none
  std::string arg;  // ours; empty: ours has none
  MindDataRule rule = MindDataRule::same;
  // Of a field that only one side has: the value that means the same as its absence. The only one that is accepted on
  // the side that has it, and what ours gets when it is read.
  std::optional<Value> only = std::nullopt;
  std::string reason = {};  // for the Error otherwise
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

// The keys num_parallel_workers and connector_queue_size: tuning of MindData's own, written with its defaults.
inline constexpr std::int64_t kMindDataWorkers = 8;
inline constexpr std::int64_t kMindDataQueue = 16;

// The name of the filter for an InterpolationMode, or "" (and back: -1).
std::string minddata_filter(std::int64_t mode, MindDataPixels pixels);
std::int64_t minddata_mode(const std::string& filter, MindDataPixels pixels);
// "float32" and f32; "" for what the other side has not.
std::string minddata_dtype(const std::string& dtype);
std::string dtype_of_minddata(const std::string& name);

// [v, v, v] as [v]: one value stands for all three.
Integers short_colour(Integers colour);

// What a float or double that MindData wrote stands for: the shortest decimal that gives the same float, if it is one.
double shortest_of_float(double value);
// The shortest decimal that times 255 gives `value` (as a float, if it is one), or value / 255.
double share_of_255(double value);

}  // namespace ridgeline::data
