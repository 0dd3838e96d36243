#include "ridgeline/device/cpu/tiles/dense_weights.h"

#include <algorithm>

#include "ridgeline/device/cpu/common.h"
#include "ridgeline/device/cpu/tiles/dense_states.h"

namespace ridgeline::device::tiles {
namespace {

class DenseLayout final : public BlockedLayout {
 public:
  DenseLayout(const DenseForm& form, Tiles tiles) : form_(form), tiles_(tiles) {}
  std::size_t bytes() const override { return static_cast<std::size_t>(form_.values()) * sizeof(bfloat16); }
  std::string name() const override { return "tiles of outputs"; }
  bool equals(const BlockedLayout& other) const override {
    const auto* same = dynamic_cast<const DenseLayout*>(&other);
    return same != nullptr && same->form_ == form_;
  }
  bool one_way() const override { return true; }
  void from_plain(const void* plain, void* blocked) const override {
    form_.pack(tile_code(tiles_), static_cast<const bfloat16*>(plain), static_cast<bfloat16*>(blocked));
  }
  std::unique_ptr<Kernel> make_conversion(const BlockedLayout* from) const override {
    return from == nullptr ? packing<bfloat16>(&DenseForm::pack) : nullptr;
  }
  std::unique_ptr<Kernel> make_cast(DType from_type, const BlockedLayout* from) const override {
    if (from_type != DType::f32) return nullptr;
    if (is_dense_states_layout(from, form_)) return packing<float>(&DenseForm::pack_blocks);
    return from == nullptr ? packing<float>(&DenseForm::pack) : nullptr;
  }
  const DenseForm& form() const { return form_; }

 private:
  template <class From>
  std::unique_ptr<Kernel> packing(void (DenseForm::*pack)(const TileCode&, const From*, bfloat16*) const) const {
    return make_body_kernel(
        "", [form = form_, pack, code = &tile_code(tiles_), threads = compute_threads()](const KernelArguments& a) {
          const ComputeScope team(threads);
          (form.*pack)(*code, input<const From>(a, 0), output<bfloat16>(a, 0));
        });
  }

  DenseForm form_;
  Tiles tiles_;
};

}  // namespace

void DenseForm::store_rows(const TileCode& code, const bfloat16* rows, std::int64_t row_step, std::int64_t count,
                           std::int64_t n, bfloat16* to) {
  for (std::int64_t at = 0; at < n; at += kTileDepth, to += kStepValues)
    code.stream_rows(rows + at, row_step, count, std::min(kTileDepth, n - at), to, kBlock);
}

void DenseForm::pack(const TileCode& code, const bfloat16* plain, bfloat16* packed) const {
  parallel_for(blocks(), 1, [&](std::int64_t begin, std::int64_t end) {
    const TileScope scope(code);  // ends with a fence behind stores past the caches
    for (std::int64_t block = begin; block < end; ++block) {
      store_rows(code, plain + block * kBlock * inputs, inputs, std::min(kBlock, outputs - block * kBlock), inputs,
                 packed + at(block, 0));
    }
  });
}

void DenseForm::pack(const TileCode& code, const float* plain, bfloat16* packed) const {
  constexpr std::int64_t kRun = 512;  // inputs: the rounded rows stay in the first cache
  parallel_for(blocks(), 1, [&](std::int64_t begin, std::int64_t end) {
    const TileScope scope(code);
    bfloat16 rounded[kBlock * kRun];
    for (std::int64_t block = begin; block < end; ++block) {
      const std::int64_t count = std::min(kBlock, outputs - block * kBlock);
      for (std::int64_t first = 0; first < inputs; first += kRun) {
        const std::int64_t n = std::min(kRun, inputs - first);
        for (std::int64_t row = 0; row < count; ++row)
          code.round(plain + (block * kBlock + row) * inputs + first, n, rounded + row * kRun);
        store_rows(code, rounded, kRun, count, n, packed + at(block, first / kTileDepth));
      }
    }
  });
}

void DenseForm::pack_blocks(const TileCode& code, const float* states, bfloat16* packed) const {
  parallel_for(blocks() * steps(), steps(), [&](std::int64_t begin, std::int64_t end) {
    const TileScope scope(code);
    bfloat16 rounded[kStepValues];
    for (std::int64_t at = begin * kStepValues; at < end * kStepValues; at += kStepValues) {
      code.round(states + at, kStepValues, rounded);
      store_rows(code, rounded, kTileDepth, kBlock, kTileDepth, packed + at);
    }
  });
}

Layout dense_layout(const DenseForm& form, Tiles tiles) { return Layout(std::make_shared<DenseLayout>(form, tiles)); }

bool is_dense_layout(const Layout& layout, const DenseForm& form) {
  const auto* dense = dynamic_cast<const DenseLayout*>(layout.blocked());
  return dense != nullptr && dense->form() == form;
}

}  // namespace ridgeline::device::tiles
