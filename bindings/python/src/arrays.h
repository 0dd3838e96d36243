// bindings/python/src/arrays.h
//
// Tensors and arrays of Python, both ways. All functions need the interpreter's lock.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include "ridgeline/core/tensor.h"

namespace ridgeline::python {

namespace nb = nanobind;

// "f32" and so on as NumPy and DLPack call it; an Error for byte strings.
// A view of the tensor's memory that keeps `owner` (or, without one, the tensor) alive: a numpy.ndarray. bf16, which
// NumPy does not have, comes as ml_dtypes.bfloat16 where that package is there, else it is an Error that says so.
// Byte strings: a list of bytes, copied.
nb::object to_numpy(const Tensor& tensor, std::shared_ptr<void> owner = nullptr);
// The same memory as an object with __dlpack__, for torch.from_dlpack. `channels_first` shows [N,H,W,C] as [N,C,H,W]
// (PyTorch's channels_last) without moving a byte.
nb::object to_dlpack(const Tensor& tensor, std::shared_ptr<void> owner, bool channels_first);

// A copy of anything that numpy.asarray takes, of that type. `what` begins the Error for values that are none, or that
// the type does not hold: nothing is cut, wrapped or read out of a text; floating types round.
Tensor from_numpy(const std::string& what, nb::handle values, DType dtype);
// The same with the type that the values have.
Tensor from_numpy(const std::string& what, nb::handle values);
// The same of an array alone: of NumPy, or with __dlpack__ where NumPy has no such type.
Tensor from_array(const std::string& what, nb::handle array);
// A column of several rows: arrays, or a list of bytes (or str, as UTF-8).
Tensor column_of(const std::string& name, nb::handle values);
// One value of a row: bytes for DType::bytes, else as from_numpy.
Tensor value_of_row(const std::string& what, nb::handle value, DType dtype);

}  // namespace ridgeline::python
