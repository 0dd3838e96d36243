#include "ridgeline/data/runtime/slot_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "ridgeline/core/ends_run_error.h"

namespace ridgeline::data {
namespace {

// How many bad samples at one position are replaced by others before the run ends.
constexpr int kMostAttempts = 16;

// Copies a dense block into the corner of a larger one.
void paste(const std::uint8_t* from, std::span<const std::int64_t> dims, std::uint8_t* to,
           std::span<const std::int64_t> to_dims, std::size_t element) {
  if (dims.empty()) {
    std::memcpy(to, from, element);
    return;
  }
  std::size_t inner = element, to_inner = element;
  for (std::size_t d = 1; d < dims.size(); ++d) {
    inner *= static_cast<std::size_t>(dims[d]);
    to_inner *= static_cast<std::size_t>(to_dims[d]);
  }
  if (inner == to_inner) {
    if (dims[0] > 0) std::memcpy(to, from, inner * static_cast<std::size_t>(dims[0]));
    return;
  }
  for (std::int64_t i = 0; i < dims[0]; ++i)
    paste(from + static_cast<std::size_t>(i) * inner, dims.subspan(1), to + static_cast<std::size_t>(i) * to_inner,
          to_dims.subspan(1), element);
}

}  // namespace

SlotWriter::SlotWriter(const Pipeline& pipeline, BadSamplePolicy policy, bool pad_last)
    : pipeline_(pipeline), policy_(policy), pad_last_(pad_last) {
  SlotLayout layout = slot_layout(pipeline_.columns(), pipeline_.capacity());
  layout_ = std::move(layout.columns);
  bytes_ = layout.bytes;
  const BatchPlan plan = plan_of(pipeline_.batch_node());
  padded_limit_ = static_cast<std::size_t>(plan.memory_limit / plan.slots);
  for (const Transform& operation : pipeline_.batch_operations())
    batch_steps_.push_back(make_batch_step(operation, pipeline_.columns(), pipeline_.seed()));
}

void SlotWriter::open(Slot& slot) const {
  slot.capacity = pipeline_.rows_of({slot.epoch, slot.index}, slot.samples);
  slot.records.assign(slot.samples.size(), 0);
  slot.claimed = slot.done = 0;
  slot.error_row = slot.samples.size();
  slot.bad.clear();
  const auto rows = static_cast<std::size_t>(slot.capacity);
  for (std::size_t i = 0; i < layout_.size(); ++i) {
    const Column& column = pipeline_.columns()[i];
    if (layout_[i].padded) {
      if (slot.values[i].size() < rows) slot.values[i].resize(rows);
      continue;
    }
    Tensor& tensor = slot.columns[i];
    if (!tensor.defined() || tensor.shape()[0] != slot.capacity) {
      std::vector<std::int64_t> dims = column.shape.dims();
      dims[0] = slot.capacity;
      tensor = column.dtype == DType::bytes
                   ? Tensor::strings(std::vector<std::string>(rows))
                   : Tensor::view(static_cast<char*>(slot.memory) + layout_[i].offset, column.dtype, Shape(dims));
    }
  }
  // Rows without a sample are zero; mask (the last column) tells them.
  for (std::size_t row = slot.samples.size(); row < rows; ++row) clear_row(slot, row);
}

void SlotWriter::clear_row(Slot& slot, std::size_t row) const {
  for (std::size_t i = 0; i < layout_.size(); ++i) {
    if (layout_[i].padded) {
      slot.values[i][row].bytes.clear();
      slot.values[i][row].dims.clear();
    } else if (slot.columns[i].dtype() == DType::bytes) {
      slot.columns[i].string_values()[row].clear();
    } else {
      std::memset(static_cast<char*>(slot.columns[i].raw()) + row * layout_[i].row_bytes, 0, layout_[i].row_bytes);
    }
  }
}

void SlotWriter::write_row(Slot& slot, std::size_t row, const std::vector<Cell>& cells) const {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Cell& cell = cells[i];
    if (layout_[i].padded) {
      Slot::Value& value = slot.values[i][row];
      value.bytes.resize(cell.bytes);
      copy_cell(cell, value.bytes.data());
      value.dims.assign(cell.dims.begin(), cell.dims.begin() + cell.rank);
    } else if (cell.dtype == DType::bytes) {
      slot.columns[i].string_values()[row].assign(reinterpret_cast<const char*>(cell.data), cell.bytes);
    } else {
      auto* place = static_cast<std::uint8_t*>(slot.columns[i].raw()) + row * layout_[i].row_bytes;
      if (cell.bytes != layout_[i].row_bytes) {
        throw Error(fmt::format("column {} has {} bytes in this row, by the schema it has {}",
                                to_string({pipeline_.columns()[i]}), cell.bytes, layout_[i].row_bytes));
      }
      if (cell.data != place) copy_cell(cell, place);
    }
  }
  slot.columns.back().data<std::uint8_t>()[row] = 1;
}

void SlotWriter::prefetch(const Slot& slot, std::size_t begin, std::size_t end, Scratch& scratch) const {
  try {
    for (std::size_t row = begin; row < end; ++row) pipeline_.rows().prefetch(slot.samples[row], scratch);
  } catch (...) {  // met again where the row is made
  }
}

