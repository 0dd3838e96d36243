// ridgeline/format/drawing/svg.h
//
// Drawings of graphs as SVG: boxes with text, from what comes first at the top to what comes of it at the bottom,
// arrows between them with labels beside them (layout.h places them). What the boxes say is decided by the graphs' own
// folders. Pure functions.
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

// A document of its own; panels stand side by side.
std::string to_svg(std::span<const Panel> panels);

}  // namespace ridgeline::drawing
