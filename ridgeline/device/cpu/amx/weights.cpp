#include "ridgeline/device/cpu/amx/weights.h"

#include <algorithm>
#include <cstring>

#include "ridgeline/device/cpu/own/common.h"

namespace ridgeline::device::amx {
namespace {

// One block of columns at one tap: columns are rows of the plain weights, pairs of depths lie side by side in them.
void pack_filters(const WeightsForm& f, std::int64_t group, std::int64_t block, std::int64_t tap, const bfloat16* plain,
                  bfloat16* to) {
  clear(to, f.chunks() * 2 * kTileValues);
  for (std::int64_t column = 0; column < std::min(kBlock, f.filters - block * kBlock); ++column) {
    const std::int64_t filter = group * f.filters + block * kBlock + column;
    const bfloat16* from = plain + (filter * f.taps + tap) * f.channels;
    bfloat16* out = to + column / kTileColumns * kTileValues + column % kTileColumns * 2;
    for (std::int64_t c = 0; c < f.channels; c += 2) {
      const std::size_t pair = c + 1 < f.channels ? 2 : 1;
      std::memcpy(out + c / kTileDepth * 2 * kTileValues + c % kTileDepth / 2 * kTileDepth, from + c,
                  pair * sizeof(bfloat16));
    }
  }
}

// Columns lie side by side, depths are rows.
void pack_channels(const WeightsForm& f, const TileCode& code, std::int64_t group, std::int64_t block, std::int64_t tap,
                   const bfloat16* plain, bfloat16* to) {
  const std::int64_t length = std::min(kBlock, f.channels - block * kBlock);
  const auto row = [&](std::int64_t filter) -> const bfloat16* {
    if (filter >= f.filters) return nullptr;
    return plain + ((group * f.filters + filter) * f.taps + tap) * f.channels + block * kBlock;
  };
  for (std::int64_t pair = 0; pair < f.chunks() * kTileDepth / 2; ++pair) {
    bfloat16* out = to + pair / kTileRows * 2 * kTileValues + pair % kTileRows * kTileDepth;
    if (length <= kTileColumns) clear(out + kTileValues, kTileDepth);
    code.interleave(row(2 * pair), row(2 * pair + 1), length, out, kTileValues);
  }
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
    if (from != nullptr) return nullptr;
    return make_body_kernel(
        "", [form = form_, code = &tile_code(tiles_), threads = compute_threads()](const KernelArguments& a) {
          const ComputeScope team(threads);
          form.pack(*code, input<const bfloat16>(a, 0), output<bfloat16>(a, 0));
        });
  }

 private:
  WeightsForm form_;
  Tiles tiles_;
};

}  // namespace

void WeightsForm::pack(const TileCode& code, const bfloat16* plain, bfloat16* packed) const {
  parallel_for(groups * column_blocks() * taps, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t tap = i % taps, block = i / taps % column_blocks(), group = i / taps / column_blocks();
      bfloat16* to = packed + block_at(group, block) + step_at(tap, 0);
      if (turned) {
        pack_channels(*this, code, group, block, tap, plain, to);
      } else {
        pack_filters(*this, group, block, tap, plain, to);
      }
    }
  });
}

Layout weights_layout(const WeightsForm& form, Tiles tiles) {
  return Layout(std::make_shared<WeightsLayout>(form, tiles));
}

}  // namespace ridgeline::device::amx
