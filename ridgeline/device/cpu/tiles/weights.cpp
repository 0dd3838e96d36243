#include "ridgeline/device/cpu/tiles/weights.h"

#include <algorithm>

#include "ridgeline/device/cpu/common.h"

namespace ridgeline::device::tiles {
namespace {

constexpr std::int64_t kRun = 512;  // channels that are rounded at a time: 32 rows of them stay in the first cache

// `count` rows of `n` bf16 values: in place, or rounded in `room`, which has rows of kRun values.
struct Rows {
  const bfloat16* at;
  std::int64_t step;
};
Rows rows_of(const TileCode&, const bfloat16* from, std::int64_t step, std::int64_t, std::int64_t, bfloat16*) {
  return {from, step};
}
Rows rows_of(const TileCode& code, const float* from, std::int64_t step, std::int64_t count, std::int64_t n,
             bfloat16* room) {
  constexpr std::int64_t kLine = 16;
  for (std::int64_t row = 0; row < count; ++row, from += step) {
    // Runs this short are not prefetched by the processor: each is followed by that of the next tap.
    for (std::int64_t i = n; i < 2 * n; i += kLine) __builtin_prefetch(from + i, 0, 2);
    code.round(from, n, room + row * kRun);
  }
  return {room, kRun};
}

// One block of columns at one tap: columns are rows of the plain weights, pairs of depths are contiguous in them.
template <class From>
void pack_filters(const WeightsForm& f, const TileCode& code, std::int64_t group, std::int64_t block, std::int64_t tap,
                  const From* plain, bfloat16* packed) {
  const std::int64_t step = f.taps * f.channels, first = block * kBlock;
  const From* const from = plain + (group * f.filters + first) * step + tap * f.channels;
  const std::int64_t columns = std::min(kBlock, f.filters - first);
  bfloat16 room[kBlock * kRun];
  for (std::int64_t run = 0; run < f.channels; run += kRun) {
    const std::int64_t n = std::min(kRun, f.channels - run);
    const Rows rows = rows_of(code, from + run, step, columns, n, room);
    for (std::int64_t c = 0; c < n; c += kTileDepth) {
      bfloat16* to = packed + f.block_at(group, block) + f.step_at(tap, (run + c) / kTileDepth);
      for (std::int64_t column = 0; column < kBlock; column += kTileColumns, to += kTileValues) {
        const std::int64_t there = std::clamp<std::int64_t>(columns - column, 0, kTileColumns);
        code.pair_columns(rows.at + column * rows.step + c, rows.step, there, std::min(kTileDepth, n - c), to);
      }
    }
  }
}

// One chunk of depths at one tap: depths are rows, columns are contiguous.
template <class From>
void pack_channels(const WeightsForm& f, const TileCode& code, std::int64_t group, std::int64_t chunk, std::int64_t tap,
                   const From* plain, bfloat16* packed) {
  const std::int64_t step = f.taps * f.channels, first = chunk * kTileDepth;
  const From* const from = plain + (group * f.filters + first) * step + tap * f.channels;
  const std::int64_t filters = std::min(kTileDepth, f.filters - first);
  bfloat16 room[kTileDepth * kRun];
  for (std::int64_t run = 0; run < f.channels; run += kRun) {
    const std::int64_t n = std::min(kRun, f.channels - run);
    const Rows rows = rows_of(code, from + run, step, filters, n, room);
    for (std::int64_t c = 0; c < n; c += kBlock) {
      bfloat16* to = packed + f.block_at(group, (run + c) / kBlock) + f.step_at(tap, chunk);
      const std::int64_t length = std::min(kBlock, n - c);
      for (std::int64_t filter = 0; filter < kTileDepth; filter += 2, to += kTileDepth) {
        const auto row = [&](std::int64_t i) { return i < filters ? rows.at + i * rows.step + c : nullptr; };
        if (length <= kTileColumns) clear(to + kTileValues, kTileDepth);
        code.interleave(row(filter), row(filter + 1), length, to, kTileValues);
      }
    }
  }
}

template <class From>
void pack_plain(const WeightsForm& f, const TileCode& code, const From* plain, bfloat16* packed) {
  const std::int64_t parts = f.turned ? f.chunks() : f.column_blocks();
  parallel_for(f.groups * parts * f.taps, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t tap = i % f.taps, part = i / f.taps % parts, group = i / f.taps / parts;
      if (f.turned) {
        pack_channels(f, code, group, part, tap, plain, packed);
      } else {
        pack_filters(f, code, group, part, tap, plain, packed);
      }
    }
  });
}

class WeightsLayout final : public BlockedLayout {
 public:
  WeightsLayout(const WeightsForm& form, Tiles tiles) : form_(form), tiles_(tiles) {}
  std::size_t bytes() const override { return static_cast<std::size_t>(form_.values()) * sizeof(bfloat16); }
  std::string name() const override { return form_.turned ? "tiles of channels" : "tiles of filters"; }
  bool equals(const BlockedLayout& other) const override {
    const auto* same = dynamic_cast<const WeightsLayout*>(&other);
    return same != nullptr && same->form_ == form_;
  }
  bool one_way() const override { return true; }
  void from_plain(const void* plain, void* blocked) const override {
    form_.pack(tile_code(tiles_), static_cast<const bfloat16*>(plain), static_cast<bfloat16*>(blocked));
  }
  std::unique_ptr<Kernel> make_conversion(const BlockedLayout* from) const override {
    return from == nullptr ? packing<bfloat16>() : nullptr;
  }
  std::unique_ptr<Kernel> make_cast(DType from_type, const BlockedLayout* from) const override {
    return from == nullptr && from_type == DType::f32 ? packing<float>() : nullptr;
  }

 private:
  template <class From>
  std::unique_ptr<Kernel> packing() const {
    return make_body_kernel(
        "", [form = form_, code = &tile_code(tiles_), threads = compute_threads()](const KernelArguments& a) {
          const ComputeScope team(threads);
          form.pack(*code, input<const From>(a, 0), output<bfloat16>(a, 0));
        });
  }

  WeightsForm form_;
  Tiles tiles_;
};

}  // namespace

void WeightsForm::pack(const TileCode& code, const bfloat16* plain, bfloat16* packed) const {
  pack_plain(*this, code, plain, packed);
}

void WeightsForm::pack(const TileCode& code, const float* plain, bfloat16* packed) const {
  pack_plain(*this, code, plain, packed);
}

Layout weights_layout(const WeightsForm& form, Tiles tiles) {
  return Layout(std::make_shared<WeightsLayout>(form, tiles));
}

}  // namespace ridgeline::device::tiles