void SlotWriter::fill_row(Slot& slot, std::size_t row, Scratch& scratch, std::vector<BadSample>& bad) const {
  const Rows& rows = pipeline_.rows();
  const std::size_t columns = layout_.size() - 1;  // without mask
  std::vector<Cell>& cells = scratch.cells;
  std::vector<void*>& targets = scratch.targets;
  cells.resize(columns);
  targets.resize(columns);
  for (std::size_t i = 0; i < columns; ++i) {
    targets[i] =
        layout_[i].row_bytes ? static_cast<char*>(slot.columns[i].raw()) + row * layout_[i].row_bytes : nullptr;
  }
  const auto make = [&](RowAddress address) {
    scratch.begin();
    const RowInfo info = rows.run(address, targets, cells.data(), scratch);
    write_row(slot, row, cells);
    slot.records[row] = info.record;
  };
  RowAddress address = slot.samples[row];
  for (int attempt = 1;; ++attempt) {
    try {
      make(address);
      return;
    } catch (const EndsRunError&) {
      throw;  // no fault of the sample: under any policy the run ends, and can go on from its state
    } catch (const Error& e) {
      if (policy_ == BadSamplePolicy::raise) throw;
      const auto* sample = dynamic_cast<const SampleError*>(&e);
      bad.push_back({slot.epoch, slot.index, row, address.position, sample ? sample->origin() : rows.origin(address),
                     sample ? sample->op() : "", e.what()});
      // So many consecutive bad ones are not the fault of single files.
      if (policy_ == BadSamplePolicy::replace && attempt == kMostAttempts) {
        throw SampleError(fmt::format("{} attempts failed to find a sample in the place of a bad one, the last: {}",
                                      kMostAttempts, e.what()),
                          bad.back().origin, bad.back().op, e.kind());
      }
    }
    if (policy_ == BadSamplePolicy::skip) break;
    address = pipeline_.replacement(slot.samples[row], attempt);
  }
  clear_row(slot, row);
}

// Rows of different shapes side by side, each in the upper left corner of the largest.
void SlotWriter::gather(Slot& slot, std::size_t column) const {
  const std::vector<Slot::Value>& values = slot.values[column];
  const Column& schema = pipeline_.columns()[column];
  std::vector<std::int64_t> dims = schema.shape.dims();
  dims[0] = slot.capacity;
  for (std::size_t d = 1; d < dims.size(); ++d) {
    if (dims[d] != kVaries) continue;
    dims[d] = 0;
    for (std::size_t row = 0; row < slot.samples.size(); ++row) {
      if (!values[row].dims.empty()) dims[d] = std::max(dims[d], values[row].dims[d - 1]);
    }
  }
  const Shape shape(dims);
  const std::size_t bytes = static_cast<std::size_t>(shape.elements()) * size_of(schema.dtype);
  if (bytes > padded_limit_) {
    throw Error(fmt::format("[batch] {} padded to {} takes {} bytes, a batch may have {} (memory_limit over the slots)",
                            schema.name, shape.to_string(), bytes, padded_limit_));
  }
  std::vector<std::uint8_t>& out = slot.gathered[column];
  out.assign(bytes, 0);
  const std::size_t row_bytes = bytes / static_cast<std::size_t>(slot.capacity);
  for (std::size_t row = 0; row < slot.samples.size(); ++row) {
    if (values[row].dims.empty()) continue;
    paste(values[row].bytes.data(), values[row].dims, out.data() + row * row_bytes, std::span(dims).subspan(1),
          size_of(schema.dtype));
  }
  slot.columns[column] = Tensor::view(out.data(), schema.dtype, shape);
}

void SlotWriter::finish(Slot& slot) const {
  for (std::size_t i = 0; i < layout_.size(); ++i) {
    if (layout_[i].padded) gather(slot, i);
  }
  for (const auto& step : batch_steps_)
    step->run(slot.columns, static_cast<std::int64_t>(slot.samples.size()), slot.epoch, slot.index);
  if (!pad_last_) shorten(slot);
}

// Leaves the rows that mask tells, in their order.
void SlotWriter::shorten(Slot& slot) const {
  std::vector<std::size_t> real;
  const auto mask = slot.columns.back().span<std::uint8_t>();
  for (std::size_t row = 0; row < slot.samples.size(); ++row) {
    if (mask[row] != 0) real.push_back(row);
  }
  if (static_cast<std::int64_t>(real.size()) == slot.capacity) return;
  slot.capacity = static_cast<std::int64_t>(real.size());
  for (std::size_t i = 0; i < real.size(); ++i) slot.records[i] = slot.records[real[i]];
  slot.records.resize(real.size());
  for (Tensor& column : slot.columns) {
    if (column.dtype() == DType::bytes) {
      std::vector<std::string> texts;
      for (const std::size_t row : real) texts.push_back(std::move(column.string_values()[row]));
      column = Tensor::strings(std::move(texts));
      continue;
    }
    const std::size_t row_bytes = column.byte_size() / static_cast<std::size_t>(column.shape()[0]);
    auto* rows = static_cast<std::uint8_t*>(column.raw());
    for (std::size_t i = 0; i < real.size(); ++i) {
      if (real[i] != i) std::memcpy(rows + i * row_bytes, rows + real[i] * row_bytes, row_bytes);
    }
    std::vector<std::int64_t> dims = column.shape().dims();
    dims[0] = slot.capacity;
    column = Tensor::view(rows, column.dtype(), Shape(std::move(dims)));
  }
}

}  // namespace ridgeline::data
