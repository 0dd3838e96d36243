// ridgeline/data/minddata/json.h
//
// MindData's serialised dataset trees (MindSpore, ccsrc/minddata/dataset/engine/serdes.cc), read and written. A node is
// an object of its arguments, "op_type" and "children"; samplers are inside their source, operations inside their map:
//
//   {"children":[{"callback":[],"children":[...],"input_columns":["image"],"op_type":"Map","operations":[
//     {"tensor_op_name":"Decode","tensor_op_params":{"rgb":true}}],...}],"count":2,"op_type":"Repeat"}
//
// A written tree gives the same samples when it is read back: writing checks that. What the other side cannot express
// is an Error with the reason. Not part of a tree on either side: the graph's seed (MindData sets it in the process;
// seeds of single nodes are refused where MindData has none), hints, and what callbacks do (their step sizes are
// written, as MindData does, and ignored on reading).
//
// The graph and its rules are the same, the random numbers are not: MindData draws from Mersenne twisters, this engine
// from (seed, epoch, row). Types also differ: labels are i32 here (in MindData as in the source), OneHot gives f32.
#pragma once

#include <string>

#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

// MindData's Resize and crops resample by OpenCV's rule (LINEAR, NEAREST, CUBIC, AREA) or by Pillow's (PILCUBIC).
enum class MindDataPixels {
  exact,   // the filters with the same rule: PILCUBIC is bicubic, LINEAR is opencv_linear, ...; others are Errors
  pillow,  // also Pillow's filter in place of OpenCV's: LINEAR is bilinear, NEAREST nearest, CUBIC bicubic, AREA box
};

enum class MindDataRelease {
  current,
  r1_3,  // nodes without connector_queue_size, ImageFolder without recursive: the format of slides and files of 2021
};

struct MindDataOptions {
  MindDataPixels pixels = MindDataPixels::exact;
  MindDataRelease release = MindDataRelease::current;  // that is written; both are read
};

// The tree of a graph that ends in one node and in which nothing is read twice. `indent` -1: one line. Keys are sorted.
// Decode is written where it is implicit here. Opens files if it needs them: idx files for their extents, class folders
// to see that none holds folders of images (MindData reads files right in a class folder only).
std::string to_minddata_json(const DataGraph& graph, int indent = -1, const MindDataOptions& options = {});

// Whether a text is such a tree: its nodes have the key "op_type". False for text that is not JSON.
bool is_minddata_json(const std::string& text);

// An unknown op_type, sampler_name, tensor_op_name or key is an Error with the nearest known one; a missing key is
// "Failed to find <key>". Opens no files. Also takes what AutoTune writes, the tree under "tree".
DataGraph from_minddata_json(const std::string& text, const MindDataOptions& options = {});

}  // namespace ridgeline::data
