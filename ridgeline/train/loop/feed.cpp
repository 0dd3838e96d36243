#include "ridgeline/train/loop/feed.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ridgeline/core/error.h"
#include "ridgeline/core/trace.h"
#include "ridgeline/data/runtime/device_queue.h"
#include "ridgeline/train/pinned_slots.h"

namespace ridgeline::train {
namespace {

[[noreturn]] void refuse_empty_rows(const std::string& what) {
  throw Error(
      fmt::format("{}, and the step has no input for the column '{}': empty rows would count (padding of the "
                  "last batch, bad samples that are skipped). Leave the remainder out (drop_remainder), or "
                  "give the network that input",
                  what, data::kMaskColumn));
}

}  // namespace

const std::string& column_of(const std::string& input, const std::vector<nn::InputColumn>& columns) {
  const auto row = std::find_if(columns.begin(), columns.end(), [&](const auto& c) { return c.input == input; });
  return row == columns.end() ? input : row->column;
}

namespace {

// So many slots that data workers, the queue and the copies of two sets of inputs do not wait for each other.
constexpr std::int64_t kSlots = 5;

}  // namespace

// Takes batches to a device: slots in pinned memory, and the queue that fills itself with them.
class DatasetFeed::Queue {
 public:
  Queue(const data::Dataset& dataset, data::IteratorOptions options, Device& device)
      : slots_(std::make_shared<PinnedSlots>(device)) {
    options.allocator = slots_.get();
    queue_ = std::make_unique<data::DeviceQueue>(dataset, options);
    if (options.memory_limit != 0 || options.slots != 0 || queue_->slots() >= kSlots) return;
    options.memory_limit = kSlots * queue_->slot_bytes();
    queue_ = std::make_unique<data::DeviceQueue>(dataset, options);
  }

  const data::DeviceQueue& queue() const { return *queue_; }
  void go_on(const data::IteratorState& place) { queue_->restore(place); }

  // Gives back what the program has copied; waits for that where every other slot is held.
  std::shared_ptr<const data::Batch> next(Program& program) {
    if (!sending_) queue_->send();
    sending_ = true;
    program.give_back(false);
    std::erase_if(held_, [](const auto& batch) { return batch.expired(); });
    if (static_cast<std::int64_t>(held_.size()) + 1 >= queue_->slots()) program.give_back(true);
    std::optional<data::Batch> batch = queue_->receive();
    if (!batch) return nullptr;
    const auto held = std::make_shared<HeldBatch>(slots_, std::move(*batch));
    held_.push_back(held);
    return {held, &held->batch};
  }

 private:
  // A batch and the memory of its slot, which is released last.
  struct HeldBatch {
    std::shared_ptr<PinnedSlots> slots;
    data::Batch batch;
  };

  std::shared_ptr<PinnedSlots> slots_;
  std::unique_ptr<data::DeviceQueue> queue_;
  std::vector<std::weak_ptr<HeldBatch>> held_;  // that programs may still read
  bool sending_ = false;
};

DatasetFeed::DatasetFeed(const data::Dataset& dataset, data::IteratorOptions options,
                         std::vector<nn::InputColumn> columns, Device* device)
    : data_hash_(dataset.hash()), columns_(std::move(columns)), trace_(options.trace) {
  if (device == nullptr || device->host_memory())
    iterator_ = std::make_unique<data::Iterator>(dataset, std::move(options));
  else
    queue_ = std::make_unique<Queue>(dataset, std::move(options), *device);
}

DatasetFeed::~DatasetFeed() = default;

data::RunStats DatasetFeed::stats() const { return queue_ ? queue_->queue().stats() : iterator_->stats(); }
std::int64_t DatasetFeed::bad_samples() const {
  return queue_ ? queue_->queue().bad_samples() : iterator_->bad_samples();
}

data::IteratorState DatasetFeed::position() const {
  if (batch_) return batch_->state_after();
  return queue_ ? queue_->queue().state() : iterator_->state();
}

bool DatasetFeed::bind_next(Program& program) {
  before_ = position();
  given_back_ = false;
  batch_.reset();
  {
    const TraceSpan wait(trace_, "wait", "next batch");
    if (queue_)
      batch_ = queue_->next(program);
    else if (std::optional<data::Batch> batch = iterator_->next())
      batch_ = std::make_shared<const data::Batch>(std::move(*batch));
  }
  if (!batch_) return false;
  check_rows(program, *batch_, columns_);
  bind_columns(program, *batch_, columns_, {}, queue_ ? batch_ : nullptr);
  return true;
}

Tensor DatasetFeed::input(const std::string& name) const {
  if (!batch_) return {};
  const std::string& column = column_of(name, columns_);
  return batch_->has(column) ? batch_->column(column) : Tensor();
}

void DatasetFeed::go_on(const data::IteratorState& place) {
  batch_.reset();
  if (queue_)
    queue_->go_on(place);
  else
    iterator_->restore(place);
}

void DatasetFeed::give_back() { given_back_ = true; }

std::string DatasetFeed::state() const { return (given_back_ ? before_ : position()).to_json(); }

bool reads_mask(const Program& program, const std::vector<nn::InputColumn>& columns) {
  const Graph& graph = program.graph();
  return std::any_of(graph.arguments.begin(), graph.arguments.end(), [&](ValueId id) {
    const ValueInfo& argument = graph.value(id);
    return argument.kind == ValueKind::input && column_of(argument.name, columns) == data::kMaskColumn;
  });
}

void check_remainder(const Program& program, const data::Dataset& dataset,
                     const std::vector<nn::InputColumn>& columns) {
  const std::int64_t samples = dataset.num_samples_if_known(), batches = dataset.size(), size = dataset.batch_size();
  if (samples <= 0 || batches <= samples / size || reads_mask(program, columns)) return;
  refuse_empty_rows(fmt::format("{} rows do not fill {} batches of {}", samples, batches, size));
}

void check_rows(const Program& program, const data::Batch& batch, const std::vector<nn::InputColumn>& columns) {
  const auto mask = batch.mask().span<std::uint8_t>();
  const auto real = std::count_if(mask.begin(), mask.end(), [](std::uint8_t row) { return row != 0; });
  if (real == batch.rows() || reads_mask(program, columns)) return;
  refuse_empty_rows(fmt::format("a batch has {} rows of {}", real, batch.rows()));
}

void bind_columns(Program& program, const data::Batch& batch, const std::vector<nn::InputColumn>& columns,
                  const std::vector<std::string>& others, const std::shared_ptr<const void>& lease) {
  const Graph& graph = program.graph();
  for (const ValueId id : graph.arguments) {
    const ValueInfo& argument = graph.value(id);
    if (argument.kind != ValueKind::input) continue;
    if (std::find(others.begin(), others.end(), argument.name) != others.end()) continue;
    program.bind(argument.name, batch.column(column_of(argument.name, columns)), lease);
  }
}

}  // namespace ridgeline::train
