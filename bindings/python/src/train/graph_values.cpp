#include "graph_values.h"

#include <nanobind/operators.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>

#include "../bind.h"
#include "../values.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/location_text.h"
#include "ridgeline/graph/draw/draw.h"
#include "ridgeline/graph/ir/builder.h"
#include "ridgeline/graph/ir/forms.h"
#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/graph/ir/text.h"

namespace ridgeline::python {
namespace {

thread_local BuildScope* t_scope = nullptr;

template <class T>
T number_of(nb::handle given, const std::string& what, const char* meant) {
  T value{};
  if (!PyBool_Check(given.ptr()) && nb::try_cast(given, value)) return value;
  throw Error(what + " is " + shown(nb::repr(given)) + "; " + meant + " is meant", ErrorKind::usage);
}

template <class T>
std::vector<T> numbers_of(nb::handle given, const std::string& what, const char* meant) {
  std::vector<T> values;
  if (nb::try_cast(given, values)) return values;
  return {number_of<T>(given, what, meant)};
}

DType dtype_of(nb::handle given, const std::string& what) {
  std::string name;
  std::optional<DType> dtype;
  if (nb::try_cast(given, name)) dtype = parse_dtype(name);
  if (dtype) return *dtype;
  throw Error(what + " is " + shown(nb::repr(given)) + " (allowed: f64, f32, bf16, f16, u8, i32, i64, bool)",
              ErrorKind::usage);
}

Attribute attribute_of(const std::string& op, const AttributeSpec& spec, nb::handle given) {
  const std::string what = "[" + op + "] attribute '" + spec.name + "'";
  return std::visit(
      [&](const auto& example) -> Attribute {
        using T = std::decay_t<decltype(example)>;
        if constexpr (std::is_same_v<T, bool>) {
          if (PyBool_Check(given.ptr())) return given.is(Py_True);
          throw Error(what + " is " + shown(nb::repr(given)) + "; True or False is meant", ErrorKind::usage);
        } else if constexpr (std::is_same_v<T, std::string>) {
          std::string text;
          if (nb::try_cast(given, text)) return text;
          throw Error(what + " is " + shown(nb::repr(given)) + "; a text is meant", ErrorKind::usage);
        } else if constexpr (std::is_same_v<T, DType>) {
          return dtype_of(given, what);
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          return number_of<std::int64_t>(given, what, "a whole number");
        } else if constexpr (std::is_same_v<T, double>) {
          return number_of<double>(given, what, "a number");
        } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
          return numbers_of<std::int64_t>(given, what, "a list of whole numbers");
        } else {
          return numbers_of<double>(given, what, "a list of numbers");
        }
      },
      spec.example);
}

Attributes attributes_of(const OpDef& def, nb::handle given) {
  Attributes attributes;
  if (given.is_none()) return attributes;
  for (const auto& [name, value] : nb::borrow<nb::dict>(given)) {
    const std::string key = text_of(name);
    const auto spec = std::find_if(def.attributes.begin(), def.attributes.end(),
                                   [&](const AttributeSpec& candidate) { return candidate.name == key; });
    if (spec == def.attributes.end()) {
      std::vector<std::string> names;
      for (const AttributeSpec& known : def.attributes) names.push_back(known.name);
      throw Error("[" + def.name + "] unknown attribute '" + key + "'" + did_you_mean(key, names), ErrorKind::usage);
    }
    if (!value.is_none()) attributes.set(key, attribute_of(def.name, *spec, value));
  }
  return attributes;
}

nb::object to_python(const Attribute& attribute) {
  return std::visit(
      [](const auto& value) -> nb::object {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, DType>)
          return nb::cast(std::string(name_of(value)));
        else
          return nb::cast(value);
      },
      attribute);
}

const char* type_text(const Attribute& attribute) {
  constexpr const char* kNames[] = {"bool", "int", "float", "str", "str", "Sequence[int]", "Sequence[float]"};
  return kNames[attribute.index()];
}

