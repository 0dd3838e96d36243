#include <algorithm>

#include "ridgeline/device/cpu/common.h"
#include "ridgeline/device/cpu/pool/pooled_node.h"
#include "ridgeline/device/cpu/team_shares.h"
#include "ridgeline/device/cpu/tiles/dense.h"
#include "ridgeline/device/cpu/tiles/on_tiles.h"
#include "ridgeline/device/cpu/tiles/patches.h"
#include "ridgeline/device/cpu/tiles/pooled_items.h"

namespace ridgeline::device::tiles {
namespace {

// A strided convolution of few channels as one of stride 1 over blocks of stride x stride pixels: the blocks under a
// row of taps are contiguous, so a tile of A is read from the blocks in place, at a distance of one block. No patches
// are made; taps that only pad the last block have weights of zero.
struct Blocks {
  Pair taps;            // in blocks
  std::int64_t values;  // of a block: [rows][columns][channels]
  std::int64_t pitch;   // blocks in a row
  std::int64_t row_steps;
  explicit Blocks(const Convolution& c) {
    const Window& w = c.window;
    taps = {blocks_of(w.kernel[0], w.stride[0]), blocks_of(w.kernel[1], w.stride[1])};
    values = w.stride[0] * w.stride[1] * c.image.channels;
    pitch = c.result.size[1] - 1 + taps[1];
    row_steps = blocks_of(taps[1] * values, kTileDepth);
  }
  std::int64_t steps() const { return taps[0] * row_steps; }
};

// The pixels of one row of blocks, for the image rows around it.
Patches block_rows(const Correlation& forward, const Convolution& c, const Blocks& blocks) {
  Part part = forward.parts[0];
  const Pair first = part.taps.front().at;
  part.taps.clear();
  for (std::int64_t r = 0; r < c.window.stride[0]; ++r) {
    for (std::int64_t s = 0; s < blocks.taps[1] * c.window.stride[1]; ++s)
      part.taps.push_back({{first[0] + r, first[1] + s}, 0});
  }
  return {forward, part};
}

// An item is an image, or some rows of one; its blocks are made in the second-level cache, and each 32 filters pass
// over them while their weights stay in the first-level one. With `pool` the results of 32 filters stay there as well,
// and are pooled when all of them are finished.
class BlocksForwardKernel final : public Kernel {
 public:
  BlocksForwardKernel(const Convolution& c, Tiles tiles, bool relu, std::optional<DType> bias,
                      const std::optional<PoolGeometry>& pool)
      : convolution_(c),
        blocks_(c),
        code_(tile_code(tiles)),
        rows_(block_rows(forward_correlation(c), c, blocks_)),
        relu_(relu),
        bias_type_(bias) {
    const std::int64_t row_values = blocks_.pitch * blocks_.values;
    item_rows_ = std::clamp<std::int64_t>(kItemValues / row_values - blocks_.taps[0] + 1, 1, c.result.size[0]);
    if (compute_threads() > kSmallTeam) item_rows_ = fair_rows(c.result.count, c.result.size[0]);
    if (pool) {
      pooled_.emplace(*pool, item_rows_);
      item_rows_ = pooled_->rows();
      flops_share = pooled_->share();
    }
    for (std::int64_t row = 0; row < blocks_.taps[0]; ++row) {
      for (std::int64_t step = 0; step < blocks_.row_steps; ++step)
        a_offsets_.push_back(row * row_values + step * kTileDepth);
    }
    b_offsets_ = even_offsets(blocks_.steps(), 2 * kTileValues);
    for (std::int64_t r = 0; r < c.window.stride[0]; ++r) run_offsets_.push_back(r * blocks_.pitch * run_values());
    const std::int64_t threads = compute_threads();
    bias_at_ = scratch_.reserve(c.result.channels + kBlock);
    weight_values_ = blocks_of(c.result.channels, kBlock) * blocks_.steps() * 2 * kTileValues;
    weights_at_ = reserve_values(scratch_, threads * weight_values_);
    padded_values_ = round_up(rows_.padded_values(1), kTileDepth);
    // Tiles reach over the last result by up to 31 pixels.
    item_values_ = round_up((item_rows_ - 1 + blocks_.taps[0]) * row_values + kBlock * blocks_.values, kTileDepth) +
                   kBehind + padded_values_;
    band_at_ = round_up(item_values_, kTileDepth);
    if (pooled_) item_values_ = band_at_ + pooled_->band_values(item_rows_);
    memory_ = reserve_values(scratch_, threads * item_values_);
    scratch_bytes = scratch_.bytes();
  }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    float* const scratch = static_cast<float*>(a.scratch);
    if (bias_type_) widen_bias(a.inputs[2], *bias_type_, convolution_.result.channels, scratch + bias_at_);
    const std::int64_t height = convolution_.result.size[0];
    const std::int64_t parts = pooled_ ? pooled_->count() : blocks_of(height, item_rows_);
    std::uint8_t* const index = pooled_ ? output<std::uint8_t>(a, 1) : nullptr;
    const auto weights = [&](int thread) { return values_at(scratch, weights_at_) + thread * weight_values_; };
    const auto pack = [&](int thread) { pack_weights(input<bfloat16>(a, 1), weights(thread)); };
    for_each_item(convolution_.result.count * parts, pack, [&](std::int64_t item, int thread) {
      const TileScope scope(code_);
      bfloat16* const padded = values_at(scratch, memory_) + thread * item_values_;
      const std::int64_t first = item % parts * item_rows_;
      const PooledItem part =
          pooled_ ? pooled_->item(item % parts) : PooledItem{0, 0, first, std::min(item_rows_, height - first)};
      run_item(item / parts, part, input<bfloat16>(a, 0), weights(thread), scratch, padded, output<bfloat16>(a, 0),
               index);
    });
  }

