#include "ridgeline/train/feed.h"

#include <algorithm>

#include "ridgeline/core/trace.h"

namespace ridgeline::train {

DatasetFeed::DatasetFeed(const data::Dataset& dataset, data::IteratorOptions options,
                         std::vector<nn::InputColumn> columns)
    : iterator_(dataset, options), columns_(std::move(columns)), trace_(options.trace) {}

bool DatasetFeed::bind_next(Program& program) {
  batch_.reset();
  {
    const TraceSpan wait(trace_, "wait", "next batch");
    batch_ = iterator_.next();
  }
  if (!batch_) return false;
  bind_columns(program, *batch_, columns_);
  return true;
}

Tensor DatasetFeed::input(const std::string& name) const {
  if (!batch_) return {};
  const auto row = std::find_if(columns_.begin(), columns_.end(), [&](const auto& c) { return c.input == name; });
  const std::string& column = row == columns_.end() ? name : row->column;
  return batch_->has(column) ? batch_->column(column) : Tensor();
}

std::string DatasetFeed::state() const { return (batch_ ? batch_->state_after() : iterator_.state()).to_json(); }

void bind_columns(Program& program, const data::Batch& batch, const std::vector<nn::InputColumn>& columns,
                  const std::vector<std::string>& others) {
  const Graph& graph = program.graph();
  for (const ValueId id : graph.arguments) {
    const ValueInfo& argument = graph.value(id);
    if (argument.kind != ValueKind::input) continue;
    if (std::find(others.begin(), others.end(), argument.name) != others.end()) continue;
    const auto row =
        std::find_if(columns.begin(), columns.end(), [&](const auto& c) { return c.input == argument.name; });
    program.bind(argument.name, batch.column(row == columns.end() ? argument.name : row->column));
  }
}

}  // namespace ridgeline::train
