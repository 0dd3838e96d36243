// ridgeline/format/drawing/svg.h
//
// Drawings of graphs as SVG: boxes with text, inputs at the top and results at the bottom, with labelled arrows between
// them (layout.h places them). What the boxes say is decided by the graphs' own folders. Pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace ridgeline::drawing {

struct Card {
  std::string heading;
  std::string corner;              // in grey, at the right of the heading
  std::vector<std::string> lines;  // under it; long ones are broken
  std::vector<std::string> label;  // beside the arrow that leaves the box
  std::string colour = "#ffffff";
  std::vector<std::size_t> inputs;  // cards that it reads; all come before it
  bool leaves = false;              // an arrow leads out of the drawing
};

struct Panel {
  std::string title;
  std::vector<std::string> notes;  // lines under the title
  std::vector<Card> cards;
};

// A complete document; panels are side by side.
std::string to_svg(std::span<const Panel> panels);

}  // namespace ridgeline::drawing
