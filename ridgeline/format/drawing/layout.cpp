#include "ridgeline/format/drawing/layout.h"

#include <algorithm>
#include <numeric>

namespace ridgeline::drawing {
namespace {

constexpr double kSide = 28;     // between neighbours
constexpr double kBend = 36;     // height in which arrows bend
constexpr double kArrowGap = 4;  // between a label and its arrow
constexpr double kPassing = 16;  // width of the place of an arrow that passes

// A box, or the place of an arrow that passes a layer.
struct Item {
  std::size_t box = 0;
  bool real = true;
  std::size_t layer = 0;
  double left = 0, right = 0;             // room on both sides of its middle
  std::vector<std::size_t> above, below;  // items
  double middle = 0;
};

class Placer {
 public:
  explicit Placer(std::vector<LayoutBox> boxes) : boxes_(std::move(boxes)) {}

  Layout run() {
    make_items();
    for (int sweep = 0; sweep < 8; ++sweep) order(sweep % 2 == 0);
    settle_positions();
    return finish();
  }

 private:
  // A box is placed right above the highest of its readers.
  void make_items() {
    std::vector<std::size_t> rank(boxes_.size(), 0);  // layers below
    for (std::size_t i = boxes_.size(); i-- > 0;) {
      for (const std::size_t input : boxes_[i].inputs) rank[input] = std::max(rank[input], rank[i] + 1);
    }
    const std::size_t deepest = rank.empty() ? 0 : *std::max_element(rank.begin(), rank.end());
    layers_.resize(deepest + 1);
    for (std::size_t i = 0; i < boxes_.size(); ++i) {
      const double half = boxes_[i].width / 2;
      const double label = boxes_[i].label_width > 0 ? boxes_[i].label_width + kArrowGap : 0;
      add({.box = i, .layer = deepest - rank[i], .left = half, .right = std::max(half, label)});
    }
    for (std::size_t i = 0; i < boxes_.size(); ++i) {
      for (const std::size_t input : boxes_[i].inputs) {
        std::vector<std::size_t> route{input};
        for (std::size_t layer = items_[input].layer + 1; layer < items_[i].layer; ++layer)
          route.push_back(add({.box = i, .real = false, .layer = layer, .left = kPassing / 2, .right = kPassing / 2}));
        route.push_back(i);
        for (std::size_t k = 0; k + 1 < route.size(); ++k) {
          items_[route[k]].below.push_back(route[k + 1]);
          items_[route[k + 1]].above.push_back(route[k]);
        }
        routes_.push_back(std::move(route));
      }
    }
  }

  std::size_t add(Item item) {
    layers_[item.layer].push_back(items_.size());
    items_.push_back(std::move(item));
    return items_.size() - 1;
  }

