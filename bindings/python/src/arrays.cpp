#include "arrays.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "ridgeline/core/error.h"
#include "values.h"

namespace ridgeline::python {
namespace {

nb::dlpack::dtype dlpack_type(DType dtype) {
  using nb::dlpack::dtype_code;
  const auto type = [](dtype_code code, std::uint8_t bits) {
    return nb::dlpack::dtype{static_cast<std::uint8_t>(code), bits, 1};
  };
  switch (dtype) {
    case DType::f64: return type(dtype_code::Float, 64);
    case DType::f32: return type(dtype_code::Float, 32);
    case DType::f16: return type(dtype_code::Float, 16);
    case DType::bf16: return type(dtype_code::Bfloat, 16);
    case DType::u8: return type(dtype_code::UInt, 8);
    case DType::i32: return type(dtype_code::Int, 32);
    case DType::i64: return type(dtype_code::Int, 64);
    case DType::boolean: return type(dtype_code::Bool, 8);
    case DType::bytes: break;
  }
  throw Error("byte strings have no array");
}

const char* numpy_name(DType dtype) {
  switch (dtype) {
    case DType::f64: return "float64";
    case DType::f32: return "float32";
    case DType::f16: return "float16";
    case DType::bf16: return "bfloat16";
    case DType::u8: return "uint8";
    case DType::i32: return "int32";
    case DType::i64: return "int64";
    case DType::boolean: return "bool";
    case DType::bytes: break;
  }
  return "bytes";
}

// Keeps memory alive for Python. Any thread may destroy it.
nb::capsule capsule_of(std::shared_ptr<void> owner) {
  return {new std::shared_ptr<void>(std::move(owner)),
          [](void* held) noexcept { delete static_cast<std::shared_ptr<void>*>(held); }};
}

template <class... Config>
nb::ndarray<Config...> array_of(const Tensor& tensor, std::shared_ptr<void> owner, nb::dlpack::dtype type,
                                bool channels_first = false) {
  std::vector<std::size_t> shape;
  for (const std::int64_t extent : tensor.shape()) shape.push_back(static_cast<std::size_t>(extent));
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= static_cast<std::int64_t>(shape[i]);
  }
  if (channels_first) {
    if (shape.size() != 4)
      throw Error("channels first is for [N,H,W,C], the column has " + tensor.shape().to_string(), ErrorKind::usage);
    shape = {shape[0], shape[3], shape[1], shape[2]};
    strides = {strides[0], strides[3], strides[1], strides[2]};
  }
  if (!owner) owner = std::make_shared<Tensor>(tensor);
  // Copying a tensor shares its memory, so this does not copy the data.
  void* memory = const_cast<void*>(tensor.raw());  // NOLINT: the user owns the batch until it is returned
  return nb::ndarray<Config...>(memory, shape.size(), shape.data(), capsule_of(std::move(owner)), strides.data(), type,
                                nb::device::cpu::value);
}

nb::object bytes_list(const Tensor& tensor) {
  nb::list list;
  for (const std::string& text : tensor.string_values()) list.append(nb::bytes(text.data(), text.size()));
  return list;
}

std::optional<DType> dtype_of_array(const nb::dlpack::dtype& type) {
  for (const DType dtype :
       {DType::f64, DType::f32, DType::f16, DType::bf16, DType::u8, DType::i32, DType::i64, DType::boolean}) {
    if (dlpack_type(dtype) == type) return dtype;
  }
  return std::nullopt;
}

// Memory that Python lends.
class Lent {
 public:
  explicit Lent(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  ~Lent() { PyBuffer_Release(&view_); }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  std::string_view bytes() const { return {static_cast<const char*>(view_.buf), static_cast<std::size_t>(view_.len)}; }

 private:
  Py_buffer view_{};
};

// Other threads of Python run while much is copied.
std::string joined(std::span<const std::string_view> parts) {
  constexpr std::size_t kMuch = 1 << 15;
  std::size_t size = 0;
  for (const std::string_view part : parts) size += part.size();
  std::optional<nb::gil_scoped_release> unlocked;
  if (size >= kMuch) unlocked.emplace();
  std::string text;
  text.reserve(size);
  for (const std::string_view part : parts) text += part;
  return text;
}

std::string bytes_of(const std::string& what, nb::handle value) {
  if (PyUnicode_Check(value.ptr())) return nb::cast<std::string>(value);
  if (nb::isinstance<PyParts>(value)) {
    std::vector<std::unique_ptr<Lent>> lent;
    std::vector<std::string_view> parts;
    for (nb::handle part : nb::cast<const PyParts&>(value).parts)
      parts.push_back(lent.emplace_back(std::make_unique<Lent>(part))->bytes());
    return joined(parts);
  }
  char* data = nullptr;
  Py_ssize_t size = 0;
  const nb::object bytes = PyBytes_Check(value.ptr()) ? nb::borrow(value) : nb::steal(PyBytes_FromObject(value.ptr()));
  if (!bytes.is_valid() || PyBytes_AsStringAndSize(bytes.ptr(), &data, &size) != 0) {
    PyErr_Clear();
    throw Error(what + " is " + shown(value.type()) + ", bytes are declared");
  }
  const std::string_view all(data, static_cast<std::size_t>(size));
  return joined({&all, 1});
}

Tensor copy_of(const std::string& what, nb::handle array) {
  nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu> view;
  std::optional<DType> dtype;
  if (nb::try_cast(array, view)) dtype = dtype_of_array(view.dtype());
  if (!dtype)
    throw Error(what + " has the type " + shown(array.attr("dtype")) +
                " (allowed: float64, float32, float16, uint8, int32, int64, bool)");
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < view.ndim(); ++i) dims.push_back(static_cast<std::int64_t>(view.shape(i)));
  Tensor tensor(*dtype, Shape(std::move(dims)));
  if (tensor.byte_size() > 0) std::memcpy(tensor.raw(), view.data(), tensor.byte_size());
  return tensor;
}

nb::object as_array(const std::string& what, nb::handle values) {
  nb::dict options;
  options["order"] = "C";
  try {
    return nb::module_::import_("numpy").attr("asarray")(values, **options);
  } catch (const nb::python_error& e) {
    throw Error(what + " is no array: " + e.what());
  }
}

// Fast path for Python numbers that the type represents exactly; nullopt: use the general path.
std::optional<Tensor> scalar_of(nb::handle value, DType dtype) {
  if (PyBool_Check(value.ptr())) {
    if (dtype != DType::boolean) return std::nullopt;
    return Tensor::scalar<bool>(value.is(Py_True));
  }
  if (PyLong_Check(value.ptr()) && (dtype == DType::i32 || dtype == DType::i64)) {
    int overflow = 0;
    const long long whole = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    if (overflow != 0) return std::nullopt;
    if (dtype == DType::i64) return Tensor::scalar<std::int64_t>(whole);
    if (static_cast<std::int32_t>(whole) != whole) return std::nullopt;
    return Tensor::scalar(static_cast<std::int32_t>(whole));
  }
  if (PyFloat_Check(value.ptr()) && dtype == DType::f64) return Tensor::scalar(PyFloat_AsDouble(value.ptr()));
  return std::nullopt;
}

}  // namespace

