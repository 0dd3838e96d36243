#include "graph_values.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "../bind.h"
#include "../graph/value_class.h"
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

Attributes attributes_at(const Location& where, const OpDef& def, nb::handle given) {
  try {
    return attributes_of(def, given);
  } catch (const Error& error) {
    throw Error(error.what() + behind_message(where), ErrorKind::usage);
  }
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

// Whether the type can represent the number: floating types round; integer types take integers of their range, up to
// 2^53.
bool holds(DType dtype, nb::handle given, double number) {
  if (dtype == DType::boolean || is_floating(dtype)) return true;
  const double least = dtype == DType::u8 ? 0 : dtype == DType::i32 ? -0x1p31 : -0x1p53;
  const double most = dtype == DType::u8 ? 255 : dtype == DType::i32 ? 0x1p31 - 1 : 0x1p53;
  return number == std::floor(number) && number >= least && number <= most && nb::cast(number).equal(given);
}

// A constant of type `dtype` for a number among the operands of an op.
Value constant_of(GraphBuilder& builder, const std::string& op, nb::handle given, double number, DType dtype,
                  const Location& where) {
  if (holds(dtype, given, number)) return builder.constant(number, dtype, where);
  throw Error("[" + op + "] " + shown(nb::repr(given)) + " is no number of the type " + std::string(name_of(dtype)) +
                  ", as the values beside it are (x.astype('f32') makes others of them)" + behind_message(where),
              ErrorKind::usage);
}

// The element type of numbers among these operands: that of the first value that is not a condition.
DType type_beside(const std::vector<nb::object>& operands, const Location& where) {
  for (const nb::object& operand : operands) {
    Value value;
    if (!nb::try_cast(operand, value)) continue;
    const DType dtype = building([&] { return value.builder(where).graph().value(value.id()).type.dtype; });
    if (dtype != DType::boolean) return dtype;
  }
  return DType::f32;
}

}  // namespace

BuildScope::BuildScope(nn::ModelContext& context) : context_(context), outer_(t_scope) {
  t_scope = this;
  enter();
}

BuildScope::~BuildScope() {
  leave();
  t_scope = outer_;
}

Value BuildScope::constant(nb::handle, const Location& where) {
  throw Error("an array is no part of a net: a number, ridgeline.nn.parameter, or another input of the data is meant" +
                  behind_message(where),
              ErrorKind::usage);
}

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

namespace {

// Whether a frame is of the package's files, whose lines are not reported.
bool of_package(nb::handle code) {
  static const std::string package = [] {
    const std::string file = shown(nb::module_::import_("ridgeline").attr("__file__"));
    return file.substr(0, file.rfind('/') + 1);
  }();
  return shown(code.attr("co_filename")).starts_with(package);
}

Location line_of_frame(nb::handle frame) {
  const nb::object code = frame.attr("f_code");
  return {.file = shown(code.attr("co_filename")),
          .line = nb::cast<std::uint32_t>(frame.attr("f_lineno")),
          .function = shown(code.attr("co_name"))};
}

}  // namespace

nb::object user_frame() {
  nb::object frame;
  try {
    frame = nb::module_::import_("sys").attr("_getframe")();
  } catch (const nb::python_error&) {
    return nb::none();  // no Python frame runs on this thread
  }
  while (!frame.is_none() && of_package(frame.attr("f_code"))) frame = frame.attr("f_back");
  return frame;
}

Location user_line() {
  const nb::object frame = user_frame();
  return frame.is_none() ? Location{} : line_of_frame(frame);
}

LocationStack user_lines(PyObject* code) {
  LocationStack lines;
  for (nb::object frame = user_frame(); !frame.is_none(); frame = frame.attr("f_back")) {
    const nb::object own = frame.attr("f_code");
    if (!of_package(own)) lines.push_back(line_of_frame(frame));
    if (own.ptr() == code) return lines;
  }
  lines.resize(std::min<std::size_t>(lines.size(), 1));
  return lines;
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
  Place* place = Place::current();
  GraphBuilder* builder = place != nullptr ? &place->builder() : nullptr;
  for (const nb::object& operand : operands) {
    Value value;
    if (builder == nullptr && nb::try_cast(operand, value)) builder = building([&] { return &value.builder(where); });
  }
  if (builder == nullptr)
    throw Error(
        "the op " + op +
            " is called where no graph is built: it belongs into the function that ridgeline.train.Model gets, "
            "or into one with @ridgeline.function (with ridgeline.graph.set_mode('eager') ops take arrays anywhere)" +
            behind_message(where),
        ErrorKind::usage);
  std::vector<Value> values;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const nb::object& operand = operands[i];
    double number = 0;
    if (operand.is_none()) {
      values.emplace_back();
    } else if (Value value; nb::try_cast(operand, value)) {
      values.push_back(value);
    } else if (PyBool_Check(operand.ptr())) {
      values.push_back(builder->constant(operand.is(Py_True) ? 1 : 0, DType::boolean, where));
    } else if (place != nullptr && is_array(operand)) {
      values.push_back(place->constant(operand, where));
    } else if (nb::try_cast(operand, number)) {
      values.push_back(constant_of(*builder, op, operand, number, type_beside(operands, where), where));
    } else {
      throw Error("[" + op + "] operand " + std::to_string(i + 1) + " is " + shown(nb::repr(operand)) +
                      "; a value of the graph or a number is meant" + behind_message(where),
                  ErrorKind::usage);
    }
  }
  const Attributes given = attributes_at(where, def, attributes);
  const CallerFrames frames(*builder, place != nullptr ? place->code() : nullptr);
  const auto turn = place != nullptr ? place->work() : std::unique_lock<std::mutex>();
  return building([&] { return builder->apply_all(op, values, given, where); });
}

void bind_graph_values(nb::module_& m) {
  bind_value_class(m);
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
