// bindings/python/src/arrays.h
//
// Conversion between tensors and Python arrays. All functions need the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include "ridgeline/core/tensor.h"

namespace ridgeline::python {

namespace nb = nanobind;

// A numpy.ndarray that is a view of the tensor's memory and keeps `owner` (without one, the tensor) alive. bf16, which
// NumPy does not have, becomes ml_dtypes.bfloat16; an Error without that package. Byte strings become a list of bytes,
// copied.
nb::object to_numpy(const Tensor& tensor, std::shared_ptr<void> owner = nullptr);
// Of byte strings: numpy.ndarrays of u8, views of their memory, which keep `owner` alive.
nb::list to_numpy_of_bytes(const Tensor& tensor, const std::shared_ptr<void>& owner);
// The same memory as an object with __dlpack__, for torch.from_dlpack. With `channels_first`, [N,H,W,C] becomes
// [N,C,H,W] by strides (PyTorch's channels_last), without a copy.
nb::object to_dlpack(const Tensor& tensor, std::shared_ptr<void> owner, bool channels_first);

// A copy of anything that numpy.asarray takes, in that type. Values that are not numbers or not representable are
// Errors that begin with `what`: integers are not truncated or wrapped, texts not parsed; floating types round.
Tensor from_numpy(const std::string& what, nb::handle values, DType dtype);
// The same in the type of the values.
Tensor from_numpy(const std::string& what, nb::handle values);
// The same, for arrays only: of NumPy, or with __dlpack__ for a type that NumPy does not have.
Tensor from_array(const std::string& what, nb::handle array);
// A column of several rows: an array, or a list of bytes (or of str, as UTF-8).
Tensor column_of(const std::string& name, nb::handle values);
// A byte string in parts, objects that lend their memory; they are joined without the GIL where that is much.
struct PyParts {
  nb::tuple parts;
};
// One value of a row: for DType::bytes bytes, a text or PyParts; else as in from_numpy.
Tensor value_of_row(const std::string& what, nb::handle value, DType dtype);

}  // namespace ridgeline::python
