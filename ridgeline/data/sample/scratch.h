// ridgeline/data/sample/scratch.h
//
// What one thread needs while it makes rows: decoders, buffers for values between steps, counters. Never shared by two
// threads at a time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ridgeline/data/sample/jpeg_indices.h"
#include "ridgeline/data/sample/record.h"
#include "ridgeline/image/decode.h"
#include "ridgeline/image/resample/resample.h"

namespace ridgeline::data {

// The stages of the work that are timed separately.
enum class Part { read, decode, pixels };
inline constexpr int kParts = 3;

// Written by one thread, read by any: plain stores, no lock.
struct alignas(64) Counters {
  std::atomic<std::uint64_t> nanoseconds[kParts]{};
  std::atomic<std::uint64_t> samples[kParts]{};
  std::atomic<std::uint64_t> bytes[kParts]{};
  void add(Part part, std::uint64_t ns, std::uint64_t n, std::uint64_t b);
};

// What an order node looked up last (a permutation), so that not every row needs the lock.
struct Memo {
  std::shared_ptr<const void> value;
  std::uint64_t epoch = 0;
};

struct Workspace;

// The row that a node with several readers made last, and for which row of the consumer. Readers that ask for different
// rows at the same time (one of them through a shuffle) need separate memory: all except the first use `below` instead
// of the places of the nodes below.
struct SharedRow {
  std::uint64_t serial = 0, epoch = 0, position = 0, row_epoch = 0, row_record = 0;
  const std::vector<image::ObjectBox>* objects = nullptr;
  std::vector<Cell> cells;
  std::vector<std::unique_ptr<Workspace>> below;
};

// The working memory of one node of the tree (its "place"). Cells point into it: it never moves.
struct Workspace {
  Record record;
  std::vector<std::uint8_t> buffers[2];  // values between steps, used in turn
  std::vector<image::ObjectBox> boxes;   // carried through the steps of a map
  std::vector<std::int32_t> box_labels;  // their labels
  std::vector<float> box_values;         // the boxes, as a column
  std::vector<Cell> cells;
  std::vector<void*> targets;
  std::uint8_t flip = 0;
  Memo memo;
  std::vector<SharedRow> shared;
  std::string geometry;  // what the steps of a map did to the image (geometry.h)
};

struct Scratch {
  explicit Scratch(int places) {
    for (int i = 0; i < places; ++i) work.push_back(std::make_unique<Workspace>());
  }
  Workspace& at(std::size_t place) { return *work[place]; }
  image::Decoder decoder;
  JpegIndices* indices = nullptr;  // of the run; null: none are made
  image::Resizer resizer;
  image::Image spare;  // between the operations of one step
  Counters counters;
  std::vector<std::unique_ptr<Workspace>> work;  // by place
  std::vector<Cell> cells;                       // the row that is being made
  std::vector<void*> targets;
  std::uint64_t serial = 0;  // counts the consumer's rows
  std::chrono::steady_clock::time_point mark;

  // For rows cheaper than reading the clock: only every 16th is timed and counts for all of them.
  static constexpr std::uint64_t kSampled = 16;
  bool cheap = false;
  bool timed = true;

  // At the start of every row.
  void begin() {
    timed = ++serial % kSampled == 0 || !cheap;
    if (timed) mark = std::chrono::steady_clock::now();
  }
  // Charges the time since the last mark to `part`.
  void lap(Part part, std::uint64_t bytes);
};

}  // namespace ridgeline::data
