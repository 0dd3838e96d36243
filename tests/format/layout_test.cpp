// Layouts of drawings: nothing overlaps.
#include "ridgeline/format/drawing/layout.h"

#include <gtest/gtest.h>

#include "ridgeline/core/random.h"

namespace ridgeline::drawing {
namespace {

struct Rectangle {
  double left, top, right, bottom;
  bool meets(const Rectangle& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

TEST(DrawLayout, KeepsBoxesLabelsAndArrowsApart) {
  SampleRandom random(philox_key(3, "layout"), 0, 0);
  for (int trial = 0; trial < 60; ++trial) {
    std::vector<LayoutBox> boxes(static_cast<std::size_t>(random.integer(1, 14)));
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      boxes[i].width = static_cast<double>(random.integer(30, 300));
      boxes[i].height = static_cast<double>(random.integer(20, 90));
      boxes[i].label_width = static_cast<double>(random.integer(0, 250));
      boxes[i].label_height = static_cast<double>(random.integer(0, 60));
      for (std::size_t input = 0; input < i; ++input) {
        if (random.integer(0, 3) == 0) boxes[i].inputs.push_back(input);
      }
    }
    const Layout layout = place(boxes);
    std::vector<Rectangle> taken;
    for (const LayoutBox& b : layout.boxes) {
      taken.push_back({b.x, b.y, b.x + b.width, b.y + b.height});
      if (b.label_width > 0 && b.label_height > 0) {
        const double left = b.x + b.width / 2 + 1;
        taken.push_back({left, b.y + b.height, left + b.label_width, b.y + b.height + b.label_height});
      }
      EXPECT_GE(b.x, -1e-6);
      EXPECT_LE(b.x + b.width, layout.width + 1e-6);
      EXPECT_LE(b.y + b.height, layout.height + 1e-6);
    }
    for (std::size_t i = 0; i < taken.size(); ++i) {
      for (std::size_t j = i + 1; j < taken.size(); ++j) EXPECT_FALSE(taken[i].meets(taken[j])) << trial;
    }
    std::size_t arrows = 0;
    for (const LayoutBox& b : layout.boxes) arrows += b.inputs.size();
    EXPECT_EQ(layout.arrows.size(), arrows);
    for (const LayoutArrow& arrow : layout.arrows) {
      for (std::size_t k = 0; k + 1 < arrow.points.size(); k += 2) {  // the vertical segments; a line has no width
        const Rectangle run{arrow.points[k].x, arrow.points[k].y + 0.5, arrow.points[k].x, arrow.points[k + 1].y - 0.5};
        EXPECT_EQ(arrow.points[k].x, arrow.points[k + 1].x);
        for (const Rectangle& other : taken)
          EXPECT_FALSE(run.left > other.left && run.left < other.right && run.top < other.bottom &&
                       other.top < run.bottom)
              << trial;
      }
      EXPECT_LT(layout.boxes[arrow.from].y + layout.boxes[arrow.from].height, layout.boxes[arrow.to].y);
    }
  }
}

}  // namespace
}  // namespace ridgeline::drawing