// [{"name", "formula", "operands", "min_operands", "max_operands", "results", "attributes": [...]}]
nb::list op_table() {
  nb::list list;
  for (const OpDef& def : all_ops()) {
    nb::list attributes;
    for (const AttributeSpec& spec : def.attributes) {
      nb::dict entry;
      entry["name"] = spec.name;
      entry["type"] = type_text(spec.example);
      entry["required"] = !spec.fallback;
      entry["default"] = spec.fallback ? to_python(*spec.fallback) : nb::none();
      entry["doc"] = spec.meaning;
      attributes.append(entry);
    }
    nb::dict entry;
    entry["name"] = def.name;
    entry["formula"] = def.formula;
    entry["operands"] = nb::cast(def.operands);
    entry["min_operands"] = def.min_operands;
    entry["max_operands"] = def.max_operands;
    entry["results"] = nb::cast(def.results);
    entry["attributes"] = attributes;
    list.append(entry);
  }
  return list;
}

Value binary(const char* op, nb::handle x, nb::handle y) {
  return apply_op(op, {nb::borrow(x), nb::borrow(y)}, nb::none(), user_line()).front();
}

Value unary(const char* op, nb::handle x) { return apply_op(op, {nb::borrow(x)}, nb::none(), user_line()).front(); }

nb::tuple shape_of(const Value& value) {
  nb::list extents;
  for (const std::int64_t extent : value.builder(user_line()).graph().value(value.id()).type.shape)
    extents.append(extent);
  return nb::tuple(extents);
}

[[noreturn]] void refuse_control_flow(const char* what) {
  throw Error(std::string("a value of a graph has no ") + what +
                  " while the graph is built: it is known when the step runs, so `if`, `while` and Python's functions "
                  "of numbers cannot go by it (the op select chooses between two values)" +
                  behind_message(user_line()),
              ErrorKind::usage);
}

}  // namespace

BuildScope::BuildScope(nn::ModelContext& context) : context_(context), outer_(t_scope) { t_scope = this; }
BuildScope::~BuildScope() { t_scope = outer_; }

BuildScope& BuildScope::current(const std::string& what) {
  if (t_scope != nullptr) return *t_scope;
  throw Error(what +
                  " is called where no model is built: it belongs into the function that ridgeline.train.Model gets" +
                  behind_message(user_line()),
              ErrorKind::usage);
}

const std::string& BuildScope::name_of(nb::handle layer, const std::string& base, const std::string& wish) {
  const auto [known, is_new] = names_.try_emplace(layer.ptr());
  std::string& name = known->second;
  if (!is_new) return name;
  name = wish;
  while (name.empty()) {
    name = numbered_name(base, counts_[base]++);
    if (layers_.contains(name)) name.clear();
  }
  if (layers_.try_emplace(name, nb::borrow(layer)).second) return name;
  const std::string taken = name;
  names_.erase(known);
  throw Error(
      "two layers are called '" + taken + "': each needs a name of its own, or none" + behind_message(user_line()),
      ErrorKind::usage);
}

Location user_line() {
  static const std::string package = [] {
    const std::string file = shown(nb::module_::import_("ridgeline").attr("__file__"));
    return file.substr(0, file.rfind('/') + 1);
  }();
  nb::object frame;
  try {
    frame = nb::module_::import_("sys").attr("_getframe")();
  } catch (const nb::python_error&) {
    return {};  // no frame of Python runs on this thread
  }
  while (!frame.is_none()) {
    const nb::object code = frame.attr("f_code");
    const std::string file = shown(code.attr("co_filename"));
    if (!file.starts_with(package)) {
      return {.file = file,
              .line = nb::cast<std::uint32_t>(frame.attr("f_lineno")),
              .function = shown(code.attr("co_name"))};
    }
    frame = frame.attr("f_back");
  }
  return {};
}

Location line_of(nb::handle where) {
  if (where.is_none()) return user_line();
  return {.file = shown(where[0]), .line = nb::cast<std::uint32_t>(where[1]), .function = shown(where[2])};
}

Value value_of_python(nb::handle value, const std::string& what) {
  if (Value found; nb::try_cast(value, found)) return found;
  throw Error(what + " is " + shown(nb::repr(value)) + "; a value of the graph is meant" + behind_message(user_line()),
              ErrorKind::usage);
}

