#include "ridgeline/data/runtime/stage.h"

#include <cstring>

#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/ir/registry.h"
#include "ridgeline/image/pixels.h"

namespace ridgeline::data {

void Counters::add(Part part, std::uint64_t ns, std::uint64_t n, std::uint64_t b) {
  const auto i = static_cast<std::size_t>(part);
  const auto plus = [](std::atomic<std::uint64_t>& x, std::uint64_t d) {
    x.store(x.load(std::memory_order_relaxed) + d, std::memory_order_relaxed);
  };
  plus(nanoseconds[i], ns);
  plus(samples[i], n);
  plus(bytes[i], b);
}

void Scratch::lap(Part part, std::uint64_t bytes) {
  const auto now = std::chrono::steady_clock::now();
  counters.add(part, static_cast<std::uint64_t>(std::chrono::nanoseconds(now - mark).count()), 1, bytes);
  mark = now;
}

std::uint8_t* Frame::output(Scratch& scratch, std::size_t bytes) {
  if (slot) {
    RIDGELINE_CHECK(bytes == slot_bytes, "the last step writes another size than the schema says");
    return slot;
  }
  std::vector<std::uint8_t>& buffer = scratch.buffers[turn ^= 1];
  if (buffer.size() < bytes) buffer.resize(bytes);
  return buffer.data();
}

Stage::Stage(const DataGraph& graph, std::uint64_t seed) {
  const std::vector<const Node*> chain = chain_of(graph);
  keep_ = chain[0]->source;
  source_ = &source_of(*chain[0]);
  const Schema stored = source_->schema();
  columns_ = stored;
  for (const Node* node : chain) {
    for (std::size_t i = 0; i < node->operations.size(); ++i) {
      if (node->operations[i].op != "draw_flip") last_writer_ = steps_.size();
      steps_.push_back({node->operations[i].op, make_step(node->operations[i], seed)});
      columns_ = transform_entry(node->operations[i].op).schema(node->operations[i], columns_);
    }
  }
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Column* origin = find_column(stored, columns_[i].name);
    if (columns_[i].name == "image" && !steps_.empty()) {
      image_ = static_cast<int>(i);
      stored_image_ = *origin;
    }
    from_.push_back(origin ? static_cast<int>(origin - stored.data()) : -1);
    if (!origin) flip_ = static_cast<int>(i);
    std::size_t bytes = size_of(columns_[i].dtype);
    for (const std::int64_t extent : columns_[i].shape)
      bytes *= extent == kVaries ? 0 : static_cast<std::size_t>(extent);
    bytes_.push_back(bytes);
  }
}

Stage::~Stage() = default;

void Stage::run(SampleRef ref, const std::vector<void*>& row, Scratch& scratch) const {
  scratch.mark = std::chrono::steady_clock::now();
  source_->read(ref.index, scratch.record);
  std::size_t read = 0;
  for (const auto& column : scratch.record.columns) read += column.size();
  scratch.lap(Part::read, read);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (static_cast<int>(i) == image_ || static_cast<int>(i) == flip_) continue;
    const std::span<const std::uint8_t> value = scratch.record.columns[static_cast<std::size_t>(from_[i])];
    if (columns_[i].dtype == DType::bytes) {
      static_cast<std::string*>(row[i])->assign(reinterpret_cast<const char*>(value.data()), value.size());
    } else {
      RIDGELINE_CHECK(value.size() == bytes_[i], "a record's column has another size than the schema says");
      if (!value.empty()) std::memcpy(row[i], value.data(), value.size());
    }
  }
  if (image_ < 0) return;
  const std::string* op = nullptr;
  try {
    run_image(op, ref, row[static_cast<std::size_t>(image_)],
              flip_ < 0 ? nullptr : static_cast<std::uint8_t*>(row[static_cast<std::size_t>(flip_)]), scratch);
  } catch (const Error& e) {
    throw Error(source_->origin(ref.index) + ": " + e.what() + (op ? " (in " + *op + ")" : ""), e.kind());
  }
  scratch.lap(Part::pixels, bytes_[static_cast<std::size_t>(image_)]);
}

void Stage::run_image(const std::string*& op, SampleRef ref, void* out, std::uint8_t* flip, Scratch& scratch) const {
  const std::span<const std::uint8_t> stored =
      scratch.record.columns[static_cast<std::size_t>(from_[static_cast<std::size_t>(image_)])];
  Frame frame;
  frame.objects = &scratch.record.objects;
  frame.epoch = ref.epoch;
  frame.record = ref.index;
  frame.slot_bytes = bytes_[static_cast<std::size_t>(image_)];
  if (stored_image_.dtype == DType::bytes) {
    frame.encoded = stored;
  } else {
    const Shape& shape = stored_image_.shape;
    frame.view = {stored.data(), static_cast<int>(shape[0]), static_cast<int>(shape[1]), static_cast<int>(shape[2]),
                  static_cast<std::ptrdiff_t>(shape[1] * shape[2])};
    if (stored_image_.dtype == DType::f32) frame.floats = reinterpret_cast<const float*>(stored.data());
  }
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    op = &steps_[i].op;
    if (i == last_writer_) frame.slot = static_cast<std::uint8_t*>(out);
    steps_[i].step->run(frame, scratch);
  }
  op = nullptr;
  if (flip) *flip = frame.flip;
  // Steps that only choose pixels (a crop) or give them on unchanged leave the copy to us.
  if (frame.floats) {
    if (reinterpret_cast<const std::uint8_t*>(frame.floats) != out) std::memcpy(out, frame.floats, frame.slot_bytes);
  } else if (frame.view.data != out) {
    const std::size_t width =
        static_cast<std::size_t>(frame.view.width) * static_cast<std::size_t>(frame.view.channels);
    RIDGELINE_CHECK(width * static_cast<std::size_t>(frame.view.height) == frame.slot_bytes,
                    "pixels of another size than the schema says");
    for (int y = 0; y < frame.view.height; ++y)
      std::memcpy(static_cast<std::uint8_t*>(out) + static_cast<std::size_t>(y) * width, frame.view.row(y), width);
  }
}

}  // namespace ridgeline::data
