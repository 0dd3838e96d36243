#include "values.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "arrays.h"
#include "ridgeline/core/error.h"

namespace ridgeline::python {
namespace {

using data::ArgSpec;
using data::ArgType;

[[noreturn]] void refuse(const std::string& op, const ArgSpec& spec, nb::handle given) {
  throw Error("[" + op + "] argument '" + spec.name + "' is " + shown(nb::repr(given)) + ", it must be " +
                  data::name_with_article(spec.type) + ": " + spec.doc,
              ErrorKind::usage);
}

bool is_text(nb::handle h) {
  return PyUnicode_Check(h.ptr()) || PyBytes_Check(h.ptr()) || nb::hasattr(h, "__fspath__");
}

// Whether it is an integer or real number, also of NumPy; booleans are not.
bool as_integer(nb::handle h, std::int64_t& value) {
  if (PyBool_Check(h.ptr()) || !PyIndex_Check(h.ptr())) return false;
  int overflow = 0;
  const nb::object whole = nb::steal(PyNumber_Index(h.ptr()));
  if (!whole.is_valid()) {
    PyErr_Clear();  // an array of several elements
    return false;
  }
  value = PyLong_AsLongLongAndOverflow(whole.ptr(), &overflow);
  if (overflow != 0) throw Error(shown(whole) + " does not fit 64 bits", ErrorKind::usage);
  return true;
}

bool as_real(nb::handle h, double& value) {
  if (PyBool_Check(h.ptr()) || is_text(h)) return false;
  value = PyFloat_AsDouble(h.ptr());
  if (value == -1.0 && PyErr_Occurred()) {
    PyErr_Clear();
    return false;
  }
  std::int64_t whole = 0;
  constexpr double kBeyond = 9223372036854775808.0;  // 2^63
  if (as_integer(h, whole) && (value >= kBeyond || static_cast<std::int64_t>(value) != whole))
    throw Error(shown(h) + " is no number that a real argument (64 bits) holds exactly", ErrorKind::usage);
  return true;
}

template <class T, class Convert>
bool as_list(nb::handle given, std::vector<T>& values, Convert&& convert) {
  T one{};
  if (convert(given, one)) {
    values.push_back(std::move(one));
    return true;
  }
  if (is_text(given) || PyDict_Check(given.ptr())) return false;
  const nb::object sequence = nb::steal(PySequence_Fast(given.ptr(), ""));
  if (!sequence.is_valid()) {
    PyErr_Clear();
    return false;
  }
  for (nb::handle item : sequence) {
    if (!convert(item, one)) return false;
    values.push_back(std::move(one));
  }
  return true;
}

nb::list specs_of(const std::vector<ArgSpec>& specs) {
  nb::list list;
  for (const ArgSpec& spec : specs) {
    nb::dict entry;
    entry["name"] = spec.name;
    entry["type"] = std::string(data::name_of(spec.type));
    entry["doc"] = spec.doc;
    entry["required"] = !spec.fallback;
    entry["default"] = spec.fallback ? to_python(*spec.fallback) : nb::none();
    entry["allowed"] = nb::cast(spec.allowed);
    list.append(entry);
  }
  return list;
}

const char* name_of(data::NodeKind kind) {
  switch (kind) {
    case data::NodeKind::source: return "source";
    case data::NodeKind::order: return "order";
    case data::NodeKind::filter: return "filter";
    case data::NodeKind::map: return "map";
    case data::NodeKind::columns: return "columns";
    case data::NodeKind::join: return "join";
    case data::NodeKind::cache: return "cache";
    case data::NodeKind::batch: return "batch";
  }
  return "";
}

}  // namespace

nb::str to_python(const std::string& text) {
  return nb::steal<nb::str>(PyUnicode_DecodeFSDefaultAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
}

std::string shown(nb::handle object) {
  const nb::object text = nb::steal(PyObject_Str(object.ptr()));
  if (!text.is_valid()) throw nb::python_error();
  return nb::cast<std::string>(text);
}

std::string text_of(nb::handle text) {
  PyObject* bytes = nullptr;
  if (!PyUnicode_FSConverter(text.ptr(), &bytes)) throw nb::python_error();
  const nb::object held = nb::steal(bytes);
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(bytes, &data, &size) != 0) throw nb::python_error();
  return {data, static_cast<std::size_t>(size)};
}

data::Value value_of(const std::string& op, const ArgSpec& spec, nb::handle given) {
  const auto text = [](nb::handle h, std::string& value) {
    if (!is_text(h)) return false;
    value = text_of(h);
    return true;
  };
  switch (spec.type) {
    case ArgType::boolean:
      if (PyBool_Check(given.ptr())) return given.is(Py_True);
      break;
    case ArgType::integer: {
      std::int64_t value = 0;
      if (as_integer(given, value)) return value;
      break;
    }
    case ArgType::real: {
      double value = 0;
      if (as_real(given, value)) return value;
      break;
    }
    case ArgType::text: {
      std::string value;
      if (text(given, value)) return value;
      break;
    }
    case ArgType::integers: {
      data::Integers values;
      if (as_list(given, values, as_integer)) return values;
      break;
    }
    case ArgType::reals: {
      data::Reals values;
      if (as_list(given, values, as_real)) return values;
      break;
    }
    case ArgType::texts: {
      data::Texts values;
      if (as_list(given, values, text)) return values;
      break;
    }
    case ArgType::tensors: {
      if (!PyDict_Check(given.ptr())) break;
      data::Tensors columns;
      for (const auto& [name, values] : nb::borrow<nb::dict>(given))
        columns.push_back({text_of(name), column_of(text_of(name), values)});
      return columns;
    }
  }
  refuse(op, spec, given);
}

data::Args args_of(const std::string& op, const std::vector<ArgSpec>& specs, nb::handle given) {
  data::Args args;
  for (const auto& [name, value] : nb::borrow<nb::dict>(given)) {
    const std::string key = text_of(name);
    const ArgSpec* found = nullptr;
    std::vector<std::string> names;
    for (const ArgSpec& spec : specs) {
      names.push_back(spec.name);
      if (spec.name == key) found = &spec;
    }
    if (!found) throw Error("[" + op + "] unknown argument '" + key + "'" + did_you_mean(key, names), ErrorKind::usage);
    if (!value.is_none()) args.emplace(key, value_of(op, *found, value));
  }
  return args;
}

nb::object to_python(const data::Value& value) {
  return std::visit(
      [](const auto& v) -> nb::object {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::string>) {
          return to_python(v);
        } else if constexpr (std::is_same_v<T, data::Texts>) {
          nb::list list;
          for (const std::string& text : v) list.append(to_python(text));
          return list;
        } else if constexpr (std::is_same_v<T, data::Tensors>) {
          nb::dict columns;
          for (const NamedTensor& column : v) columns[to_python(column.name)] = to_numpy(column.tensor.clone());
          return columns;
        } else {
          return nb::cast(v);
        }
      },
      value);
}

nb::dict to_python(const data::Args& args) {
  nb::dict dict;
  for (const auto& [name, value] : args) dict[name.c_str()] = to_python(value);
  return dict;
}

nb::list node_table() {
  nb::list list;
  for (const data::NodeEntry& node : data::node_table()) {
    nb::dict entry;
    entry["op"] = node.op;
    entry["kind"] = name_of(node.kind);
    entry["doc"] = node.doc;
    entry["args"] = specs_of(node.args);
    list.append(entry);
  }
  return list;
}

nb::list transform_table() {
  nb::list list;
  for (const data::TransformEntry& transform : data::transform_table()) {
    if (transform.made_by_pass) continue;
    nb::dict entry;
    entry["op"] = transform.op;
    entry["doc"] = transform.doc;
    entry["args"] = specs_of(transform.args);
    entry["nests"] = transform.nests;
    entry["random"] = transform.random;
    entry["whole_batch"] = transform.whole_batch;
    list.append(entry);
  }
  return list;
}

}  // namespace ridgeline::python