  const std::optional<PooledItems>& pooled() const { return pooled_; }

 private:
  static constexpr std::int64_t kItemValues = 160 << 10;  // of blocks: they stay in the second cache
  // In a large team all threads should have equal work: not more than item_rows_.
  std::int64_t fair_rows(std::int64_t images, std::int64_t rows) const {
    const auto overhead = static_cast<double>(blocks_.taps[0]);  // rows of blocks that an item makes beside its own
    const auto cost = [&](std::int64_t of_item) {
      return team_rounds(images * blocks_of(rows, of_item), compute_threads()) *
             (static_cast<double>(of_item) + overhead);
    };
    std::int64_t best = item_rows_;
    for (std::int64_t of_item = best - 1; of_item >= 1; --of_item) {
      if (cost(of_item) < cost(best)) best = of_item;
    }
    return best;
  }
  static constexpr std::int64_t kBehind = 64;  // what copy_patches writes behind its last value

  // Of one row of a block.
  std::int64_t run_values() const { return convolution_.window.stride[1] * convolution_.image.channels; }

  // [32 filters][step][2 tiles of B].
  void pack_weights(const bfloat16* w, bfloat16* to) const {
    const std::int64_t filters = convolution_.result.channels, channels = convolution_.image.channels;
    const auto [kernel, stride, before, after, dilation] = convolution_.window;
    clear(to, blocks_of(filters, kBlock) * blocks_.steps() * 2 * kTileValues);
    for (std::int64_t k = 0; k < filters; ++k) {
      bfloat16* const tiles = to + k / kBlock * blocks_.steps() * 2 * kTileValues +
                              k % kBlock / kTileColumns * kTileValues + k % kTileColumns * 2;
      for (std::int64_t r = 0; r < kernel[0]; ++r) {
        for (std::int64_t s = 0; s < kernel[1]; ++s) {
          for (std::int64_t c = 0; c < channels; ++c) {
            const std::int64_t depth =
                s / stride[1] * blocks_.values + (r % stride[0] * stride[1] + s % stride[1]) * channels + c;
            const std::int64_t step = r / stride[0] * blocks_.row_steps + depth / kTileDepth;
            tiles[step * 2 * kTileValues + depth % kTileDepth / 2 * kTileDepth + depth % 2] =
                w[((k * kernel[0] + r) * kernel[1] + s) * channels + c];
          }
        }
      }
    }
  }

  void run_item(std::int64_t image, const PooledItem& item, const bfloat16* x, const bfloat16* weights,
                const float* scratch, bfloat16* padded, bfloat16* y, std::uint8_t* index) const {
    const std::int64_t first = item.row, rows = item.rows;
    const std::int64_t width = convolution_.result.size[1], filters = convolution_.result.channels;
    bfloat16* const blocks = padded + padded_values_;
    make_blocks(image, first, rows, x, padded, blocks);
    // Where results go: a pixel of all filters, or of the 32 of a band.
    bfloat16* const band = padded + band_at_;
    bfloat16* const out = y + (image * convolution_.result.size[0] + first) * width * filters;
    const std::int64_t out_pixel = pooled_ ? kBlock : filters;
    const bool streamed = !pooled_ && past_caches(convolution_.result);
    alignas(64) float sums[4 * kTileSums];
    TileProduct product{};
    LinesAhead ahead = item_ahead(x, image, first);
    product.a_row = blocks_.values;
    product.a_offsets = a_offsets_.data();
    product.b_offsets = b_offsets_.data();
    product.steps = blocks_.steps();
    product.c = sums;
    const std::int64_t pixels = (rows - 1) * blocks_.pitch + width;
    product.ahead = &ahead;
    product.ahead_lines =
        blocks_of(ahead.lines(), blocks_of(pixels, kBlock) * blocks_of(filters, kBlock) * blocks_.steps());
    for (std::int64_t k = 0; k < filters; k += kBlock) {
      const std::int64_t columns = std::min(kBlock, filters - k);
      product.b[0] = weights + k * blocks_.steps() * 2 * kTileColumns;
      product.b[1] = product.b[0] + kTileValues;
      bfloat16* const results = pooled_ ? band : out + k;
      std::int64_t row = 0, column = 0;
      for (std::int64_t p = 0; p < pixels; p += kBlock) {
        const std::int64_t there = std::min(kBlock, pixels - p);
        product.a[0] = blocks + p * blocks_.values;
        product.a[1] = product.a[0] + kTileRows * blocks_.values;
        code_.multiply[there > kTileRows][columns > kTileColumns](product);
        for (std::int64_t half = 0; half < there; half += kTileRows) {
          bfloat16* to[kTileRows];
          for (bfloat16*& pixel : to) {
            pixel = column < width && row < rows ? results + (row * width + column) * out_pixel : nullptr;
            if (++column == blocks_.pitch) column = 0, ++row;
          }
          code_.finish({sums + half / kTileRows * 2 * kTileSums, columns, bias_type_ ? scratch + bias_at_ + k : nullptr,
                        relu_, to, nullptr, false, nullptr, streamed});
        }
      }
      if (pooled_) pooled_->pool(item, image, k, band, y, index);
    }
  }

