// Batches, their columns, and DLPack.
#include <cstdint>
#include <string>
#include <utility>

#include "bindings/c/ridgeline_data.h"
#include "bindings/c/src/columns.h"
#include "bindings/c/src/dlpack.h"
#include "bindings/c/src/guard.h"
#include "bindings/c/src/handles.h"
#include "bindings/shared/run.h"
#include "ridgeline/core/error.h"
#include "ridgeline/data/api/dataset.h"

namespace ridgeline::c {

HeldColumns::HeldColumns(std::shared_ptr<bindings::HeldBatch> held) : batch(std::move(held)) {
  for (std::size_t i = 0; i < batch->schema().size(); ++i) {
    const Shape& shape = batch->column(i).shape();
    shapes.emplace_back(shape.begin(), shape.end());
    std::vector<std::int64_t>& steps = strides.emplace_back(shapes.back().size(), 1);
    for (std::size_t axis = steps.size(); axis-- > 1;) steps[axis - 1] = steps[axis] * shapes.back()[axis];
  }
}

std::size_t HeldColumns::place(const char* name) const {
  require(name, "name");
  (void)batch->column(std::string(name));  // throws the Error that lists the columns
  std::size_t i = 0;
  while (batch->schema()[i].name != name) ++i;
  return i;
}

}  // namespace ridgeline::c

using ridgeline::DType;
using ridgeline::Error;
using ridgeline::ErrorKind;
using ridgeline::Tensor;
using ridgeline::c::guarded;
using ridgeline::c::HeldColumns;
using ridgeline::c::require;
using Batches = ridgeline::c::Handles<HeldColumns>;

namespace {

ridgeline_column column_of(const HeldColumns& held, std::size_t i) {
  const Tensor& tensor = held.batch->column(i);
  const bool bytes = tensor.dtype() == DType::bytes;
  return {.name = held.batch->schema()[i].name.c_str(),
          .dtype = static_cast<ridgeline_dtype>(tensor.dtype()),
          .rank = static_cast<std::int32_t>(held.shapes[i].size()),
          .shape = held.shapes[i].data(),
          .strides = bytes ? nullptr : held.strides[i].data(),
          .data = bytes ? nullptr : const_cast<void*>(tensor.raw()),  // NOLINT: the caller owns the batch
          .bytes = bytes ? 0 : tensor.byte_size()};
}

}  // namespace

ridgeline_status ridgeline_batch_free(ridgeline_batch* batch) {
  return guarded("ridgeline_batch_free", [&] {
    Batches::table().take(batch);
    return RIDGELINE_OK;
  });
}

ridgeline_status ridgeline_batch_get_info(ridgeline_batch* batch, ridgeline_batch_info* info) {
  return guarded("ridgeline_batch_get_info", [&] {
    const auto held = Batches::table().get(batch);
    require(info, "the result");
    const ridgeline::bindings::HeldBatch& b = *held->batch;
    *info = {.rows = b.rows(),
             .samples = b.samples(),
             .epoch = b.epoch(),
             .index = b.index(),
             .last_of_epoch = b.last_of_epoch(),
             .copied = b.copied(),
             .columns = b.schema().size(),
             .records = b.records().data()};
    return RIDGELINE_OK;
  });
}

ridgeline_status ridgeline_batch_column_at(ridgeline_batch* batch, size_t index, ridgeline_column* column) {
  return guarded("ridgeline_batch_column_at", [&] {
    const auto held = Batches::table().get(batch);
    require(column, "the result");
    const std::size_t count = held->batch->schema().size();
    if (index >= count)
      throw Error("column " + std::to_string(index) + " of " + std::to_string(count), ErrorKind::usage);
    *column = column_of(*held, index);
    return RIDGELINE_OK;
  });
}

ridgeline_status ridgeline_batch_column(ridgeline_batch* batch, const char* name, ridgeline_column* column) {
  return guarded("ridgeline_batch_column", [&] {
    const auto held = Batches::table().get(batch);
    require(column, "the result");
    *column = column_of(*held, held->place(name));
    return RIDGELINE_OK;
  });
}

ridgeline_status ridgeline_batch_text(ridgeline_batch* batch, const char* name, int64_t row, const char** text,
                                      size_t* size) {
  return guarded("ridgeline_batch_text", [&] {
    const auto held = Batches::table().get(batch);
    require(text, "data");
    require(size, "size");
    const Tensor& column = held->batch->column(held->place(name));
    if (column.dtype() != DType::bytes)
      throw Error(std::string("column '") + name + "' holds " + std::string(ridgeline::name_of(column.dtype())) +
                      ", no byte strings",
                  ErrorKind::usage);
    const auto count = static_cast<std::int64_t>(column.string_values().size());
    if (row < 0 || row >= count)
      throw Error("row " + std::to_string(row) + " of " + std::to_string(count), ErrorKind::usage);
    const std::string& value = column.string_values()[static_cast<std::size_t>(row)];
    *text = value.data();
    *size = value.size();
    return RIDGELINE_OK;
  });
}

ridgeline_status ridgeline_batch_dlpack(ridgeline_batch* batch, const char* name, int channels_first,
                                        struct DLManagedTensor** tensor) {
  return guarded("ridgeline_batch_dlpack", [&] {
    const auto held = Batches::table().get(batch);
    require(tensor, "the result");
    const std::size_t i = held->place(name);
    if (channels_first != 0 && channels_first != 1) throw Error("channels_first is neither 0 nor 1", ErrorKind::usage);
    *tensor = reinterpret_cast<DLManagedTensor*>(ridgeline::c::managed_tensor(held, i, channels_first == 1));
    return RIDGELINE_OK;
  });
}
