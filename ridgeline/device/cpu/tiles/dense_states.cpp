#include "ridgeline/device/cpu/tiles/dense_states.h"

#include <algorithm>

#include "ridgeline/core/error.h"
#include "ridgeline/device/cpu/common.h"

namespace ridgeline::device::tiles {
namespace {

class DenseStatesLayout final : public BlockedLayout {
 public:
  explicit DenseStatesLayout(const DenseForm& form) : form_(form) {
    RIDGELINE_CHECK(form.inputs % kTileDepth == 0, "states in blocks need whole blocks of inputs");
  }
  std::size_t bytes() const override { return static_cast<std::size_t>(form_.values()) * sizeof(float); }
  std::string name() const override { return "blocks of outputs"; }
  bool equals(const BlockedLayout& other) const override { return is_dense_states_layout(&other, form_); }
  void to_plain(const void* blocked, void* plain) const override {
    const auto* const from = static_cast<const float*>(blocked);
    auto* const to = static_cast<float*>(plain);
    for_runs([&](std::int64_t row, std::int64_t in_block) { std::copy_n(from + in_block, kTileDepth, to + row); });
  }
  void from_plain(const void* plain, void* blocked) const override {
    const auto* const from = static_cast<const float*>(plain);
    auto* const to = static_cast<float*>(blocked);
    for_runs([&](std::int64_t row, std::int64_t in_block) { std::copy_n(from + row, kTileDepth, to + in_block); });
    const std::int64_t last = form_.outputs / kBlock, there = form_.outputs % kBlock;
    for (std::int64_t step = 0; there > 0 && step < form_.steps(); ++step)
      std::fill(to + form_.at(last, step) + there * kTileDepth, to + form_.at(last, step + 1), 0.0f);
  }
  std::unique_ptr<Kernel> make_conversion(const BlockedLayout* from) const override {
    return from == nullptr ? conversion(&DenseStatesLayout::from_plain) : nullptr;
  }
  std::unique_ptr<Kernel> make_conversion_to_plain() const override { return conversion(&DenseStatesLayout::to_plain); }
  const DenseForm& form() const { return form_; }

 private:
  // move(place in plain rows, place in blocks) for each run of 32 inputs; by the team.
  template <class Move>
  void for_runs(const Move& move) const {
    parallel_for(form_.outputs, kBlock, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        for (std::int64_t step = 0; step < form_.steps(); ++step) {
          move(row * form_.inputs + step * kTileDepth, form_.at(row / kBlock, step) + row % kBlock * kTileDepth);
        }
      }
    });
  }

  std::unique_ptr<Kernel> conversion(void (DenseStatesLayout::*convert)(const void*, void*) const) const {
    return make_body_kernel("", [layout = *this, convert, threads = compute_threads()](const KernelArguments& a) {
      const ComputeScope team(threads);
      (layout.*convert)(a.inputs[0], a.outputs[0]);
    });
  }

  DenseForm form_;
};

}  // namespace

Layout dense_states_layout(const DenseForm& form) { return Layout(std::make_shared<DenseStatesLayout>(form)); }

bool is_dense_states_layout(const BlockedLayout* layout, const DenseForm& form) {
  const auto* states = dynamic_cast<const DenseStatesLayout*>(layout);
  return states != nullptr && states->form() == form;
}

}  // namespace ridgeline::device::tiles
