#include <algorithm>
#include <limits>

#include "ridgeline/device/cpu/common.h"
#include "ridgeline/device/cpu/team_shares.h"
#include "ridgeline/device/cpu/tiles/added_products.h"
#include "ridgeline/device/cpu/tiles/gradient_units.h"
#include "ridgeline/device/cpu/tiles/halves.h"
#include "ridgeline/device/cpu/tiles/on_tiles.h"
#include "ridgeline/device/cpu/tiles/pooled_gradient.h"

namespace ridgeline::device::tiles {
namespace {

// Where every result reads exactly its own pixel, rows and images do not matter: pixels form rows of one step each, if
// their number fits. Rows of 7 or 14 pixels, or images of them, would be padded with zeros.
Convolution in_steps(Convolution c) {
  const std::int64_t pixels = c.image.count * c.image.size[0] * c.image.size[1];
  const bool same = c.taps() == 1 && c.window.stride == Pair{1, 1} && c.image.size == c.result.size;
  if (!same || pixels % kTileDepth != 0) return c;
  c.image.count = c.result.count = 1;
  c.image.size = c.result.size = {pixels / kTileDepth, kTileDepth};
  return c;
}

// The gradient is divided into items by groups, by ranges of columns, and, where these are too few, by ranges of units;
// sums of the latter are added in order at the end. Where there are more than two ranges of columns, dy is packed into
// tiles once for all of them. A large team divides the filters of each item as well, which changes no sum, and, where
// sums may depend on the team (team_shares.h), uses other ranges of units. f32 operands are split into halves
// (halves.h); tiles of the low ones follow those of the high ones. Where dy is that of a pooled image
// (pooled_gradient.h), a unit's rows of it are computed before they become tiles.
class BackwardWeightsKernel final : public Kernel {
 public:
  BackwardWeightsKernel(const Convolution& c, bool patches, bool halves, Tiles tiles, bool bias, std::int64_t team,
                        std::optional<PooledGradient> pool = std::nullopt)
      : plain_(c),
        pool_(std::move(pool)),
        halves_(halves),
        groups_(c.groups),
        filters_(c.group_filters()),
        code_(tile_code(tiles)),
        units_(forward_correlation(halves ? split(c) : c), patches, patches ? kPatchUnitPixels : kUnitPixels),
        bias_(bias) {
    const std::int64_t filter_blocks = blocks_of(filters_, kBlock);
    const std::int64_t column_blocks = blocks_of(columns(), kBlock);
    const std::int64_t sums_of_block = filter_blocks * units_.taps() * 4 * kTileSums;
    range_ = std::clamp<std::int64_t>(kSumBytes / (sums_of_block * 4), 1, column_blocks);
    range_ = blocks_of(column_blocks, blocks_of(column_blocks, range_));
    ranges_ = blocks_of(column_blocks, range_);
    const std::int64_t sums = groups_ * column_blocks * sums_of_block;
    parts_ =
        std::min({even_items(groups_ * ranges_), units_.count(), std::max<std::int64_t>(1, kPartBytes / (sums * 4))});
    slices_ = std::clamp<std::int64_t>(threads_ / (parts_ * groups_ * ranges_), 1, filter_blocks);
    if (threads_ > kSmallTeam) divide(filter_blocks, column_blocks, team > kSmallTeam);
    sums_of_part_ = groups_ * ranges_ * range_ * sums_of_block;
    const std::int64_t threads = compute_threads();
    sums_at_ = scratch_.reserve(parts_ * sums_of_part_);
    if (bias_) bias_at_ = scratch_.reserve(units_.count() * groups_ * filters_);
    block_values_ = 2 * units_.steps() * kTileValues;
    half_a_ = filter_blocks * block_values_;
    half_b_ = range_ * 2 * units_.column_values();
    a_values_ = half_a_ * (halves_ ? 2 : 1);
    b_values_ = half_b_ * (halves_ ? 2 : 1);
    const std::int64_t shared = groups_ * units_.count() * a_values_;
    shared_ = ranges_ > kOwnRanges && shared * 2 <= kSharedBytes;
    if (shared_) shared_at_ = scratch_.reserve(shared / 2);
    rows_at_ = round_up((shared_ ? 0 : a_values_) + b_values_ + units_.spare_values(), 2 * kLineFloats);
    const std::int64_t row = c.result.size[1] * c.result.channels;
    values_ = rows_at_ + (pool_ ? round_up(units_.most_rows() * row, 2 * kLineFloats) : 0);
    memory_ = scratch_.reserve(threads * values_ / 2);
    for (std::int64_t i = 0; i < units_.steps(); ++i) add_step(i);
    if (halves_) {
      x_at_ = scratch_.reserve(pixels(c.image) * half_channels(c.image.channels));
      dy_at_ = scratch_.reserve(pixels(c.result) * half_channels(c.result.channels));
    }
    scratch_bytes = scratch_.bytes();
  }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    float* const scratch = static_cast<float*>(a.scratch);
    const bfloat16* x = input<bfloat16>(a, 0);
    GradientOperand dy{input<bfloat16>(a, 1), pool_ ? input<std::uint8_t>(a, 2) : nullptr};
    if (halves_) {
      x = split(input<float>(a, 0), plain_.image, scratch + x_at_);
      dy.values = split(input<float>(a, 1), plain_.result, scratch + dy_at_);
    }
    if (shared_) {
      const std::int64_t units = groups_ * units_.count(), blocks = blocks_of(filters_, kBlock);
      const std::int64_t parts = shares(units, blocks);
      for_each_item(units * parts, [&](std::int64_t item, int thread) {
        const std::int64_t unit = item / parts, part = item % parts;
        const std::int64_t first = blocks * part / parts * kBlock;
        const std::int64_t end = std::min(filters_, blocks * (part + 1) / parts * kBlock);
        stage(dy, unit % units_.count(), unit / units_.count(), {first, end - first},
              shared(scratch) + unit * a_values_, scratch, thread, true);
      });
    }
    for_each_item(parts_ * groups_ * ranges_ * slices_, [&](std::int64_t item, int thread) {
      const TileScope scope(code_);
      run_item(item, x, dy, scratch, thread);
    });
    const std::int64_t results = groups_ * blocks_of(filters_, kTileRows) * units_.taps();
    const std::int64_t columns_parts = shares(results, blocks_of(columns(), kBlock));
    parallel_for(results * columns_parts, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t item = begin; item < end; ++item)
        add_parts(scratch + sums_at_, item / columns_parts, item % columns_parts, columns_parts, a.outputs[0]);
    });
    if (bias_) finish_bias(scratch + bias_at_, a.outputs[1]);
  }

  DType result_type = DType::f32;
  DType bias_type = DType::f32;

 private:
  // Steps of a product, so that the tiles of 32 filters and of one tap stay in the first-level cache; measured in a
  // loop over random tiles, 8 steps take 39 ns each and 12 take 50.
  static constexpr std::int64_t kProductSteps = 8;
  static constexpr std::int64_t kUnitPixels = kProductSteps * kTileDepth;
  // The rows of patches that two units of an image share are computed twice, hence fewer units.
  static constexpr std::int64_t kPatchUnitPixels = 2 * kUnitPixels;
  // Sums of an item, measured: most of the second-level cache, through which they pass in order. Items with more
  // channels read dy less often.
  static constexpr std::int64_t kSumBytes = 1800 << 10;
  static constexpr std::int64_t kItems = 4;  // each range of units has sums of its own, which are read once more
  static constexpr std::int64_t kPartBytes = 48 << 20;  // sums of all parts, at most
  // Two ranges pack dy into tiles in less time than reading tiles from memory would take.
  static constexpr std::int64_t kOwnRanges = 2;
  static constexpr std::int64_t kSharedBytes = 64 << 20;  // tiles of dy for all items, at most

  // Ranges of units for so many ranges of columns: enough items, and equally many for teams of two and four.
  static std::int64_t even_items(std::int64_t ranges) {
    std::int64_t parts = blocks_of(kItems, ranges);
    while (parts * ranges % 4 != 0 && parts > 1) ++parts;
    return parts;
  }

  // For a large team: ranges of columns, slices of filters and, with `sums`, ranges of units so that no thread waits
  // long for another. Costs are in cycles, roughly, of a unit's pixels: products of blocks of 32 filters and columns,
  // packing a block of either operand into tiles (dy from tiles that all items share costs less), and additional sums
  // to write and read.
  void divide(std::int64_t filter_blocks, std::int64_t column_blocks, bool sums) {
    constexpr double kProduct = 90, kStage = 1000, kShared = 250, kSum = 0.5;  // a step and tap; a block; a float
    constexpr std::int64_t kMostParts = 128;
    const auto steps = static_cast<double>(units_.steps());
    const double of_gradient =
        static_cast<double>(groups_ * filter_blocks * column_blocks * units_.taps() * 4 * kTileSums);
    const std::int64_t room = std::max<std::int64_t>(1, static_cast<std::int64_t>(kPartBytes / (of_gradient * 4)));
    const std::int64_t most = sums ? std::min({units_.count(), room, kMostParts}) : 0;
    double least = std::numeric_limits<double>::max();
    const std::int64_t widest = range_, fewest = ranges_, given = parts_;
    for (std::int64_t ranges = fewest; ranges <= column_blocks; ++ranges) {
      const std::int64_t range = blocks_of(column_blocks, ranges);
      if (range > widest || blocks_of(column_blocks, range) != ranges) continue;
      const double stage = ranges > kOwnRanges ? kShared : kStage;
      for (std::int64_t slices = 1; slices <= filter_blocks; ++slices) {
        const auto filters = static_cast<double>(blocks_of(filter_blocks, slices)),
                   columns = static_cast<double>(range);
        const double unit = kProduct * steps * static_cast<double>(units_.taps()) * filters * columns +
                            (kStage * columns + stage * filters) * steps / kProductSteps * (halves_ ? 2 : 1);
        for (std::int64_t parts = sums ? 1 : given; parts <= std::max(most, given); ++parts) {
          const double units = static_cast<double>(blocks_of(units_.count(), parts));
          const double cost = team_rounds(parts * groups_ * ranges * slices, threads_) * units * unit +
                              kSum * static_cast<double>(parts) * of_gradient / threads_;
          if (cost >= least) continue;
          least = cost;
          range_ = range, ranges_ = ranges, slices_ = slices, parts_ = parts;
        }
      }
    }
  }

  // In how many of its `most` blocks each of `items` is divided, so that a large team has some for each thread.
  std::int64_t shares(std::int64_t items, std::int64_t most) const {
    constexpr std::int64_t kEach = 4;
    if (threads_ <= kSmallTeam) return 1;
    return std::clamp<std::int64_t>(blocks_of(kEach * threads_, items), 1, most);
  }

  static std::int64_t pixels(const Images& images) { return images.count * images.size[0] * images.size[1]; }
  static Convolution split(Convolution c) {
    c.image.channels = both_halves(c.image.channels);
    c.result.channels = both_halves(c.result.channels);
    return c;
  }
  const bfloat16* split(const float* from, const Images& images, float* room) const {
    auto* const to = reinterpret_cast<bfloat16*>(room);
    split_rows(code_, from, pixels(images), images.channels, to);
    return to;
  }

  // Of the gradient, as against what is staged.
  std::int64_t columns() const { return halves_ ? plain_.image.channels : units_.columns(); }
  std::int64_t columns_at(std::int64_t tap) const { return halves_ ? columns() : units_.columns_at(tap); }
  std::int64_t row_columns() const { return halves_ ? columns() * units_.taps() : units_.row_columns(); }

  // high high + high low + low high.
  void add_step(std::int64_t step) {
    const std::int64_t a = step * kTileValues, b = units_.b_offsets()[static_cast<std::size_t>(step)];
    const auto add = [&](std::int64_t in_a, std::int64_t in_b) {
      a_offsets_.push_back(in_a);
      b_offsets_.push_back(in_b);
    };
    add(a, b);
    if (!halves_) return;
    add(a, b + half_b_);
    add(a + half_a_, b);
  }

  // Sums lie as [part][group][range][32 filters][32 columns][tap][2][2][16][16].
  std::int64_t sums_of_item() const { return sums_of_part_ / (groups_ * ranges_); }
  std::int64_t block_at(std::int64_t filter_block, std::int64_t column_block, std::int64_t tap) const {
    return ((filter_block * range_ + column_block) * units_.taps() + tap) * 4 * kTileSums;
  }

  bfloat16* shared(float* scratch) const { return reinterpret_cast<bfloat16*>(scratch + shared_at_); }

  // Of a group.
  struct Filters {
    std::int64_t first, count;
  };
  Filters slice(std::int64_t number) const {
    const std::int64_t blocks = blocks_of(filters_, kBlock);
    const std::int64_t first = number * blocks / slices_ * kBlock;
    return {first, std::min(filters_, (number + 1) * blocks / slices_ * kBlock) - first};
  }

  bfloat16* memory(float* scratch, int thread) const {
    return reinterpret_cast<bfloat16*>(scratch + memory_) + thread * values_;
  }

  // dy of a unit in tiles, and, if so wanted, its sums for the bias.
  void stage(const GradientOperand& dy, std::int64_t number, std::int64_t group, const Filters& f, bfloat16* to,
             float* scratch, int thread, bool with_bias) const {
    const GradientUnits::Unit unit = units_.unit(number);
    const std::int64_t first = group * filters_ + f.first, low = half_channels(filters_) + f.first;
    const Pair rows = units_.gradient_rows(unit);
    bfloat16* const made = memory(scratch, thread) + rows_at_;
    if (pool_) pool_->make(code_, dy, rows, first, f.count, made);
    const bfloat16* const from = pool_ ? made : dy.values + rows[0] * plain_.result.size[1] * staged_channels();
    to += f.first / kBlock * block_values_;
    units_.stage_gradient(code_, from, unit, first, f.count, to);
    if (halves_) units_.stage_gradient(code_, from, unit, low, f.count, to + half_a_);
    if (!bias_ || !with_bias) return;
    float* const sums = scratch + bias_at_ + number * groups_ * filters_ + first;
    std::fill_n(sums, f.count, 0.0f);
    units_.add_pixels(code_, from, unit, first, f.count, sums);
    if (halves_) units_.add_pixels(code_, from, unit, low, f.count, sums);
  }
  std::int64_t staged_channels() const {
    return halves_ ? both_halves(plain_.result.channels) : plain_.result.channels;
  }

  void run_item(std::int64_t item, const bfloat16* x, const GradientOperand& dy, float* scratch, int thread) const {
    const Filters filters = slice(item % slices_);
    item /= slices_;
    const std::int64_t range = item % ranges_, group = item / ranges_ % groups_, part = item / ranges_ / groups_;
    const std::int64_t first = range * range_ * kBlock;
    const std::int64_t half = half_channels(columns());  // whole blocks of them are staged
    const std::int64_t staged = std::min(range_ * kBlock, (halves_ ? half : columns()) - first);
    float* const sums = scratch + sums_at_ + part * sums_of_part_ + (group * ranges_ + range) * sums_of_item();
    bfloat16* const spare = memory(scratch, thread);
    bfloat16* const b = spare + (shared_ ? 0 : a_values_);
    const std::int64_t begin = part * units_.count() / parts_, end = (part + 1) * units_.count() / parts_;
    for (std::int64_t number = begin; number < end; ++number) {
      const GradientUnits::Unit unit = units_.unit(number);
      bfloat16* const a = shared_ ? shared(scratch) + (group * units_.count() + number) * a_values_ : spare;
      if (!shared_) stage(dy, number, group, filters, a, scratch, thread, range == 0);
      units_.stage_image(code_, x, unit, group, first, staged, b + b_values_, b);
      if (halves_) units_.stage_image(code_, x, unit, group, half + first, staged, b + b_values_, b + half_b_);
      // The next unit's operands are prefetched, a little with each product.
      LinesAhead index_ahead, dy_ahead, ahead;
      if (number + 1 < end && !halves_) {
        const GradientUnits::Unit next = units_.unit(number + 1);
        const std::int64_t filter = group * filters_ + filters.first, blocks = blocks_of(filters.count, kBlock);
        if (shared_) {
          dy_ahead = {a + a_values_ + filters.first / kBlock * block_values_, 1, blocks * block_values_, 0};
        } else if (pool_) {
          index_ahead = pool_->index_lines(dy, units_.gradient_rows(next));
          dy_ahead = pool_->value_lines(dy, units_.gradient_rows(next), filter, filters.count, &index_ahead);
        } else {
          dy_ahead = units_.gradient_lines(dy.values, next, filter, filters.count);
        }
        ahead = units_.image_lines(x, next, group, first, staged, &dy_ahead);
      }
      multiply(filters, a, b, units_.steps(unit), first, number > begin, sums, ahead);
    }
  }

  // For the range of columns that begins at `range_first`. Long units take a few steps at a time.
  void multiply(const Filters& filters, const bfloat16* a, const bfloat16* b, std::int64_t steps,
                std::int64_t range_first, bool add, float* sums, LinesAhead& ahead) const {
    AddedProducts products(code_);
    TileProduct product{};
    product.a_row = kTileDepth;
    product.a_turned = code_.turns_a;
    const std::int64_t all = halves_ ? 3 * steps : steps;
    product.ahead = &ahead;
    product.ahead_lines = blocks_of(ahead.lines(), blocks_of(filters.count, kBlock) * range_ * units_.taps() * all);
    const std::int64_t parts = halves_ ? 1 : blocks_of(all, kProductSteps);
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::int64_t first = part * all / parts;
      product.a_offsets = a_offsets_.data() + first;
      product.b_offsets = b_offsets_.data() + first;
      product.steps = (part + 1) * all / parts - first;
      multiply_steps(filters, a, b, range_first, add || part > 0, sums, product, products);
    }
    products.finish();
  }

  void multiply_steps(const Filters& filters, const bfloat16* a, const bfloat16* b, std::int64_t range_first, bool add,
                      float* sums, TileProduct& product, AddedProducts& products) const {
    for (std::int64_t f = filters.first; f < filters.first + filters.count; f += kBlock) {
      product.a[0] = a + f / kBlock * block_values_;
      product.a[1] = product.a[0] + units_.steps() * kTileValues;
      for (std::int64_t c = 0; c < range_; ++c) {
        for (const std::int64_t tap : units_.taps_by_plane()) {
          const std::int64_t columns = columns_at(tap) - range_first - c * kBlock;
          if (columns <= 0) continue;
          const bool two_tiles = columns > kTileColumns || units_.mixed(range_first / kBlock + c);
          product.b[0] = b + c * 2 * units_.column_values() + units_.tap_at(tap);
          product.b[1] = product.b[0] + units_.column_values();
          products.multiply(product, filters_ - f > kTileRows ? 2 : 1, two_tiles ? 2 : 1,
                            sums + block_at(f / kBlock, c, tap), add);
        }
      }
    }
  }

  // The gradient of 16 filters of a group at one tap, in a part of the columns.
  void add_parts(const float* sums, std::int64_t item, std::int64_t column_part, std::int64_t column_parts,
                 void* dw) const {
    const std::int64_t tap = item % units_.taps();
    const std::int64_t tiles = blocks_of(filters_, kTileRows), group = item / units_.taps() / tiles;
    const std::int64_t filter = item / units_.taps() % tiles * kTileRows;
    const std::int64_t rows = std::min(kTileRows, filters_ - filter);
    const std::int64_t first = (group * filters_ + filter) * row_columns() + tap * columns();
    const std::int64_t blocks = blocks_of(columns(), kBlock);
    const std::int64_t end = std::min(columns_at(tap), blocks * (column_part + 1) / column_parts * kBlock);
    for (std::int64_t c = blocks * column_part / column_parts * kBlock; c < end; c += kBlock) {
      const std::int64_t block = c / kBlock, n = std::min(kBlock, columns_at(tap) - c);
      const float* const from = sums + (group * ranges_ + block / range_) * sums_of_item() +
                                block_at(filter / kBlock, block % range_, tap) +
                                filter % kBlock / kTileRows * 2 * kTileSums;
      const auto add = [&](float* to, std::int64_t step) {
        code_.add_products(from, parts_, sums_of_part_, units_.mixed(block), rows, n, to, step);
      };
      if (result_type == DType::f32) {
        add(static_cast<float*>(dw) + first + c, row_columns());
        continue;
      }
      float wide[kTileRows * kBlock];
      add(wide, kBlock);
      for (std::int64_t row = 0; row < rows; ++row) {
        bfloat16* const to = static_cast<bfloat16*>(dw) + first + row * row_columns() + c;
        std::transform(wide + row * kBlock, wide + row * kBlock + n, to, to_bfloat16);
      }
    }
  }

  void finish_bias(const float* sums, void* db) const {
    const std::int64_t n = groups_ * filters_;
    parallel_for(n, kTileColumns, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k) {
        double sum = 0;
        for (std::int64_t unit = 0; unit < units_.count(); ++unit) sum += static_cast<double>(sums[unit * n + k]);
        if (bias_type == DType::f32) {
          static_cast<float*>(db)[k] = static_cast<float>(sum);
        } else {
          static_cast<bfloat16*>(db)[k] = to_bfloat16(static_cast<float>(sum));
        }
      }
    });
  }

  int threads_ = compute_threads();
  Convolution plain_;
  std::optional<PooledGradient> pool_;
  bool halves_;
  std::int64_t groups_;
  std::int64_t filters_;  // of a group
  const TileCode& code_;
  GradientUnits units_;
  bool bias_;
  Scratch scratch_;
  std::int64_t slices_;          // of the filters, for large teams
  std::int64_t block_values_;    // tiles of a unit of dy, of 32 filters
  std::int64_t range_, ranges_;  // blocks of 32 columns in a range
  std::int64_t parts_, sums_of_part_;
  std::int64_t half_a_, half_b_;               // what lies between high and low halves
  std::int64_t a_values_, b_values_, values_;  // of a thread
  std::int64_t rows_at_;                       // of dy before it is pooled, in a thread's memory
  std::int64_t x_at_ = -1, dy_at_ = -1;        // halves of the operands
  bool shared_ = false;                        // tiles of dy are made before the items
  std::int64_t shared_at_ = -1, sums_at_, bias_at_ = -1, memory_;
  std::vector<std::int64_t> a_offsets_, b_offsets_;
};

