#include "optimization.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>

#include "../values.h"
#include "ridgeline/core/error.h"
#include "ridgeline/optim/optimizers.h"
#include "ridgeline/optim/schedules.h"

namespace ridgeline::python {
namespace {

using loop::Expr;

[[noreturn]] void refuse(const std::string& of, std::string_view name, nb::handle given, const char* meant) {
  throw Error(
      "[" + of + "] argument '" + std::string(name) + "' is " + shown(nb::repr(given)) + "; " + meant + " is meant",
      ErrorKind::usage);
}

double real_of(const std::string& of, std::string_view name, nb::handle given) {
  double value = 0;
  if (!PyBool_Check(given.ptr()) && nb::try_cast(given, value)) return value;
  refuse(of, name, given, "a number");
}

// The row of a table by its name; an Error suggests the nearest name.
template <class Row>
const Row& row_named(const std::string& of, const std::string& name, std::span<const Row> rows,
                     const std::vector<std::string>& read) {
  for (const Row& row : rows)
    if (row.name == name && std::find(read.begin(), read.end(), name) != read.end()) return row;
  throw Error("[" + of + "] unknown argument '" + name + "'" + did_you_mean(name, read), ErrorKind::usage);
}

std::string text_of_call(const std::string& name, nb::handle arguments) {
  std::string text;
  for (const auto& [key, value] : nb::borrow<nb::dict>(arguments)) {
    if (value.is_none()) continue;
    text += (text.empty() ? "" : ", ") + shown(key) + "=" + shown(nb::repr(value));
  }
  return name + "(" + text + ")";
}

// ---- schedules

void set_field(const std::string& of, const optim::ScheduleArgument& argument, optim::ScheduleArguments& to,
               nb::handle given) {
  std::visit(
      [&](auto field) {
        using T = std::decay_t<decltype(to.*field)>;
        if constexpr (std::is_same_v<T, double>) {
          to.*field = real_of(of, argument.name, given);
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          if (PyBool_Check(given.ptr()) || !nb::try_cast(given, to.*field))
            refuse(of, argument.name, given, "a whole number");
        } else {
          if (!nb::try_cast(given, to.*field)) refuse(of, argument.name, given, "a list of whole numbers");
        }
      },
      argument.field);
}

constexpr const char* kEpochs = "epochs";
constexpr const char* kWarmup = "warmup";

std::vector<std::string> arguments_of(const optim::ScheduleEntry& entry) {
  std::vector<std::string> names{"lr"};
  if (entry.warms_up) names.emplace_back(kWarmup);
  for (const std::string_view name : entry.arguments) names.emplace_back(name);
  names.emplace_back(kEpochs);
  return names;
}

PySchedule make_schedule(const std::string& name, nb::handle arguments) {
  const optim::ScheduleEntry& entry = optim::schedule_named(name);
  const std::vector<std::string> read = arguments_of(entry);
  optim::ScheduleArguments given;
  for (const auto& [key, value] : nb::borrow<nb::dict>(arguments)) {
    const auto& argument = row_named(name, text_of(key), optim::schedule_arguments(), read);
    if (!value.is_none()) set_field(name, argument, given, value);
  }
  if (given.epochs < 0) throw Error("[" + name + "] epochs must be 1 or more", ErrorKind::usage);
  // Checks what does not depend on the length of the training; the rest is checked when that is known.
  if (given.lr < 0) throw Error("[" + name + "] lr must be 0 or more", ErrorKind::usage);
  return {text_of_call(name, arguments), [&entry, given](const TrainingLength& length) {
            optim::ScheduleArguments complete = given;
            complete.steps_per_epoch = length.steps_per_epoch;
            if (complete.epochs == 0) complete.epochs = length.epochs;
            return entry.make(complete);
          }};
}

// A formula that a Python function builds. The function is called once.
struct PythonFormula {
  nb::handle function;
  void check() const {}
  Expr rate(Expr step) const {
    const nb::object result = function(nb::cast(step));
    double number = 0;
    if (Expr expression = 0; nb::try_cast(result, expression)) return expression;
    if (!PyBool_Check(result.ptr()) && nb::try_cast(result, number)) return number;
    throw Error("the learning rate's function gave " + shown(nb::repr(result)) +
                    "; an expression of its argument or a number is meant",
                ErrorKind::usage);
  }
};

nb::object default_of(const optim::ScheduleArgument& argument) {
  const optim::ScheduleArguments usual;
  return std::visit([&](auto field) { return nb::cast(usual.*field); }, argument.field);
}

// A table, as Python reads it.
template <class Entry>
nb::dict row_of(const Entry& entry, const nb::list& arguments) {
  nb::dict row;
  row["name"] = std::string(entry.name);
  row["doc"] = std::string(entry.line);
  row["args"] = arguments;
  return row;
}

nb::list schedule_table() {
  nb::list list;
  for (const optim::ScheduleEntry& entry : optim::schedules()) {
    nb::list arguments;
    const std::vector<std::string> read = arguments_of(entry);
    for (const std::string& name : read) {
      const auto& argument = row_named(std::string(entry.name), name, optim::schedule_arguments(), read);
      constexpr const char* kTypes[] = {"float", "int", "Sequence[int]"};
      nb::dict row;
      row["name"] = name;
      row["type"] = kTypes[argument.field.index()];
      row["doc"] = std::string(argument.line);
      row["default"] = name == kEpochs ? nb::none() : default_of(argument);
      arguments.append(row);
    }
    list.append(row_of(entry, arguments));
  }
  return list;
}

// ---- optimizers

optim::OptimizerArguments optimizer_arguments_of(const optim::OptimizerEntry& entry, nb::handle given) {
  optim::OptimizerArguments arguments;
  const std::string of(entry.name);
  const std::vector<std::string> read(entry.arguments.begin(), entry.arguments.end());
  for (const auto& [key, value] : nb::borrow<nb::dict>(given)) {
    const auto& argument = row_named(of, text_of(key), optim::optimizer_arguments(), read);
    if (value.is_none()) continue;
    if (argument.flag != nullptr) {
      if (!PyBool_Check(value.ptr())) refuse(of, argument.name, value, "True or False");
      arguments.*argument.flag = value.is(Py_True);
    } else {
      arguments.*argument.real = real_of(of, argument.name, value);
    }
  }
  return arguments;
}

PyOptimizer make_optimizer(const std::string& name, nb::handle arguments, nb::handle rate, double weight_decay,
                           bool decay_vectors, const std::vector<nn::ParameterGroup>& groups) {
  const optim::OptimizerEntry& entry = optim::optimizer_named(name);
  optim::check_not_negative(weight_decay, "weight_decay");
  return {text_of_call(name, arguments),
          entry.make(optimizer_arguments_of(entry, arguments)),
          schedule_of(rate),
          weight_decay,
          decay_vectors,
          groups};
}

nb::list optimizer_table() {
  nb::list list;
  for (const optim::OptimizerEntry& entry : optim::optimizers()) {
    nb::list arguments;
    for (const optim::OptimizerArgument& argument : optim::optimizer_arguments()) {
      if (std::find(entry.arguments.begin(), entry.arguments.end(), argument.name) == entry.arguments.end()) continue;
      nb::dict row;
      row["name"] = std::string(argument.name);
      row["type"] = argument.flag != nullptr ? "bool" : "float";
      row["doc"] = std::string(argument.line);
      row["default"] = argument.flag != nullptr ? nb::cast((entry.defaults.*argument.flag).value())
                                                : nb::cast((entry.defaults.*argument.real).value());
      arguments.append(row);
    }
    list.append(row_of(entry, arguments));
  }
  return list;
}

// {argument: default} of the arguments of all optimizers, from C++.
nb::dict training_defaults() {
  const nn::TrainingOptions usual;
  nb::dict all;
  all["lr"] = optim::Constant{}.base;
  all["weight_decay"] = usual.weight_decay;
  all["decay_vectors"] = usual.decay_vectors;
  return all;
}

}  // namespace

PySchedule schedule_of(nb::handle rate) {
  if (PySchedule given; nb::try_cast(rate, given)) return given;
  double number = 0;
  if (!PyBool_Check(rate.ptr()) && nb::try_cast(rate, number)) {
    const optim::Schedule constant = optim::Constant{.base = number};
    return {shown(nb::repr(rate)), [constant](const TrainingLength&) { return constant; }};
  }
  if (PyCallable_Check(rate.ptr()) != 0) {
    const optim::Schedule formula{PythonFormula{rate}};
    return {shown(nb::repr(rate)), [formula](const TrainingLength&) { return formula; }};
  }
  throw Error("lr is " + shown(nb::repr(rate)) +
                  "; a number, a schedule of ridgeline.optim, or a function of the step's index is meant",
              ErrorKind::usage);
}

void bind_optimization(nb::module_& m) {
  nb::class_<Expr>(m, "RateExpr", "A term of a learning rate's formula: made of the index of the step.")
      .def("__add__", [](Expr x, double y) { return x + y; })
      .def("__add__", [](Expr x, Expr y) { return x + y; })
      .def("__radd__", [](Expr x, double y) { return y + x; })
      .def("__sub__", [](Expr x, double y) { return x - y; })
      .def("__sub__", [](Expr x, Expr y) { return x - y; })
      .def("__rsub__", [](Expr x, double y) { return y - x; })
      .def("__mul__", [](Expr x, double y) { return x * y; })
      .def("__mul__", [](Expr x, Expr y) { return x * y; })
      .def("__rmul__", [](Expr x, double y) { return y * x; })
      .def("__truediv__", [](Expr x, double y) { return x / y; })
      .def("__truediv__", [](Expr x, Expr y) { return x / y; })
      .def("__rtruediv__", [](Expr x, double y) { return y / x; })
      .def("__floordiv__", [](Expr x, double y) { return floor(x / y); })
      .def("__lt__", [](Expr x, double y) { return x < y; })
      .def("__lt__", [](Expr x, Expr y) { return x < y; })
      .def("__le__", [](Expr x, double y) { return x <= y; })
      .def("__le__", [](Expr x, Expr y) { return x <= y; })
      .def("__gt__", [](Expr x, double y) { return x > y; })
      .def("__gt__", [](Expr x, Expr y) { return x > y; })
      .def("__ge__", [](Expr x, double y) { return Expr(y) <= x; })
      .def("__ge__", [](Expr x, Expr y) { return y <= x; })
      .def("__neg__", [](Expr x) { return -x; })
      .def("__bool__", [](const Expr&) -> bool {
        throw Error(
            "a learning rate's formula has no truth while it is written: "
            "ridgeline.optim.where(condition, a, b) chooses between two terms",
            ErrorKind::usage);
      });
  m.def("rate_function", [](const std::string& name, const std::vector<nb::object>& operands) {
    std::vector<Expr> x;
    for (const nb::object& operand : operands) {
      double number = 0;
      if (Expr expression = 0; nb::try_cast(operand, expression))
        x.push_back(expression);
      else if (nb::try_cast(operand, number))
        x.emplace_back(number);
      else
        throw Error(
            "[" + name + "] takes terms of a learning rate's formula and numbers, not " + shown(nb::repr(operand)),
            ErrorKind::usage);
    }
    if (name == "exp") return exp(x.at(0));
    if (name == "log") return log(x.at(0));
    if (name == "sqrt") return sqrt(x.at(0));
    if (name == "floor") return floor(x.at(0));
    if (name == "cos") return cos(x.at(0));
    if (name == "sin") return sin(x.at(0));
    if (name == "minimum") return min(x.at(0), x.at(1));
    if (name == "maximum") return max(x.at(0), x.at(1));
    return select(x.at(0), x.at(1), x.at(2));
  });
  const auto rate_of = [](const PySchedule& s, std::int64_t step, std::int64_t steps_per_epoch, std::int64_t epochs) {
    return optim::learning_rate(s.at({steps_per_epoch, epochs}), step);
  };
  constexpr const char* kRate =
      "The rate of the step of that index (0 is the first) in a training of so many steps an epoch and epochs.";
  nb::class_<PySchedule>(m, "Schedule", "How the learning rate follows from the index of the step.")
      .def("rate", rate_of, nb::arg("step"), nb::arg("steps_per_epoch") = 1, nb::arg("epochs") = 1, kRate)
      .def("__repr__", [](const PySchedule& s) { return s.text; });
  nb::class_<PyOptimizer>(m, "Optimizer", "An optimizer with its learning rate and its decay of weights.")
      .def_prop_ro(
          "slots", [](const PyOptimizer& o) { return o.rule.slots(); },
          "What it keeps beside every parameter, by the name in checkpoints behind the parameter's.")
      .def(
          "rate",
          [rate_of](const PyOptimizer& o, std::int64_t step, std::int64_t steps_per_epoch, std::int64_t epochs) {
            return rate_of(o.rate, step, steps_per_epoch, epochs);
          },
          nb::arg("step"), nb::arg("steps_per_epoch") = 1, nb::arg("epochs") = 1, kRate)
      .def("__repr__", [](const PyOptimizer& o) { return o.text; });
  nb::class_<nn::ParameterGroup>(m, "ParameterGroup",
                                 "Parameters that are trained otherwise than the rest, by a pattern of their names: * "
                                 "stands for any characters, ? for one. Of several groups that match, the last counts.")
      .def(
          "__init__",
          [](nn::ParameterGroup* self, const std::string& pattern, double rate_factor,
             std::optional<double> weight_decay, bool frozen) {
            optim::check_not_negative(rate_factor, "rate_factor");
            new (self) nn::ParameterGroup{pattern, rate_factor, weight_decay, frozen};
          },
          nb::arg("pattern"), nb::arg("rate_factor") = nn::ParameterGroup{}.rate_factor,
          nb::arg("weight_decay") = nb::none(), nb::arg("frozen") = nn::ParameterGroup{}.frozen,
          "rate_factor: times the schedule's rate, 0 or more\nweight_decay: of these; None: the optimizer's\nfrozen: "
          "no "
          "gradient, no slot, no update");
  m.def("make_schedule", &make_schedule);
  m.def("schedule_of", &schedule_of);
  m.def("schedule_table", &schedule_table);
  m.def("make_optimizer", &make_optimizer);
  m.def("optimizer_table", &optimizer_table);
  m.def("training_defaults", &training_defaults);
}

}  // namespace ridgeline::python