  void order(bool downwards) {
    std::vector<double> position(items_.size());
    const auto number = [&](const std::vector<std::size_t>& layer) {
      for (std::size_t i = 0; i < layer.size(); ++i)
        position[layer[i]] = (static_cast<double>(i) + 0.5) / static_cast<double>(layer.size());
    };
    for (const auto& layer : layers_) number(layer);
    for (std::size_t k = 1; k < layers_.size(); ++k) {
      auto& layer = layers_[downwards ? k : layers_.size() - 1 - k];
      std::vector<std::pair<double, std::size_t>> keys;
      for (const std::size_t item : layer) {
        const auto& near = downwards ? items_[item].above : items_[item].below;
        double sum = 0;
        for (const std::size_t other : near) sum += position[other];
        keys.emplace_back(near.empty() ? position[item] : sum / static_cast<double>(near.size()), item);
      }
      std::stable_sort(keys.begin(), keys.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      for (std::size_t i = 0; i < layer.size(); ++i) layer[i] = keys[i].second;
      number(layer);
    }
  }

  // Pulls every item towards the middle of its neighbours, as far as the order allows.
  void settle_positions() {
    for (auto& layer : layers_) spread(layer);
    for (int round = 0; round < 120; ++round) {
      for (std::size_t k = 0; k < layers_.size(); ++k) {
        auto& layer = layers_[round % 2 == 0 ? k : layers_.size() - 1 - k];
        for (const std::size_t item : layer) {
          double sum = 0, count = 0;
          for (const auto* near : {&items_[item].above, &items_[item].below}) {
            for (const std::size_t other : *near) {
              sum += items_[other].middle;
              count += 1;
            }
          }
          if (count > 0) items_[item].middle = sum / count;
        }
        spread(layer);
      }
    }
  }

  // Keeps neighbours apart, and the layer at the average of its items' wanted positions.
  void spread(const std::vector<std::size_t>& layer) {
    double wanted = 0, got = 0;
    for (const std::size_t item : layer) wanted += items_[item].middle;
    for (std::size_t i = 1; i < layer.size(); ++i) {
      const Item& before = items_[layer[i - 1]];
      Item& item = items_[layer[i]];
      item.middle = std::max(item.middle, before.middle + before.right + kSide + item.left);
    }
    for (const std::size_t item : layer) got += items_[item].middle;
    const double shift = (wanted - got) / static_cast<double>(layer.size());
    for (const std::size_t item : layer) items_[item].middle += shift;
  }

  Layout finish() {
    double left = 0, right = 0;
    for (const Item& item : items_) {
      left = std::min(left, item.middle - item.left);
      right = std::max(right, item.middle + item.right);
    }
    // Of each layer: where boxes begin, and where labels end and arrows may bend.
    std::vector<double> top(layers_.size()), bend(layers_.size());
    double y = 0;
    for (std::size_t k = 0; k < layers_.size(); ++k) {
      double height = 0, below = 0;
      for (const std::size_t item : layers_[k]) {
        if (!items_[item].real) continue;
        LayoutBox& box = boxes_[items_[item].box];
        box.x = items_[item].middle - left - box.width / 2;
        box.y = y;
        height = std::max(height, box.height);
        below = std::max(below, box.height + box.label_height);
      }
      top[k] = y;
      bend[k] = y + std::max(height, below);
      y = bend[k] + kBend;
    }
    Layout layout{.width = right - left, .height = y - kBend, .boxes = {}, .arrows = {}};
    for (const auto& route : routes_) layout.arrows.push_back(arrow(route, left, top, bend));
    end_side_by_side(layout.arrows);
    layout.boxes = std::move(boxes_);
    return layout;
  }

  LayoutArrow arrow(const std::vector<std::size_t>& route, double left, const std::vector<double>& top,
                    const std::vector<double>& bend) const {
    LayoutArrow out{.from = route.front(), .to = route.back(), .points = {}};
    const LayoutBox& from = boxes_[route.front()];
    out.points.push_back({from.x + from.width / 2, from.y + from.height});
    out.points.push_back({from.x + from.width / 2, bend[items_[route.front()].layer]});
    for (std::size_t k = 1; k + 1 < route.size(); ++k) {
      const Item& passing = items_[route[k]];
      out.points.push_back({passing.middle - left, top[passing.layer]});
      out.points.push_back({passing.middle - left, bend[passing.layer]});
    }
    return out;
  }

  // Arrows into one box end side by side, in the order of their origins, so that they do not cross.
  void end_side_by_side(std::vector<LayoutArrow>& arrows) const {
    for (std::size_t box = 0; box < boxes_.size(); ++box) {
      std::vector<LayoutArrow*> into;
      for (LayoutArrow& arrow : arrows) {
        if (arrow.to == box) into.push_back(&arrow);
      }
      std::stable_sort(into.begin(), into.end(), [](const LayoutArrow* a, const LayoutArrow* b) {
        return a->points.back().x < b->points.back().x;
      });
      for (std::size_t i = 0; i < into.size(); ++i) {
        const double share = (static_cast<double>(i) + 0.5) / static_cast<double>(into.size());
        into[i]->points.push_back({boxes_[box].x + boxes_[box].width * share, boxes_[box].y});
      }
    }
  }

  std::vector<LayoutBox> boxes_;
  std::vector<Item> items_;  // the boxes first, by their index
  std::vector<std::vector<std::size_t>> layers_;
  std::vector<std::vector<std::size_t>> routes_;
};

}  // namespace

Layout place(std::vector<LayoutBox> boxes) { return Placer(std::move(boxes)).run(); }

}  // namespace ridgeline::drawing