// `image`: dy of the convolution.
KernelChoice make_narrow(const KernelRequest& request, Tiles tiles, const ValueType& image,
                         std::optional<PooledGradient> pool) {
  const ValueType &x = request.inputs[0].type, &dy = request.inputs[1].type, &dw = request.outputs[0].type;
  if (auto refusal = refuse_tiles(tiles)) return *refusal;
  if (auto refusal = refuse_types({&x, &dy}, {&dw})) return *refusal;
  const bool bias = request.outputs.size() == 2;
  if (bias) {
    if (auto refusal = refuse_types({}, {&request.outputs[1].type})) return *refusal;
  }
  const Convolution whole = convolution_of(request, x, dw, image), c = in_steps(whole);
  if (pool && c.image.size != whole.image.size) {
    return Refusal{"single pixels: rows of a pooled image would be summed in another order"};
  }
  if (auto refusal = refuse_groups(c)) return *refusal;
  const bool patches = Patches::wanted(c.group_channels()) && c.taps() > 1;
  auto kernel =
      std::make_unique<BackwardWeightsKernel>(c, patches, false, tiles, bias, summing_team(request), std::move(pool));
  kernel->result_type = dw.dtype;
  if (bias) kernel->bias_type = request.outputs[1].type.dtype;
  describe(*kernel, request, tiles);
  return kernel;
}

}  // namespace

KernelChoice make_backward_weights(const KernelRequest& request, Tiles tiles) {
  return make_narrow(request, tiles, request.inputs[1].type, std::nullopt);
}

KernelChoice make_pooled_backward_weights(const KernelRequest& request, Tiles tiles) {
  const ValueType image = unpooled_gradient(request);
  return make_narrow(request, tiles, image, PooledGradient(request.node.attributes, image, request.inputs[1].type));
}

KernelChoice make_halves_backward_weights(const KernelRequest& request, Tiles tiles) {
  const ValueType &x = request.inputs[0].type, &dy = request.inputs[1].type, &dw = request.outputs[0].type;
  if (auto refusal = refuse_tiles(tiles)) return *refusal;
  const Convolution c = in_steps(convolution_of(request, x, dw, dy));
  if (auto refusal = refuse_halves({&x, &dy, &dw}, c.image.channels)) return *refusal;
  if (c.groups != 1) return Refusal{"groups"};
  auto kernel = std::make_unique<BackwardWeightsKernel>(c, false, true, tiles, request.outputs.size() == 2,
                                                        summing_team(request));
  name_halves(*kernel, request, tiles);
  return kernel;
}

}  // namespace ridgeline::device::tiles
