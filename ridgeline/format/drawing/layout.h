// ridgeline/format/drawing/layout.h
//
// Places boxes in layers (after Sugiyama: layers, order within them by barycentres, then positions), in pixels with y
// downwards. Arrows that cross a layer get a place in it, so that they run between boxes.
#pragma once

#include <string>
#include <vector>

namespace ridgeline::drawing {

struct LayoutBox {
  double width = 0, height = 0;              // of the box
  double label_width = 0, label_height = 0;  // of the text under it, beside the arrow that leaves at its middle
  std::vector<std::size_t> inputs;           // boxes that it reads; all come before it
  double x = 0, y = 0;                       // result: upper left corner
};

struct LayoutPoint {
  double x = 0, y = 0;
};

struct LayoutArrow {
  std::size_t from = 0, to = 0;
  std::vector<LayoutPoint> points;  // the two ends of each vertical run; the arrow bends between runs
};

struct Layout {
  double width = 0, height = 0;
  std::vector<LayoutBox> boxes;
  std::vector<LayoutArrow> arrows;
};

// Boxes, labels and vertical runs of arrows do not overlap.
Layout place(std::vector<LayoutBox> boxes);

}  // namespace ridgeline::drawing
