#include "ridgeline/device/cpu/winograd/correlation.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/team_shares.h"

namespace ridgeline::device::winograd {
namespace {

// Pieces of memory that a product prefetches beside its next operands: pixels of three tiles.
constexpr std::size_t kMostSoon = 3 * kMostPixels;

}  // namespace

std::int64_t wanted_tiles(const WeightsForm& weights) {
  constexpr std::int64_t kTiles = 48;  // measured: 24 to 192 differ by a few percent
  constexpr std::int64_t kNearFloats = std::int64_t{6} << 20;
  return weights.floats() > kNearFloats ? 2 * kTiles : kTiles;
}

bool panel_by_panel(Rule rule, std::int64_t tiles, std::int64_t channels) {
  constexpr std::int64_t kSecondCache = 400'000;  // floats
  return rule.positions() * tiles * channels <= kSecondCache;
}

template <class Pixel>
CorrelationCode<Pixel>::CorrelationCode(const Convolution& convolution, const Region& region, Pass pass,
                                        Scratch& scratch)
    : CorrelationCode(convolution, region, pass, 0, scratch) {}

template <class Pixel>
CorrelationCode<Pixel>::CorrelationCode(const Convolution& convolution, const Region& region, Pass pass,
                                        std::int64_t tiles, Scratch& scratch)
    : shape_(convolution.correlation(pass)),
      rule_(region.rule),
      tiles_(shape_, region),
      reader_(convolution, region, pass, compute_threads(), scratch),
      weights_{rule_, shape_.in.channels, shape_.out.channels},
      transforms_(transforms<Pixel>(rule_)),
      code_(products::product_code()),
      panel_(panel_width()) {
  const std::int64_t threads = compute_threads();
  if (tiles == 0) {
    choose_blocks(threads);
  } else {
    block_tiles_ = tiles;
    block_panels_ = weights_.panels();
  }
  group_panels_ = panel_by_panel(rule_, block_tiles_, shape_.in.channels) ? 1 : block_panels_;
  v_row_ = round_up(shape_.in.channels, lanes());
  v_distance_ = stream_distance(block_tiles_ * v_row_);
  m_panel_ = block_tiles_ * panel_;
  m_distance_ = stream_distance(group_panels_ * m_panel_);
  sink_ = scratch.reserve(threads * round_up(shape_.out.channels, kLineFloats));
  v_ = scratch.reserve(threads * rule_.positions() * v_distance_);
  m_ = scratch.reserve(threads * rule_.positions() * m_distance_);
}

// An equal number of blocks for each thread. Where there are too few tiles for that, threads share tiles and divide the
// panels.
template <class Pixel>
void CorrelationCode<Pixel>::choose_blocks(std::int64_t threads) {
  const std::int64_t wanted = wanted_tiles(weights_);
  const std::int64_t total = tiles_.total();
  if (threads > kSmallTeam) return divide(threads, wanted);
  std::int64_t tile_blocks = (total + wanted - 1) / wanted;
  std::int64_t panel_blocks = 1;
  const std::int64_t equal = round_up(tile_blocks, threads);
  if (total / equal >= wanted / 2) {
    if (tile_blocks < 8 * threads) tile_blocks = equal;
  } else {
    panel_blocks = std::min(weights_.panels(), (threads + tile_blocks - 1) / tile_blocks);
    tile_blocks = std::min(std::max(tile_blocks, (threads + panel_blocks - 1) / panel_blocks), total);
  }
  block_tiles_ = (total + tile_blocks - 1) / tile_blocks;
  block_panels_ = (weights_.panels() + panel_blocks - 1) / panel_blocks;
}

// For a large team: blocks of tiles and of panels so that no thread waits long for another. Costs are in multiply-adds
// of a position; values that are transformed and weights that are fetched cost as much as some of them.
template <class Pixel>
void CorrelationCode<Pixel>::divide(std::int64_t threads, std::int64_t wanted) {
  constexpr double kTransform = 16, kFetch = 8;
  constexpr std::int64_t kFewestTiles = 12;
  const std::int64_t total = tiles_.total(), panels = weights_.panels();
  const auto in = static_cast<double>(shape_.in.channels);
  double least = std::numeric_limits<double>::max();
  for (std::int64_t tiles = std::min(wanted, total); tiles >= std::min(kFewestTiles, total); --tiles) {
    for (std::int64_t of_item = panels; of_item >= 1; --of_item) {
      const std::int64_t items = (total + tiles - 1) / tiles * ((panels + of_item - 1) / of_item);
      const auto out = static_cast<double>(std::min(of_item * panel_, shape_.out.channels));
      const double item = static_cast<double>(tiles) * (in * out + kTransform * (in + out)) + kFetch * in * out;
      const double cost = team_rounds(items, threads) * item;
      if (cost >= least) continue;
      least = cost;
      block_tiles_ = tiles, block_panels_ = of_item;
    }
  }
}

template <class Pixel>
void CorrelationCode<Pixel>::run(const Pixel* in, const float* weights, Pixel* out, const Ending<Pixel>& ending,
                                 float* scratch) const {
  const std::int64_t tile_blocks = (tiles_.total() + block_tiles_ - 1) / block_tiles_;
  const std::int64_t panel_blocks = (weights_.panels() + block_panels_ - 1) / block_panels_;
  reader_.prepare(scratch);
  for_each_item(tile_blocks * panel_blocks, [&](std::int64_t i, int thread) {
    Item item{i / panel_blocks * block_tiles_, block_tiles_, i % panel_blocks * block_panels_, block_panels_};
    item.tiles = std::min(item.tiles, tiles_.total() - item.first_tile);
    item.panels = std::min(item.panels, weights_.panels() - item.first_panel);
    float *const v = v_of(thread, scratch), *const m = m_of(thread, scratch);
    read_tiles(item, thread, in, scratch, v);
    const std::int64_t end = item.first_panel + item.panels;
    for (; item.first_panel < end; item.first_panel += group_panels_) {
      item.panels = std::min(group_panels_, end - item.first_panel);
      multiply_tiles(item, v, weights, ending.gate, m);
      write_tiles(item, thread, m, {out + item.first_panel * panel_, shape_.out.channels, 0}, ending, scratch);
    }
  });
}

template <class Pixel>
void CorrelationCode<Pixel>::read_tiles(const Item& item, int thread, const Pixel* in, float* scratch, float* v) const {
  const Pixel* pixels[kMostPixels];
  for (std::int64_t t = 0; t < item.tiles; ++t) {
    reader_.read(item.first_tile + t, thread, in, scratch, pixels);
    transforms_->input(pixels, shape_.in.channels, {v + t * v_row_, v_distance_, panel_}, nullptr);
  }
}

template <class Pixel>
void CorrelationCode<Pixel>::multiply_tiles(const Item& item, const float* v, const float* weights, const Pixel* soon,
                                            float* m) const {
  const std::int64_t total = rule_.positions() * item.panels;
  const std::int64_t distance = weights_.distance(), panel_floats = weights_.panel_floats();
  std::array<products::Lines, 3 + kMostSoon> next;
  for (std::int64_t position = 0; position < rule_.positions(); ++position) {
    for (std::int64_t panel = 0; panel < item.panels; ++panel) {
      const std::int64_t q = item.first_panel + panel;
      products::Product product{};
      product.rows = item.tiles;
      product.columns = std::min(panel_, shape_.out.channels - q * panel_);
      product.depth = product.depth_step = shape_.in.channels;
      product.a = v + position * v_distance_;
      product.a_row = v_row_;
      product.a_step = 1;
      product.b = weights + position * distance + q * panel_floats;
      product.c = m + position * m_distance_ + panel * m_panel_;
      product.b_step = product.c_row = panel_;
      // Meanwhile the next panel, the lines of its results, a share of the next position's tiles and the operands of
      // their epilogue are prefetched.
      std::fill_n(next.begin(), 3, products::Lines{});
      const bool last_panel = panel + 1 == item.panels;
      const bool last_position = position + 1 == rule_.positions();
      if (!last_panel || !last_position) {
        const std::int64_t next_position = position + (last_panel ? 1 : 0), next_panel = last_panel ? 0 : panel + 1;
        next[0] = products::lines_of(
            weights + next_position * distance + (item.first_panel + next_panel) * panel_floats, panel_floats);
        next[1] = products::lines_of(m + next_position * m_distance_ + next_panel * m_panel_, item.tiles * panel_);
      }
      if (!last_position) {
        const std::int64_t share = round_up((item.tiles * v_row_ + item.panels - 1) / item.panels, kLineFloats);
        next[2] = products::lines_of(v + (position + 1) * v_distance_ + panel * share, share);
      }
      std::size_t pieces = 3;
      if (soon != nullptr) {
        const std::int64_t done = position * item.panels + panel;
        pieces += soon_lines(item, soon, item.tiles * done / total, item.tiles * (done + 1) / total, &next[3]);
      }
      const std::span<const products::Lines> wanted(next.data(), pieces);
      products::Ahead ahead(wanted, products::Ahead::fours(product.rows, product.depth));
      code_.multiply(product, ahead);
    }
  }
}

// Where the results of the item's tiles [begin, end) are in an image of their shape; at most kMostSoon pieces.
template <class Pixel>
std::size_t CorrelationCode<Pixel>::soon_lines(const Item& item, const Pixel* image, std::int64_t begin,
                                               std::int64_t end, products::Lines* lines) const {
  const std::int64_t first = item.first_panel * panel_;
  const std::int64_t channels = std::min(item.panels * panel_, shape_.out.channels - first);
  std::size_t pieces = 0;
  const Pixel* pixels[kMostPixels];
  for (std::int64_t t = begin; t < end; ++t) {
    const auto count = static_cast<std::size_t>(rule_.m * rule_.n);
    if (pieces + count > kMostSoon) break;
    tiles_.outputs(item.first_tile + t, image + first, static_cast<const Pixel*>(nullptr), pixels);
    for (std::size_t i = 0; i < count; ++i) {
      if (pixels[i] == nullptr) continue;
      lines[pieces++] = products::lines_of(reinterpret_cast<const float*>(pixels[i]),
                                           channels * static_cast<std::int64_t>(sizeof(Pixel)) / 4);
    }
  }
  return pieces;
}

template <class Pixel>
void CorrelationCode<Pixel>::write_tiles(const Item& item, int thread, const float* m, const Place& to,
                                         const Ending<Pixel>& ending, float* scratch) const {
  const std::int64_t first = item.first_panel * panel_;
  const std::int64_t channels = std::min(item.panels * panel_, shape_.out.channels - first);
  auto* const sink = reinterpret_cast<Pixel*>(scratch + sink_ + thread * round_up(shape_.out.channels, kLineFloats));
  Pixel* pixels[kMostPixels];
  const Pixel* addend[kMostPixels];
  const Pixel* gate[kMostPixels];
  const Epilogue<Pixel> epilogue{ending.bias == nullptr ? nullptr : ending.bias + first,
                                 ending.addend == nullptr ? nullptr : addend, ending.gate == nullptr ? nullptr : gate,
                                 ending.relu};
  for (std::int64_t t = 0; t < item.tiles; ++t) {
    tiles_.outputs_of_rows(item.first_tile + t, to.first_row, to.channels, to.rows, sink, pixels);
    const Pixel* const zeros = reader_.template zeros<Pixel>(scratch);
    if (ending.addend != nullptr) tiles_.outputs(item.first_tile + t, ending.addend + first, zeros, addend);
    if (ending.gate != nullptr) tiles_.outputs(item.first_tile + t, ending.gate + first, zeros, gate);
    transforms_->output({m + t * panel_, m_distance_, m_panel_}, channels, pixels, epilogue);
  }
}

template class CorrelationCode<float>;
template class CorrelationCode<bfloat16>;

}  // namespace ridgeline::device::winograd
