// Steps made of other steps, and clip_boxes.
#include <algorithm>
#include <utility>

#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/runtime/steps/nested_plan.h"
#include "ridgeline/data/runtime/steps/step.h"
#include "ridgeline/image/boxes.h"

namespace ridgeline::data {
namespace {

class Nested : public Step {
 public:
  Nested(const Transform& t, std::uint64_t seed) : key_(philox_key(seed, t.name)), plan_(t) {
    for (const Transform& operation : t.operations) steps_.push_back({operation.op, make_step(operation, seed)});
  }

  void run(Frame& frame, Scratch& scratch) const override {
    SampleRandom random = frame.random(key_);
    const std::vector<std::size_t> chosen = plan_.draw(random);
    // Only the last one that makes the value anew may write it into the batch.
    const auto last =
        std::find_if(chosen.rbegin(), chosen.rend(), [&](std::size_t i) { return steps_[i].step->writes(); });
    const auto writer = static_cast<std::size_t>(chosen.rend() - last);  // its place in `chosen`, from 1; 0: none
    std::uint8_t* slot = std::exchange(frame.slot, nullptr);
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      const auto& [op, step] = steps_[chosen[k]];
      frame.slot = k + 1 == writer ? slot : nullptr;
      try {
        step->run(frame, scratch);
      } catch (const Error& e) {
        throw Error(std::string(e.what()) + " (in " + op + ")", e.kind());
      }
    }
    frame.slot = slot;
  }
  bool writes() const override {
    return std::any_of(steps_.begin(), steps_.end(), [](const Named& n) { return n.step->writes(); });
  }

 private:
  struct Named {
    std::string op;
    std::unique_ptr<Step> step;
  };
  PhiloxKey key_;
  NestedPlan plan_;
  std::vector<Named> steps_;
};

class ClipBoxes : public Step {
 public:
  explicit ClipBoxes(const Transform& t) : law_{arg<double>(t.args, "min_area"), arg<double>(t.args, "min_share")} {}
  void run(Frame& frame, Scratch&) const override {
    if (!frame.boxes) return;
    const image::Size size{static_cast<int>(frame.cell.dims[0]), static_cast<int>(frame.cell.dims[1])};
    const std::vector<std::size_t> kept = image::clip_and_drop_boxes(*frame.boxes, size, law_);
    if (!frame.box_labels) return;
    std::vector<std::int32_t>& labels = *frame.box_labels;
    for (std::size_t i = 0; i < kept.size(); ++i) labels[i] = labels[kept[i]];
    labels.resize(kept.size());
  }
  bool writes() const override { return false; }

 private:
  image::BoxLaw law_;
};

}  // namespace

std::unique_ptr<Step> make_nested_step(const Transform& t, std::uint64_t seed) {
  const TransformEntry& entry = transform_entry(t.op);
  return entry.nests && !entry.fused_sequence ? std::make_unique<Nested>(t, seed) : nullptr;
}

std::unique_ptr<Step> make_box_step(const Transform& t) {
  return t.op == "clip_boxes" ? std::make_unique<ClipBoxes>(t) : nullptr;
}

}  // namespace ridgeline::data
