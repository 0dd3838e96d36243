// ridgeline/data/draw/draw.h
//
// Drawings of data graphs, as text for terminals and as SVG for browsers. Pure functions; nothing runs. Arguments that
// have their defaults are left out, long lists are cut short.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

struct DrawOptions {
  // Whether sources may be opened, to find numbers of rows and columns that only files tell. False: these are left out.
  bool open_files = false;
};

// The output first, the inputs of a node indented one step further; a node with several readers is written once:
//   batch_2: batch(size=4) -> image u8[4,8,8,3], label i32[4], mask u8[4]
//     map_1: map -> image u8[8,8,3], label i32[]
//         resize(size=[8, 8])
//       image_folder_0: image_folder(dir="flowers") -> image bytes[], label i32[]
std::string to_text(const DataGraph& graph, const DrawOptions& options = {});

struct Drawing {
  std::string title;
  DataGraph graph;
  std::vector<std::string> notes = {};  // lines under the title
};

// A complete document: boxes from the sources at the top to the output at the bottom, columns on the arrows, operations
// in the box of their map. Several graphs are drawn side by side.
std::string to_svg(const DataGraph& graph, const std::string& title = "", const DrawOptions& options = {});
std::string to_svg(const std::vector<Drawing>& drawings, const DrawOptions& options = {});

}  // namespace ridgeline::data
