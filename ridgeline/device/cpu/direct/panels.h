// ridgeline/device/cpu/direct/panels.h
//
// Weights in panels of columns, as the product kernel reads them (products/products.h), and how work on them is
// distributed. Panels are packed a few at a time, so that the copy needs little memory whatever the size of the layer.
#pragma once

#include <algorithm>

#include "ridgeline/device/cpu/products/products.h"
#include "ridgeline/device/cpu/scratch.h"

namespace ridgeline::device::direct {

// Sums over this many products are formed in registers and then added: this is part of what defines these kernels'
// bits.
constexpr std::int64_t kDepthStep = 256;
// Positions of a row that form one piece of work.
constexpr std::int64_t kMostPositions = 96;

// c += a b, where b is a packed panel or begins within one.
inline void add_product(std::int64_t rows, std::int64_t columns, std::int64_t depth, const float* a, std::int64_t a_row,
                        std::int64_t a_step, const float* b, float* c, std::int64_t c_row) {
  const products::ProductCode& code = products::product_code();
  products::Ahead nothing;
  code.multiply({.rows = rows,
                 .columns = columns,
                 .depth = depth,
                 .depth_step = kDepthStep,
                 .a = a,
                 .a_row = a_row,
                 .a_step = a_step,
                 .b = b,
                 .b_step = code.panel,
                 .c = c,
                 .c_row = c_row,
                 .from = c,
                 .from_row = c_row},
                nothing);
}

// All panels of all groups: `columns` of a group, each `depth` long.
struct Panels {
  std::int64_t groups, columns, depth;
  std::int64_t width = products::product_code().panel;

  std::int64_t of_group() const { return (columns + width - 1) / width; }
  std::int64_t total() const { return groups * of_group(); }
  std::int64_t floats() const { return depth * width; }
  // The number of panels that are packed at once.
  std::int64_t batch() const {
    constexpr std::int64_t kMostFloats = std::int64_t{2} << 20;
    return std::clamp<std::int64_t>(kMostFloats / floats(), 1, total());
  }

  struct Panel {
    std::int64_t group;
    std::int64_t first;  // column of the group
    std::int64_t count;
  };
  Panel panel(std::int64_t index) const {
    const std::int64_t first = index % of_group() * width;
    return {index / of_group(), first, std::min(width, columns - first)};
  }
};

// Calls pack(panel, to) for each panel, then work(panel, packed, item, thread) for each of `items`, batch by batch.
template <class Pack, class Work>
void for_each_panel(const Panels& panels, std::int64_t items, float* packed, const Pack& pack, const Work& work) {
  for (std::int64_t begin = 0; begin < panels.total(); begin += panels.batch()) {
    const std::int64_t count = std::min(panels.batch(), panels.total() - begin);
    for_each_item(count, [&](std::int64_t i, int) { pack(panels.panel(begin + i), packed + i * panels.floats()); });
    for_each_item(count * items, [&](std::int64_t i, int thread) {
      const std::int64_t at = i / items;
      work(panels.panel(begin + at), packed + at * panels.floats(), i % items, thread);
    });
  }
}

}  // namespace ridgeline::device::direct