std::vector<Value> apply_op(const std::string& op, const std::vector<nb::object>& operands, nb::handle attributes,
                            const Location& where) {
  const OpDef& def = op_def(op);
  GraphBuilder* builder = nullptr;
  DType dtype = DType::f32;
  for (const nb::object& operand : operands) {
    Value value;
    if (!nb::try_cast(operand, value)) continue;
    builder = &value.builder(where);
    dtype = value.builder(where).graph().value(value.id()).type.dtype;
    break;
  }
  if (builder == nullptr) builder = &BuildScope::current("the op " + op).context().builder;
  std::vector<Value> values;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const nb::object& operand = operands[i];
    double number = 0;
    if (operand.is_none()) {
      values.emplace_back();
    } else if (Value value; nb::try_cast(operand, value)) {
      values.push_back(value);
    } else if (!PyBool_Check(operand.ptr()) && nb::try_cast(operand, number)) {
      values.push_back(builder->constant(number, dtype, where));
    } else {
      throw Error("[" + op + "] operand " + std::to_string(i + 1) + " is " + shown(nb::repr(operand)) +
                      "; a value of the graph or a number is meant" + behind_message(where),
                  ErrorKind::usage);
    }
  }
  return building([&] { return builder->apply_all(op, values, attributes_of(def, attributes), where); });
}

void bind_graph_values(nb::module_& m) {
  nb::class_<Value>(m, "Value",
                    "A value of a step graph while it is built: what layers and ops take and give. It has a shape and "
                    "a type, and no numbers.")
      .def_prop_ro("shape", &shape_of, "Extents; images are [N,H,W,C].")
      .def_prop_ro(
          "dtype",
          [](const Value& v) { return std::string(name_of(v.builder(user_line()).graph().value(v.id()).type.dtype)); },
          "'f32', 'u8', ...")
      .def("__add__", [](nb::handle x, nb::handle y) { return binary("add", x, y); })
      .def("__radd__", [](nb::handle x, nb::handle y) { return binary("add", y, x); })
      .def("__sub__", [](nb::handle x, nb::handle y) { return binary("sub", x, y); })
      .def("__rsub__", [](nb::handle x, nb::handle y) { return binary("sub", y, x); })
      .def("__mul__", [](nb::handle x, nb::handle y) { return binary("mul", x, y); })
      .def("__rmul__", [](nb::handle x, nb::handle y) { return binary("mul", y, x); })
      .def("__truediv__", [](nb::handle x, nb::handle y) { return binary("div", x, y); })
      .def("__rtruediv__", [](nb::handle x, nb::handle y) { return binary("div", y, x); })
      .def("__neg__", [](nb::handle x) { return unary("neg", x); })
      .def("__bool__", [](const Value&) -> bool { refuse_control_flow("truth"); })
      .def("__float__", [](const Value&) -> double { refuse_control_flow("number"); })
      .def("__int__", [](const Value&) -> int { refuse_control_flow("number"); })
      .def("__iter__", [](const Value&) -> nb::object { refuse_control_flow("elements"); })
      .def("__repr__", [](const Value& v) {
        return "Value(" + v.builder(user_line()).graph().value(v.id()).type.to_string() + ")";
      });
  m.def("op_table", &op_table);
  m.def("graph_svg", [](const std::string& text) {
    const nb::gil_scoped_release unlocked;
    return to_svg(parse_graph(text));
  });
  m.def("graph_entry_text", [](const std::string& text) {
    const nb::gil_scoped_release unlocked;
    return to_entry_text(parse_graph(text));
  });
  const auto apply = [](const std::string& op, const std::vector<nb::object>& operands, nb::handle attributes,
                        nb::handle where) {
    std::vector<Value> results = apply_op(op, operands, attributes, line_of(where));
    if (results.size() == 1) return nb::cast(results.front());
    return nb::object(nb::tuple(nb::cast(results)));
  };
  m.def("apply_op_at", apply);
  m.def("apply_op", [apply](const std::string& op, const std::vector<nb::object>& operands, nb::handle attributes) {
    return apply(op, operands, attributes, nb::none());
  });
}

}  // namespace ridgeline::python