  // The pixels of the item that this thread will probably do next.
  LinesAhead item_ahead(const bfloat16* x, std::int64_t image, std::int64_t first) const {
    const Images& in = convolution_.image;
    const std::int64_t row = in.size[1] * in.channels, step = convolution_.window.stride[0];
    const std::int64_t rows = std::min(in.size[0], item_rows_ * step), end = in.count * in.size[0];
    const std::int64_t begin = std::min(end, image * in.size[0] + first * step + rows);
    return {x + begin * row, 1, (std::min(end, begin + rows) - begin) * row, 0};
  }

  void make_blocks(std::int64_t image, std::int64_t first, std::int64_t rows, const bfloat16* x, bfloat16* padded,
                   bfloat16* blocks) const {
    const std::int64_t row_values = blocks_.pitch * blocks_.values;
    const std::int64_t block_rows = rows - 1 + blocks_.taps[0];
    for (std::int64_t row = 0; row < block_rows; ++row) {
      rows_.pad(code_, x, image, 0, first + row, 1, padded);
      code_.copy_patches(padded, run_values(), blocks_.pitch, run_offsets_.data(),
                         static_cast<std::int64_t>(run_offsets_.size()), run_values(), blocks + row * row_values,
                         blocks_.values);
    }
    clear(blocks + block_rows * row_values, kTileDepth);  // the last step of the last pixel reads it, times zero
  }

  int threads_ = compute_threads();
  Convolution convolution_;
  Blocks blocks_;
  const TileCode& code_;
  Patches rows_;
  bool relu_;
  std::optional<DType> bias_type_;
  std::optional<PooledItems> pooled_;
  Scratch scratch_;
  std::int64_t item_rows_;  // of results
  std::int64_t padded_values_, item_values_, band_at_;
  std::int64_t weight_values_;  // of a thread's copy: what two cores read does not stay in their second caches
  std::int64_t bias_at_, weights_at_, memory_;
  std::vector<std::int64_t> a_offsets_, b_offsets_, run_offsets_;
};

// Over y, the convolution's result.
KernelChoice blocks_kernel(const KernelRequest& request, const ValueType& y, const std::optional<PoolGeometry>& pool,
                           Tiles tiles) {
  const ValueType &x = request.inputs[0].type, &w = request.inputs[1].type;
  if (auto refusal = refuse_tiles(tiles)) return *refusal;
  if (auto refusal = refuse_types({&x, &w, &y}, {})) return *refusal;
  if (request.inputs.size() > 3) return Refusal{"an addend"};
  std::optional<DType> bias;
  if (request.inputs.size() > 2) {
    if (auto refusal = refuse_types({}, {&request.inputs[2].type})) return *refusal;
    bias = request.inputs[2].type.dtype;
  }
  const Convolution c = convolution_of(request, x, w, y);
  const Window& window = c.window;
  if (c.groups != 1 || window.dilation != Pair{1, 1}) return Refusal{"groups or dilation"};
  if (!Patches::wanted(c.image.channels)) return Refusal{"as many channels as a tile is deep"};
  if (window.stride[0] * window.stride[1] == 1) return Refusal{"stride 1: a block would be a pixel"};
  if (auto refusal = pool ? refuse_pooled(c) : std::nullopt) return *refusal;
  auto kernel = std::make_unique<BlocksForwardKernel>(c, tiles, request.node.attributes.string("activation") == "relu",
                                                      bias, pool);
  if (auto refusal = pool ? refuse_overlap(*kernel->pooled()) : std::nullopt) return *refusal;
  describe(*kernel, request, tiles, ", blocks");
  return kernel;
}

}  // namespace

KernelChoice make_blocks_forward(const KernelRequest& request, Tiles tiles) {
  return blocks_kernel(request, request.outputs[0].type, std::nullopt, tiles);
}

KernelChoice make_pooled_blocks_forward(const KernelRequest& request, Tiles tiles) {
  const PooledNode node(request);
  return blocks_kernel(request, node.image, node.pool, tiles);
}

}  // namespace ridgeline::device::tiles
