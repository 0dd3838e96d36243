// ridgeline/data/sample/step.h
//
// What a transform does to one value. Steps are immutable and shared by all workers; a map runs them one after the
// other on a Frame, so that a sample stays in cache from its bytes to its place in the batch.
#pragma once

#include <memory>

#include "ridgeline/core/random.h"
#include "ridgeline/data/ir/graph.h"
#include "ridgeline/data/sample/scratch.h"

namespace ridgeline::data {

struct Frame;

// Takes the rows of a resize as they are made (resize_write): the image between the two steps is never stored.
class RowTail {
 public:
  virtual ~RowTail() = default;
  // Runs the prepared resizer on `part` and makes frame.cell from its rows. Clears frame.tail.
  virtual void resample(Frame& frame, image::Resizer& resizer, const image::ImageView& part) const = 0;
};

// One value on its way through the steps.
struct Frame {
  Cell cell;
  RowInfo row;                                      // the counter of random draws, and the record's objects
  std::vector<image::ObjectBox>* boxes = nullptr;   // carried along by geometric steps; null: none
  std::vector<std::int32_t>* box_labels = nullptr;  // labels of the boxes; null: none
  std::string* geometry = nullptr;                  // where geometric steps record what they did; null: not recorded
  std::size_t place = 0;                            // of the column's workspace in the scratch
  Workspace* work = nullptr;
  std::uint8_t* slot = nullptr;  // the value's place in the batch; set while the last writing step runs
  std::size_t slot_bytes = 0;
  const RowTail* tail = nullptr;  // takes the rows of the resize at the end of the step, and the slot; null: none
  int turn = 0;

  image::ImageView view() const { return view_of(cell); }
  void set(const image::ImageView& view) { cell = image_cell(view); }
  std::span<const std::uint8_t> encoded() const { return {cell.data, cell.bytes}; }
  // Where a step writes `bytes` bytes: into the batch if it is the last one, else into a buffer other than its input.
  std::uint8_t* output(std::size_t bytes);
  // The random numbers of this row for a step's key.
  SampleRandom random(PhiloxKey key) const { return {key, row.epoch, row.record}; }
};

class Step {
 public:
  virtual ~Step() = default;
  virtual void run(Frame& frame, Scratch& scratch) const = 0;
  // Whether it may write a new value. Steps that never do are skipped when looking for the last writer.
  virtual bool writes() const { return true; }
};

// The step of a transform in a run with the given seed, by its entry in the table of transforms.
std::unique_ptr<Step> make_step(const Transform& transform, std::uint64_t seed);

// For entries: steps that draw nothing, and those that draw under the run's seed.
template <class T>
std::unique_ptr<Step> step(const Transform& transform, std::uint64_t) {
  return std::make_unique<T>(transform);
}
template <class T>
std::unique_ptr<Step> seeded_step(const Transform& transform, std::uint64_t seed) {
  return std::make_unique<T>(transform, seed);
}

// ---- what geometric steps share

inline image::Size size_of(const image::ImageView& view) { return {view.height, view.width}; }
inline std::size_t bytes_of(image::Size size, int channels) {
  return static_cast<std::size_t>(size.height) * static_cast<std::size_t>(size.width) *
         static_cast<std::size_t>(channels);
}
inline image::ImageView packed(const std::uint8_t* data, image::Size size, int channels) {
  return {data, size.height, size.width, channels, static_cast<std::ptrdiff_t>(size.width) * channels};
}

// `fill` has one value for all channels, or three.
inline image::Colour colour_of(const Integers& fill) {
  const auto at = [&](std::size_t i) { return static_cast<std::uint8_t>(fill[i]); };
  return {at(0), at(fill.size() / 2), at(fill.size() - 1)};
}

}  // namespace ridgeline::data
