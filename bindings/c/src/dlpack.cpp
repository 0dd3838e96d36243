#include "bindings/c/src/dlpack.h"

#include <string>
#include <utility>
#include <vector>

#include "ridgeline/core/error.h"

namespace ridgeline::c {
namespace {

struct Context {
  DlManaged managed;
  std::shared_ptr<HeldColumns> held;
  std::vector<std::int64_t> shape, strides;
};

DlType type_of(DType dtype) {
  const auto bits = static_cast<std::uint8_t>(8 * size_of(dtype));
  switch (dtype) {
    case DType::f64:
    case DType::f32:
    case DType::f16: return {2, bits, 1};
    case DType::bf16: return {4, bits, 1};
    case DType::u8: return {1, bits, 1};
    case DType::i32:
    case DType::i64: return {0, bits, 1};
    case DType::boolean: return {6, bits, 1};
    case DType::bytes: break;
  }
  throw Error("byte strings have no DLPack tensor: see ridgeline_batch_text", ErrorKind::usage);
}

}  // namespace

DlManaged* managed_tensor(std::shared_ptr<HeldColumns> held, std::size_t i, bool channels_first) {
  const Tensor& column = held->batch->column(i);
  const DlType type = type_of(column.dtype());
  std::vector<std::int64_t> shape = held->shapes[i], strides = held->strides[i];
  if (channels_first) {
    if (shape.size() != 4)
      throw Error("channels_first is for [N,H,W,C], the column has " + column.shape().to_string(), ErrorKind::usage);
    shape = {shape[0], shape[3], shape[1], shape[2]};
    strides = {strides[0], strides[3], strides[1], strides[2]};
  }
  auto context = std::make_unique<Context>(Context{{}, std::move(held), std::move(shape), std::move(strides)});
  void* memory = const_cast<void*>(column.raw());  // NOLINT: the caller owns the batch
  context->managed.tensor = {memory,
                             {1, 0},
                             static_cast<std::int32_t>(context->shape.size()),
                             type,
                             context->shape.data(),
                             context->strides.data(),
                             0};
  context->managed.context = context.get();
  context->managed.deleter = [](DlManaged* managed) { delete static_cast<Context*>(managed->context); };
  return &context.release()->managed;
}

}  // namespace ridgeline::c
