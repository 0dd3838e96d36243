#include "ridgeline/device/cpu/tiles/correlation.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "ridgeline/device/cpu/team_shares.h"

namespace ridgeline::device::tiles {
namespace {

// An item's pixels should stay in the second-level cache together with the weights of 32 channels, and be many enough
// to pay for fetching those weights.
constexpr std::int64_t kStagedBytes = 768 << 10;
constexpr std::int64_t kMostPixels = 1024;

// The second-level cache keeps weights up to this size from item to item. So the pixels of the next item, which would
// evict larger ones, are prefetched up to here, and each thread reads its own copy: data that two cores read does not
// stay in their second-level caches (measured for both: 1.2 MB lose, 0.6 MB win).
constexpr std::int64_t kMostWeightBytes = 1 << 20;

// All images as one of many rows: without staging there is no border between them.
Correlation joined(Correlation c) {
  for (Images* images : {&c.in, &c.out}) {
    images->size[0] *= images->count;
    images->count = 1;
  }
  c.parts[0].size = c.in.size;
  return c;
}

}  // namespace

CorrelationCode::CorrelationCode(const Correlation& correlation, const WeightsForm& form, bool patches, Tiles tiles,
                                 Scratch& scratch, bool halves, const std::optional<PoolGeometry>& pool)
    : shape_(!pool && Stage::needless(correlation) ? joined(correlation) : correlation),
      form_(form),
      code_(tile_code(tiles)),
      staged_(pool || !Stage::needless(correlation)),
      halves_(halves),
      past_caches_(past_caches(correlation.out)) {
  for (const Part& part : shape_.parts) add_cut(part, patches, pool);
  std::int64_t items = 0;
  std::int64_t staged = 0, spare = 0, tiles_of_item = 0, band = 0;
  for (const Cut& cut : cuts_) {
    // For a large team parts without taps do not count as items: they are quickly done.
    const bool sees = !cut.a_offsets.empty() || threads_ <= kSmallTeam;
    items += sees ? cut.image_blocks * cut.row_blocks * shape_.groups : 0;
    if (staged_) {
      staged = std::max(staged, cut.images * cut.stage.image_values(cut.rows));
      spare = std::max(spare, cut.stage.spare_values(cut.rows));
    }
    tiles_of_item = std::max(tiles_of_item, cut.images * cut.tiles_of_image());
    if (pooled_) band = cut.images * pooled_->band_values(cut.rows);
  }
  // Too few items for the team share their pixels and divide the result channels.
  const std::int64_t wanted = 2 * threads_;
  std::int64_t parts =
      items >= wanted ? 1 : std::min(form_.column_blocks(), blocks_of(wanted, std::max<std::int64_t>(1, items)));
  if (column_parts_ > 0) parts = column_parts_;
  filter_blocks_ = blocks_of(form_.column_blocks(), parts);
  const auto bytes = [](std::int64_t n, std::size_t size) { return round_up(n * static_cast<std::int64_t>(size), 64); };
  spare_at_ = bytes(staged, sizeof(bfloat16));
  rows_at_ = spare_at_ + bytes(spare, sizeof(bfloat16));
  band_at_ = rows_at_ + bytes(tiles_of_item, sizeof(TileRow));
  weights_at_ = band_at_ + bytes(band, sizeof(bfloat16));
  // Enough items that a copy is read several times.
  own_weights_ = threads_ > 1 && weight_bytes() <= kMostWeightBytes && this->items() >= 4 * threads_;
  thread_bytes_ = weights_at_ + (own_weights_ ? round_up(weight_bytes(), 64) : 0);
  memory_ = scratch.reserve(threads_ * thread_bytes_ / static_cast<std::int64_t>(sizeof(float)));
}

void CorrelationCode::add_cut(const Part& part, bool patches, const std::optional<PoolGeometry>& pool) {
  Cut cut{Stage(shape_, part, patches)};
  const std::int64_t row_bytes = cut.stage.pitch() * std::max<std::int64_t>(1, cut.stage.pixel()) * 2;
  const std::int64_t rows = std::clamp<std::int64_t>(
      std::min(kStagedBytes / std::max<std::int64_t>(row_bytes, 1), kMostPixels / cut.stage.pitch()), 1,
      part.size[0] * shape_.out.count);
  if (rows >= 2 * part.size[0]) {
    // Several complete images, but not so many that the team has too few items.
    cut.rows = part.size[0];
    const std::int64_t most = std::max<std::int64_t>(1, shape_.out.count / (4 * threads_));
    cut.images = std::min(rows / part.size[0], most);
  } else {
    cut.row_blocks = blocks_of(part.size[0], std::min(rows, part.size[0]));
    const bool one_image = shape_.out.count == 1 && shape_.parts.size() == 1 && shape_.groups == 1;
    if (threads_ > kSmallTeam && one_image && !staged_ && !pool) divide_rows(cut, part);
    cut.rows = blocks_of(part.size[0], cut.row_blocks);
    cut.row_blocks = blocks_of(part.size[0], cut.rows);
  }
  if (pool) {
    pooled_.emplace(*pool, cut.rows);
    cut.row_blocks = pooled_->count();
    cut.rows = pooled_->rows();
  }
  cut.image_blocks = blocks_of(shape_.out.count, cut.images);
  add_steps(cut, part, patches);
  cuts_.push_back(std::move(cut));
}

// Rows of one long image and ranges of the result channels, so that no thread of a large team waits long for another.
// Costs are in cycles, roughly: for each step of depth and block of 32 channels, those of a pixel's products and those
// of fetching the weights.
void CorrelationCode::divide_rows(Cut& cut, const Part& part) {
  constexpr double kPixel = 2.5, kWeights = 100;
  constexpr std::int64_t kMostBlocks = 16;  // as often as few items need
  double least = std::numeric_limits<double>::max();
  const std::int64_t fewest = cut.row_blocks, most = std::min(part.size[0], fewest + kMostBlocks * threads_);
  for (std::int64_t blocks = fewest; blocks <= most; ++blocks) {
    const std::int64_t rows = blocks_of(part.size[0], blocks);
    if (blocks_of(part.size[0], rows) != blocks) continue;
    const auto pixels = static_cast<double>(rows * cut.stage.pitch());
    for (std::int64_t parts = 1; parts <= form_.column_blocks(); ++parts) {
      const std::int64_t columns = blocks_of(form_.column_blocks(), parts);
      if (blocks_of(form_.column_blocks(), columns) != parts) continue;
      const double rounds = team_rounds(blocks * parts, threads_);
      const double cost = rounds * static_cast<double>(columns) * (kPixel * pixels + kWeights);
      if (cost >= least) continue;
      least = cost;
      cut.row_blocks = blocks, column_parts_ = parts;
    }
  }
}

void CorrelationCode::add_steps(Cut& cut, const Part& part, bool patches) const {
  const std::vector<std::int64_t> pixels = cut.stage.step_offsets(cut.rows);
  const std::int64_t chunks = form_.chunks(), taps = patches ? 1 : static_cast<std::int64_t>(part.taps.size());
  RIDGELINE_CHECK(static_cast<std::int64_t>(pixels.size()) == taps * chunks, "pixels and weights have different steps");
  for (std::int64_t chunk = 0; chunk < (halves_ ? chunks / 2 : chunks); ++chunk) {
    for (std::int64_t i = 0; i < taps; ++i) {
      const std::int64_t tap = patches ? 0 : part.taps[static_cast<std::size_t>(i)].number;
      const auto step = [&](std::int64_t a, std::int64_t b) {
        cut.a_offsets.push_back(pixels[static_cast<std::size_t>(i * chunks + a)]);
        cut.b_offsets.push_back(form_.step_at(tap, b));
      };
      step(chunk, chunk);
      if (!halves_) continue;
      step(chunk, chunks / 2 + chunk);
      step(chunks / 2 + chunk, chunk);
    }
  }
}

std::int64_t CorrelationCode::items() const {
  std::int64_t items = 0;
  for (const Cut& cut : cuts_) items += cut.image_blocks * cut.row_blocks;
  return items * shape_.groups * blocks_of(form_.column_blocks(), filter_blocks_);
}

CorrelationCode::Item CorrelationCode::item(std::int64_t number) const {
  const std::int64_t parts = blocks_of(form_.column_blocks(), filter_blocks_);
  Item item{};
  item.first_block = number % parts * filter_blocks_;
  item.blocks = std::min(filter_blocks_, form_.column_blocks() - item.first_block);
  number /= parts;
  item.group = number % shape_.groups;
  number /= shape_.groups;
  while (number >= cuts_[item.part].image_blocks * cuts_[item.part].row_blocks) {
    number -= cuts_[item.part].image_blocks * cuts_[item.part].row_blocks;
    ++item.part;
  }
  const Cut& cut = cuts_[item.part];
  if (pooled_) {
    const PooledItem band = pooled_->item(number % cut.row_blocks);
    item.row = band.row, item.rows = band.rows;
    item.first_window = band.first_window, item.end_window = band.end_window;
  } else {
    item.row = number % cut.row_blocks * cut.rows;
    item.rows = std::min(cut.rows, shape_.parts[item.part].size[0] - item.row);
  }
  item.image = number / cut.row_blocks * cut.images;
  item.images = std::min(cut.images, shape_.out.count - item.image);
  return item;
}

// The pixels that an item reads.
LinesAhead CorrelationCode::item_lines(const Item& item, const bfloat16* in) const {
  const Part& part = shape_.parts[item.part];
  if (part.taps.empty()) return {};
  const Images& images = shape_.in;
  const auto [low, high] = std::minmax(part.taps.front().at[0], part.taps.back().at[0]);
  const std::int64_t step = part.in_step[0], last_row = (item.row + item.rows - 1) * step;
  const std::int64_t top = std::clamp<std::int64_t>(item.row * step + low, 0, images.size[0]);
  const std::int64_t bottom = std::clamp(last_row + high + 1, top, images.size[0]);
  const std::int64_t first = item.image * images.size[0];
  if (shape_.source != nullptr)
    return shape_.source->lines({first + top, first + (item.images - 1) * images.size[0] + bottom});
  return pixel_lines(in, images, first + top, first + (item.images - 1) * images.size[0] + bottom,
                     item.group * shape_.in_channels(), shape_.in_channels());
}

template <class To>
void CorrelationCode::run(const bfloat16* in, const bfloat16* weights, To* out, const Epilogue<To>& epilogue,
                          float* scratch, std::uint8_t* index) const {
  const std::int64_t count = items();
  const bool fetch_ahead = weight_bytes() <= kMostWeightBytes;
  char* const memory = reinterpret_cast<char*>(scratch + memory_);
  const auto copy_weights = [&](int thread) {
    if (own_weights_)
      std::memcpy(memory + thread * thread_bytes_ + weights_at_, weights, static_cast<std::size_t>(weight_bytes()));
  };
  for_each_item(count, copy_weights, [&](std::int64_t number, int thread) {
    const TileScope scope(code_);
    // What this thread will probably do next.
    LinesAhead ahead;
    if (fetch_ahead && number + 1 < count) ahead = item_lines(item(number + 1), in);
    char* const mine = memory + thread * thread_bytes_;
    const bfloat16* const read = own_weights_ ? reinterpret_cast<const bfloat16*>(mine + weights_at_) : weights;
    run_item(item(number), in, read, out, index, epilogue, ahead, mine);
  });
}

template void CorrelationCode::run(const bfloat16*, const bfloat16*, bfloat16*, const Epilogue<bfloat16>&, float*,
                                   std::uint8_t*) const;
template void CorrelationCode::run(const bfloat16*, const bfloat16*, float*, const Epilogue<float>&, float*,
                                   std::uint8_t*) const;

template <class To>
void CorrelationCode::run_item(const Item& item, const bfloat16* in, const bfloat16* weights, To* out,
                               std::uint8_t* index, const Epilogue<To>& epilogue, LinesAhead& ahead,
                               char* memory) const {
  const Cut& cut = cuts_[item.part];
  const bfloat16* pixels = nullptr;
  if (staged_) {
    auto* const staged = reinterpret_cast<bfloat16*>(memory);
    for (std::int64_t i = 0; i < item.images; ++i) {
      cut.stage.make(code_, in, item.image + i, item.group, item.row, item.rows, cut.rows,
                     reinterpret_cast<bfloat16*>(memory + spare_at_), staged + i * cut.stage.image_values(cut.rows));
    }
    pixels = staged;
  } else {
    pixels = in + item.row * shape_.in.size[1] * shape_.in.channels + item.group * shape_.in_channels();
  }
  auto* const rows = reinterpret_cast<TileRow*>(memory + rows_at_);
  const std::int64_t count = tile_rows(item, pixels, rows);

  alignas(64) float sums[4 * kTileSums];
  To* to[kTileRows];
  const To* added[kTileRows];
  const To* gates[kTileRows];
  TileProduct product{};
  product.a_row = staged_ ? cut.stage.pixel() : shape_.in.channels;
  product.a_offsets = cut.a_offsets.data();
  product.b_offsets = cut.b_offsets.data();
  product.steps = static_cast<std::int64_t>(cut.a_offsets.size());
  product.c = sums;
  const std::int64_t steps = std::max<std::int64_t>(1, product.steps);
  product.ahead = &ahead;
  product.ahead_lines = blocks_of(ahead.lines(), item.blocks * blocks_of(count, 2) * steps);
  // The gate of a product's results is prefetched during the product, then what is ahead.
  LinesAhead gate_lines;
  const std::int64_t result_step = shape_.parts[item.part].step[1] * shape_.out.channels;
  const auto lines_of = [&](const TileRow& row, const To* gate, std::int64_t columns) {
    const auto* const wanted =
        std::find_if(row.results, row.results + kTileRows, [](std::int64_t at) { return at >= 0; });
    if (wanted == row.results + kTileRows) return LinesAhead(nullptr, 0, 0, 0, &ahead);
    const std::int64_t width = static_cast<std::int64_t>(sizeof(To) / sizeof(bfloat16));
    return LinesAhead(reinterpret_cast<const bfloat16*>(gate + *wanted), kBlock, columns * width, result_step * width,
                      &ahead);
  };
  if (epilogue.gate != nullptr) {
    product.ahead = &gate_lines;
    product.ahead_lines += blocks_of(kBlock, steps);
  }
  for (std::int64_t block = item.first_block; block < item.first_block + item.blocks; ++block) {
    const std::int64_t columns = std::min(kBlock, form_.columns() - block * kBlock);
    const std::int64_t channel = item.group * form_.columns() + block * kBlock;
    To* const results = pooled_ ? reinterpret_cast<To*>(memory + band_at_) : out + channel;
    product.b[0] = weights + form_.block_at(item.group, block);
    product.b[1] = product.b[0] + kTileValues;
    for (std::int64_t first = 0; first < count; first += 2) {
      const std::int64_t pair = std::min<std::int64_t>(2, count - first);
      for (std::int64_t i = 0; i < pair; ++i) product.a[i] = rows[first + i].pixels;
      if (epilogue.gate != nullptr) gate_lines = lines_of(rows[first], epilogue.gate + channel, columns);
      code_.multiply[pair - 1][columns > kTileColumns](product);
      if (epilogue.gate != nullptr && gate_lines.last()) ahead = gate_lines;  // some of it was fetched
      for (std::int64_t i = 0; i < pair; ++i) {
        for (std::int64_t r = 0; r < kTileRows; ++r) {
          const std::int64_t at = rows[first + i].results[r];
          to[r] = at < 0 ? nullptr : results + at;
          if (epilogue.addend != nullptr) added[r] = at < 0 ? nullptr : epilogue.addend + at + channel;
          if (epilogue.gate != nullptr) gates[r] = at < 0 ? nullptr : epilogue.gate + at + channel;
        }
        const TileResultOf<To> result{sums + i * 2 * kTileSums,
                                      columns,
                                      epilogue.bias == nullptr ? nullptr : epilogue.bias + channel,
                                      epilogue.relu,
                                      to,
                                      epilogue.addend == nullptr ? nullptr : added,
                                      false,
                                      epilogue.gate == nullptr ? nullptr : gates,
                                      past_caches_ && !pooled_};
        if constexpr (std::is_same_v<To, float>) {
          code_.finish_wide(result);
        } else {
          code_.finish(result);
        }
      }
    }
    if constexpr (std::is_same_v<To, bfloat16>) {
      for (std::int64_t i = 0; pooled_ && i < item.images; ++i) {
        pooled_->pool({item.first_window, item.end_window, item.row, item.rows}, item.image + i, channel,
                      results + i * pooled_->band_values(item.rows), out, index);
      }
    }
  }
}

std::int64_t CorrelationCode::result_at(const Part& part, std::int64_t image, std::int64_t row,
                                        std::int64_t column) const {
  const std::int64_t down = image * shape_.out.size[0] + part.origin[0] + row * part.step[0];
  return (down * shape_.out.size[1] + part.origin[1] + column * part.step[1]) * shape_.out.channels;
}

std::int64_t CorrelationCode::tile_rows(const Item& item, const bfloat16* pixels, TileRow* rows) const {
  const Cut& cut = cuts_[item.part];
  const Part& part = shape_.parts[item.part];
  const std::int64_t pitch = cut.stage.pitch();
  const std::int64_t step = staged_ ? cut.stage.pixel() : shape_.in.channels;
  // Nothing is needed after the last result of an image's last row.
  const std::int64_t length = (item.rows - 1) * pitch + part.size[1];
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < item.images; ++i) {
    for (std::int64_t first = 0; first < length; first += kTileRows, ++count) {
      // Reads must not go beyond an image that is not staged: its last tile begins earlier.
      std::int64_t start = first;
      if (!staged_ && item.row * pitch + first + kTileRows > shape_.in.size[0] * pitch) {
        start = shape_.in.size[0] * pitch - kTileRows - item.row * pitch;
      }
      rows[count].pixels = pixels + (i * (staged_ ? cut.stage.image_values(cut.rows) : 0)) + start * step;
      for (std::int64_t r = 0; r < kTileRows; ++r) {
        const std::int64_t at = start + r;
        const std::int64_t row = at >= 0 ? at / pitch : 0, column = at >= 0 ? at % pitch : 0;
        const bool wanted = at >= first && row < item.rows && column < part.size[1];
        rows[count].results[r] = !wanted   ? -1
                                 : pooled_ ? ((i * item.rows + row) * part.size[1] + column) * kBlock
                                           : result_at(part, item.image + i, item.row + row, column);
      }
    }
  }
  return count;
}

}  // namespace ridgeline::device::tiles
