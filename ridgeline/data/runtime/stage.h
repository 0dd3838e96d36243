// ridgeline/data/runtime/stage.h
//
// The per-sample work: read one record, run all transforms, write one row of a batch. Consecutive transforms are one
// stage: one thread takes a sample from its bytes to its place in the batch while it is in cache. The stage is
// immutable and shared; what changes is in a Scratch, one a thread. Threaded and pull execution call the same run().
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "ridgeline/data/ir/graph.h"
#include "ridgeline/data/runtime/order.h"
#include "ridgeline/data/source/source.h"
#include "ridgeline/image/decode.h"
#include "ridgeline/image/resample.h"

namespace ridgeline::data {

// The parts of the stage that are timed apart.
enum class Part { read, decode, pixels };
inline constexpr int kParts = 3;

// Written by one thread, read by any: plain stores, no lock.
struct alignas(64) Counters {
  std::atomic<std::uint64_t> nanoseconds[kParts]{};
  std::atomic<std::uint64_t> samples[kParts]{};
  std::atomic<std::uint64_t> bytes[kParts]{};
  void add(Part part, std::uint64_t ns, std::uint64_t n, std::uint64_t b);
};

// The working memory of one thread.
struct Scratch {
  Record record;
  image::Decoder decoder;
  image::Resizer resizer;
  std::vector<std::uint8_t> buffers[2];  // images between steps, in turn
  Counters counters;
  std::chrono::steady_clock::time_point mark;
  // Charges the time since the last mark to `part`.
  void lap(Part part, std::uint64_t bytes);
};

// One image on its way through the steps.
struct Frame {
  std::span<const std::uint8_t> encoded;  // until decoded
  image::ImageView view;                  // u8 pixels
  const float* floats = nullptr;          // f32 pixels instead, without gaps; extents as in view
  const std::vector<image::ObjectBox>* objects = nullptr;
  std::uint64_t epoch = 0, record = 0;  // counter of the random draws
  std::uint8_t flip = 0;                // draw_flip's answer
  std::uint8_t* slot = nullptr;         // where the image ends; set while the last step runs
  std::size_t slot_bytes = 0;
  int turn = 0;

  // Where a step writes `bytes` of pixels: into the batch if it is the last one, else into a buffer.
  std::uint8_t* output(Scratch& scratch, std::size_t bytes);
};

class Step {
 public:
  virtual ~Step() = default;
  virtual void run(Frame& frame, Scratch& scratch) const = 0;
};

class Stage {
 public:
  // `graph` has been prepared by the passes.
  Stage(const DataGraph& graph, std::uint64_t seed);
  ~Stage();

  const Schema& columns() const { return columns_; }
  const Source& source() const { return *source_; }

  // Writes one sample. `row[i]` is the place of column i: its bytes, or a std::string for a column of bytes.
  // Errors name file, record, byte, op and reason.
  void run(SampleRef ref, const std::vector<void*>& row, Scratch& scratch) const;

 private:
  void run_image(const std::string*& op, SampleRef ref, void* out, std::uint8_t* flip, Scratch& scratch) const;

  const Source* source_;
  std::shared_ptr<SourceHandle> keep_;
  Schema columns_;
  Column stored_image_;  // as the source gives it
  struct Named {
    std::string op;
    std::unique_ptr<Step> step;
  };
  std::vector<Named> steps_;
  std::size_t last_writer_ = 0;     // the step whose output is the batch's memory
  std::vector<int> from_;           // source column of each column; -1: flip
  int image_ = -1, flip_ = -1;      // columns
  std::vector<std::size_t> bytes_;  // of one row of each column
};

// The step of a transform in a stage with the given seed.
std::unique_ptr<Step> make_step(const Transform& transform, std::uint64_t seed);

}  // namespace ridgeline::data