nb::object to_numpy(const Tensor& tensor, std::shared_ptr<void> owner) {
  if (tensor.dtype() == DType::bytes) return bytes_list(tensor);
  if (tensor.dtype() != DType::bf16)
    return nb::cast(array_of<nb::numpy>(tensor, std::move(owner), dlpack_type(tensor.dtype())));
  nb::object type;
  try {
    type = nb::module_::import_("ml_dtypes").attr("bfloat16");
  } catch (const nb::python_error&) {
    throw Error("NumPy has no bf16: install ml_dtypes, or take the column as a PyTorch tensor", ErrorKind::usage);
  }
  const nb::dlpack::dtype bits{static_cast<std::uint8_t>(nb::dlpack::dtype_code::UInt), 16, 1};
  return nb::cast(array_of<nb::numpy>(tensor, std::move(owner), bits)).attr("view")(type);
}

nb::list to_numpy_of_bytes(const Tensor& tensor, const std::shared_ptr<void>& owner) {
  nb::list list;
  for (const std::string& text : tensor.string_values()) {
    const std::size_t size = text.size();
    // The user owns the batch until it is returned.
    auto* memory = reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));  // NOLINT
    list.append(nb::cast(nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>(memory, 1, &size, capsule_of(owner))));
  }
  return list;
}

nb::object to_dlpack(const Tensor& tensor, std::shared_ptr<void> owner, bool channels_first) {
  return nb::cast(array_of<nb::array_api>(tensor, std::move(owner), dlpack_type(tensor.dtype()), channels_first));
}

Tensor from_numpy(const std::string& what, nb::handle values, DType dtype) {
  if (std::optional<Tensor> one = scalar_of(values, dtype)) return *std::move(one);
  const nb::object array = as_array(what, values);
  if (shown(array.attr("dtype").attr("name")) == numpy_name(dtype)) return copy_of(what, array);
  const nb::object answer = nb::module_::import_("ridgeline.data._exact").attr("as_declared")(array, numpy_name(dtype));
  if (PyUnicode_Check(answer.ptr())) throw Error(what + " " + text_of(answer));
  return copy_of(what, answer);
}
Tensor from_numpy(const std::string& what, nb::handle values) { return copy_of(what, as_array(what, values)); }

Tensor from_array(const std::string& what, nb::handle array) {
  if (nb::hasattr(array, "__array_interface__")) return from_numpy(what, array);
  if (nb::getattr(array, "requires_grad", nb::bool_(false)).is(Py_True))
    throw Error(what + " is differentiated by PyTorch, which would not see what is done to it: .detach() is meant");
  nb::ndarray<nb::ro, nb::device::cpu> view;
  if (nb::try_cast(array, view)) return copy_of(what, array);
  throw Error(what + " is no array of the processor's memory (PyTorch: .cpu())");
}

Tensor column_of(const std::string& name, nb::handle values) {
  if (PyList_Check(values.ptr()) || PyTuple_Check(values.ptr())) {
    const nb::object first = nb::len(values) > 0 ? nb::object(values[0]) : nb::none();
    if (PyBytes_Check(first.ptr()) || PyUnicode_Check(first.ptr())) {
      std::vector<std::string> texts;
      for (nb::handle value : values) texts.push_back(bytes_of("column '" + name + "'", value));
      return Tensor::strings(std::move(texts));
    }
  }
  Tensor column = from_numpy("column '" + name + "'", values);
  if (column.shape().rank() == 0)
    throw Error("column '" + name + "' is a single number, it must have one value a row", ErrorKind::usage);
  return column;
}

Tensor value_of_row(const std::string& what, nb::handle value, DType dtype) {
  if (dtype == DType::bytes) return Tensor::strings({bytes_of(what, value)});
  return from_numpy(what, value, dtype);
}

}  // namespace ridgeline::python
