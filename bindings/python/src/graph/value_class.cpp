#include "value_class.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "../arrays.h"
#include "../bind.h"
#include "../train/graph_values.h"
#include "../values.h"
#include "place.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/location_text.h"

namespace ridgeline::python {
namespace {

Value binary(const char* op, nb::handle x, nb::handle y) {
  return apply_op(op, {nb::borrow(x), nb::borrow(y)}, nb::none(), user_line()).front();
}

Value unary(const char* op, nb::handle x) { return apply_op(op, {nb::borrow(x)}, nb::none(), user_line()).front(); }

const ValueType& type_of(const Value& value) {
  const GraphBuilder* builder = building([&] { return &value.builder(user_line()); });
  return builder->graph().value(value.id()).type;
}

nb::tuple shape_of(const Value& value) {
  nb::list extents;
  for (const std::int64_t extent : type_of(value).shape) extents.append(extent);
  return nb::tuple(extents);
}

// Looks up a function of ridgeline/graph/_operators.py.
nb::object written(const char* name) { return nb::module_::import_("ridgeline.graph._operators").attr(name); }

struct Refusal {
  const char* what;     // is not known
  const char* by;       // what cannot go by it
  const char* instead;  // what to use
};

constexpr Refusal kTruth{"the truth", "`if`, `while`, `and`, `or`, `not` and `assert`",
                         "ridgeline.graph.where(condition, a, b) chooses element by element, and &, | and ~ combine "
                         "conditions"};
constexpr Refusal kNumber{"the number", "int(), float(), range(), an index and Python's functions of numbers",
                          "the shape of a value is known, ridgeline.graph has the functions, where() chooses, and "
                          "x[indices] takes whole numbers that are a value"};
constexpr Refusal kElements{
    "what is in", "a loop over it, unpacking, list() and `in`",
    "for i in range(x.shape[0]): x[i] takes the parts one by one, and ops and reductions work on "
    "all elements at once"};
constexpr Refusal kArray{
    "the array", "NumPy's functions and PyTorch's",
    "ridgeline.graph has the ops of a graph, and x.sum(), x.mean(), x.max(), x.min(), x.reshape(...) "
    "are methods"};

[[noreturn]] void refuse(const Value& value, const Refusal& refusal) {
  type_of(value);  // throws its own Error if the graph is gone
  const Place* place = Place::current();
  const bool model = place != nullptr && std::string(place->kind()) == "model";
  throw Error(std::string(refusal.what) + " of a value is not known while its graph is built, so " + refusal.by +
                  " cannot go by it: " + refusal.instead +
                  (model ? "" : "; ridgeline.graph.set_mode('eager') runs functions op by op, with everything known") +
                  behind_message(user_line()),
              ErrorKind::usage);
}

// The numbers of the value as a NumPy array, if ops run one by one.
nb::object numbers(const Value& value, const Refusal& refusal) {
  const Place* place = Place::current();
  const Tensor* tensor = place == nullptr ? nullptr : place->find(value);
  if (tensor == nullptr) refuse(value, refusal);
  return to_numpy(tensor->clone());
}

bool truth_of(const Value& value) {
  const int truth = PyObject_IsTrue(numbers(value, kTruth).ptr());
  if (truth < 0) throw nb::python_error();
  return truth == 1;
}

nb::object called(const Value& value, const char* method, const Refusal& refusal) {
  return numbers(value, refusal).attr(method)();
}

void bind_arithmetic(nb::class_<Value>& type) {
  type.def("__add__", [](nb::handle x, nb::handle y) { return binary("add", x, y); })
      .def("__radd__", [](nb::handle x, nb::handle y) { return binary("add", y, x); })
      .def("__sub__", [](nb::handle x, nb::handle y) { return binary("sub", x, y); })
      .def("__rsub__", [](nb::handle x, nb::handle y) { return binary("sub", y, x); })
      .def("__mul__", [](nb::handle x, nb::handle y) { return binary("mul", x, y); })
      .def("__rmul__", [](nb::handle x, nb::handle y) { return binary("mul", y, x); })
      .def("__truediv__", [](nb::handle x, nb::handle y) { return binary("div", x, y); })
      .def("__rtruediv__", [](nb::handle x, nb::handle y) { return binary("div", y, x); })
      .def("__neg__", [](nb::handle x) { return unary("neg", x); })
      .def("__pos__", [](nb::handle x) { return nb::borrow(x); })
      .def("__abs__", [](nb::handle x) { return unary("abs", x); })
      .def(
          "__pow__", [](nb::handle x, nb::handle y) { return written("power")(x, y); },
          nb::sig("def __pow__(self, exponent: float, /) -> Value"), "To the power of a number that is no value.")
      .def(
          "__matmul__", [](nb::handle x, nb::handle y) { return written("matmul")(x, y); },
          nb::sig("def __matmul__(self, y: Any, /) -> Value"))
      .def(
          "__rmatmul__", [](nb::handle x, nb::handle y) { return written("matmul")(y, x); },
          nb::sig("def __rmatmul__(self, y: Any, /) -> Value"));
}

void bind_comparisons(nb::class_<Value>& type) {
  type.def("__lt__", [](nb::handle x, nb::handle y) { return binary("less", x, y); })
      .def("__le__", [](nb::handle x, nb::handle y) { return binary("less_equal", x, y); })
      .def("__gt__", [](nb::handle x, nb::handle y) { return binary("less", y, x); })
      .def("__ge__", [](nb::handle x, nb::handle y) { return binary("less_equal", y, x); })
      .def("__eq__", [](nb::handle x, nb::handle y) { return binary("equal", x, y); })
      .def("__ne__", [](nb::handle x, nb::handle y) { return written("not_equal")(x, y); })
      .def("__hash__", [](nb::handle x) { return reinterpret_cast<Py_ssize_t>(x.ptr()) >> 4; })
      .def(
          "__and__", [](nb::handle x, nb::handle y) { return written("both")(x, y); },
          nb::sig("def __and__(self, y: Any, /) -> Value"))
      .def(
          "__rand__", [](nb::handle x, nb::handle y) { return written("both")(y, x); },
          nb::sig("def __rand__(self, y: Any, /) -> Value"))
      .def(
          "__or__", [](nb::handle x, nb::handle y) { return written("either")(x, y); },
          nb::sig("def __or__(self, y: Any, /) -> Value"))
      .def(
          "__ror__", [](nb::handle x, nb::handle y) { return written("either")(y, x); },
          nb::sig("def __ror__(self, y: Any, /) -> Value"))
      .def("__invert__", [](nb::handle x) { return written("negated")(x); }, nb::sig("def __invert__(self) -> Value"));
}

void bind_methods(nb::class_<Value>& type) {
  const auto reduction = [&type](const char* name, const char* signature, const char* doc) {
    type.def(
        name,
        [name](nb::handle x, nb::handle axis, nb::handle keepdims) {
          return written("reduce")(name, x, axis, keepdims);
        },
        nb::arg("axis") = nb::none(), nb::arg("keepdims") = false, nb::sig(signature), doc);
  };
  reduction("sum", "def sum(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Value",
            "Over one axis, several or all; negative ones count from the end.");
  reduction("mean", "def mean(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Value",
            "Over one axis, several or all; negative ones count from the end.");
  reduction("max", "def max(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Value",
            "The largest element over one axis, several or all; a NaN wins.");
  reduction("min", "def min(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Value",
            "The smallest element over one axis, several or all; a NaN wins.");
  type.def(
          "reshape", [](nb::handle x, const nb::args& shape) { return written("reshape")(x, shape); },
          nb::sig("def reshape(self, *shape: int | Sequence[int]) -> Value"),
          "The elements in their order under another shape; one extent may be -1.")
      .def(
          "transpose", [](nb::handle x, const nb::args& axes) { return written("transpose")(x, axes); },
          nb::sig("def transpose(self, *axes: int | Sequence[int]) -> Value"),
          "Axes in another order; without any: reversed.")
      .def(
          "astype", [](nb::handle x, nb::handle dtype) { return written("astype")(x, dtype); },
          nb::sig("def astype(self, dtype: Any, /) -> Value"), "In another element type, by our name or NumPy's.")
      .def(
          "__getitem__", [](nb::handle x, nb::handle key) { return written("index")(x, key); },
          nb::sig("def __getitem__(self, key: Any, /) -> Value"),
          "Whole numbers, slices with a positive step, None and ... as in NumPy; one array or value of whole numbers "
          "takes parts along the first axis.")
      .def(
          "__setitem__", [](nb::handle, nb::handle, nb::handle) { written("refuse_assignment")(); },
          nb::sig("def __setitem__(self, key: Any, value: Any, /) -> None"));
}

void bind_numbers(nb::class_<Value>& type) {
  type.def(
          "numpy", [](const Value& v) { return numbers(v, kArray); }, nb::sig("def numpy(self) -> Any"),
          "Its numbers, where functions run op by op: ridgeline.graph.set_mode('eager').")
      .def(
          "item", [](const Value& v) { return called(v, "item", kNumber); }, nb::sig("def item(self) -> Any"),
          "Its only number, likewise.")
      .def("__bool__", &truth_of)
      .def(
          "__float__", [](const Value& v) { return called(v, "__float__", kNumber); },
          nb::sig("def __float__(self) -> float"))
      .def(
          "__int__", [](const Value& v) { return called(v, "__int__", kNumber); }, nb::sig("def __int__(self) -> int"))
      .def(
          "__index__", [](const Value& v) { return called(v, "__index__", kNumber); },
          nb::sig("def __index__(self) -> int"))
      .def(
          "__complex__", [](const Value& v) { return called(v, "__complex__", kNumber); },
          nb::sig("def __complex__(self) -> complex"))
      .def(
          "__len__", [](const Value& v) { return written("length")(shape_of(v)); }, nb::sig("def __len__(self) -> int"))
      .def(
          "__iter__",
          [](nb::handle v) {
            numbers(nb::cast<Value>(v), kElements);
            return written("parts")(v);
          },
          nb::sig("def __iter__(self) -> Any"))
      .def(
          "__contains__",
          [](const Value& v, nb::handle what) { return numbers(v, kElements).attr("__contains__")(what); },
          nb::sig("def __contains__(self, what: Any, /) -> bool"))
      .def(
          "__array__", [](const Value& v, const nb::args&, const nb::kwargs&) { return numbers(v, kArray); },
          nb::sig("def __array__(self, *args: Any, **kwargs: Any) -> Any"))
      .def(
          "__dlpack__",
          [](const Value& v, const nb::args&, const nb::kwargs& options) {
            return numbers(v, kArray).attr("__dlpack__")(**options);
          },
          nb::sig("def __dlpack__(self, *args: Any, **kwargs: Any) -> Any"))
      .def(
          "__dlpack_device__", [](const Value& v) { return called(v, "__dlpack_device__", kArray); },
          nb::sig("def __dlpack_device__(self) -> tuple[int, int]"))
      .def(
          "__array_ufunc__",
          [](nb::handle, nb::handle function, nb::handle method, const nb::args& given, const nb::kwargs& options) {
            return written("numpy_function")(function, method, given, options);
          },
          nb::sig("def __array_ufunc__(self, function: Any, method: str, /, *given: Any, **options: Any) -> Any"),
          "NumPy's functions of elements as far as there are ops of the kind.")
      .def(
          "__array_function__",
          [](nb::handle, nb::handle function, nb::handle, nb::handle given, nb::handle options) {
            return written("numpy_call")(function, given, options);
          },
          nb::sig("def __array_function__(self, function: Any, types: Any, given: Any, options: Any, /) -> Any"),
          "NumPy's sum, mean, max, min, reshape, transpose, where and concatenate.");
}

}  // namespace

void bind_value_class(nb::module_& m) {
  nb::class_<Value> type(m, "Value",
                         "A value of a step graph while it is built: what layers and ops take and give. It has a shape "
                         "and a type; it has numbers where a function runs op by op.");
  type.def_prop_ro("shape", &shape_of, nb::sig("def shape(self) -> tuple[int, ...]"), "Extents; images are [N,H,W,C].")
      .def_prop_ro(
          "dtype", [](const Value& v) { return std::string(name_of(type_of(v).dtype)); }, "'f32', 'u8', ...")
      .def_prop_ro(
          "ndim", [](const Value& v) { return type_of(v).shape.rank(); }, "How many axes there are.")
      .def_prop_ro(
          "size", [](const Value& v) { return type_of(v).shape.elements(); }, "How many elements there are.")
      .def_prop_ro(
          "T", [](nb::handle x) { return written("transpose")(x, nb::make_tuple()); }, nb::sig("def T(self) -> Value"),
          "With the axes reversed.")
      .def("__repr__", [](const Value& v) {
        const Place* place = Place::current();
        const std::string told = "Value(" + type_of(v).to_string();
        if (place == nullptr || place->find(v) == nullptr) return told + ")";
        return told + ": " + shown(nb::repr(to_numpy(place->find(v)->clone()))) + ")";
      });
  bind_arithmetic(type);
  bind_comparisons(type);
  bind_methods(type);
  bind_numbers(type);
}

}  // namespace ridgeline::python
