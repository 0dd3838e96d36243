#include "ridgeline/train/loop/feed.h"

#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/core/error.h"
#include "ridgeline/core/trace.h"

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

DatasetFeed::DatasetFeed(const data::Dataset& dataset, data::IteratorOptions options,
                         std::vector<nn::InputColumn> columns)
    : data_hash_(dataset.hash()), iterator_(dataset, options), columns_(std::move(columns)), trace_(options.trace) {}

bool DatasetFeed::bind_next(Program& program) {
  before_ = batch_ ? batch_->state_after() : iterator_.state();
  given_back_ = false;
  batch_.reset();
  {
    const TraceSpan wait(trace_, "wait", "next batch");
    batch_ = iterator_.next();
  }
  if (!batch_) return false;
  check_rows(program, *batch_, columns_);
  bind_columns(program, *batch_, columns_);
  return true;
}

Tensor DatasetFeed::input(const std::string& name) const {
  if (!batch_) return {};
  const std::string& column = column_of(name, columns_);
  return batch_->has(column) ? batch_->column(column) : Tensor();
}

void DatasetFeed::go_on(const data::IteratorState& place) {
  batch_.reset();
  iterator_.restore(place);
}

void DatasetFeed::give_back() { given_back_ = true; }

std::string DatasetFeed::state() const {
  if (given_back_) return before_.to_json();
  return (batch_ ? batch_->state_after() : iterator_.state()).to_json();
}

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
                  const std::vector<std::string>& others) {
  const Graph& graph = program.graph();
  for (const ValueId id : graph.arguments) {
    const ValueInfo& argument = graph.value(id);
    if (argument.kind != ValueKind::input) continue;
    if (std::find(others.begin(), others.end(), argument.name) != others.end()) continue;
    program.bind(argument.name, batch.column(column_of(argument.name, columns)));
  }
}

}  // namespace ridgeline::train
