#include "bind_functions.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "../arrays.h"
#include "../bind.h"
#include "../train/graph_values.h"
#include "../values.h"
#include "execution.h"
#include "ridgeline/core/error.h"
#include "ridgeline/graph/draw/draw.h"
#include "ridgeline/graph/ir/forms.h"
#include "ridgeline/graph/ir/text.h"

namespace ridgeline::python {
namespace {

nb::tuple extents(const Shape& shape) {
  nb::list list;
  for (const std::int64_t extent : shape) list.append(extent);
  return nb::tuple(list);
}

nb::tuple described(const std::string& name, const ValueType& type) {
  return nb::make_tuple(name, std::string(name_of(type.dtype)), extents(type.shape));
}

std::string text_of_graph(const PyGraph& graph, const std::string& form) {
  if (form == "rdg") return to_text(*graph.graph);
  if (form == "let") return to_let_text(*graph.graph);
  if (form == "ir") return to_entry_text(*graph.graph);
  throw Error("the form of a graph's text is '" + form + "' (allowed: rdg, let, ir)", ErrorKind::usage);
}

void bind_graph(nb::module_& m) {
  nb::class_<PyGraph>(m, "Graph",
                      "The graph of a function for arguments of certain types. It shows itself in notebooks.")
      .def_prop_ro("name", [](const PyGraph& g) { return g.graph->name; })
      .def_prop_ro(
          "arguments",
          [](const PyGraph& g) {
            nb::list list;
            for (const ValueId id : g.graph->arguments)
              list.append(described(g.graph->value(id).name, g.graph->value(id).type));
            return list;
          },
          "Name, type and shape of each.")
      .def_prop_ro(
          "results",
          [](const PyGraph& g) {
            nb::list list;
            for (const Return& r : g.graph->returns) list.append(described(r.name, g.graph->value(r.value).type));
            return list;
          },
          "Name, type and shape of each.")
      .def_prop_ro(
          "ops",
          [](const PyGraph& g) {
            nb::list list;
            for (const Node& node : g.graph->nodes) list.append(node.op);
            return list;
          },
          "The names of its ops in their order; `call` for a function.")
      .def("text", &text_of_graph, nb::arg("form") = "rdg",
           "As text. rdg: what `ridgeline graph` reads, with files and lines; let: lambdas and lets; ir: the form of "
           "MindSpore's dumps, with the lines of the program.")
      .def(
          "svg", [](const PyGraph& g) { return to_svg(*g.graph, g.graph->name); }, "As a drawing.")
      .def("_repr_svg_", [](const PyGraph& g) { return to_svg(*g.graph, g.graph->name); })
      .def("__repr__", [](const PyGraph& g) { return to_text(*g.graph, {.locations = false}); });
  m.def("gradient_graph", &gradient_graph);
}

void bind_array(nb::module_& m) {
  nb::class_<PyArray>(m, "FunctionArray")
      .def("__init__",
           [](PyArray* self, nb::handle array, const std::string& what) {
             new (self) PyArray{building([&] { return from_array(what, array); })};
           })
      .def_prop_ro("dtype", [](const PyArray& a) { return std::string(name_of(a.tensor.dtype())); })
      .def_prop_ro("shape", [](const PyArray& a) { return extents(a.tensor.shape()); })
      .def("numpy", [](const PyArray& a) { return to_numpy(a.tensor); })
      .def("dlpack", [](const PyArray& a) { return to_dlpack(a.tensor, nullptr, false); });
  m.def("is_array", &is_array, nb::arg().none());
}

template <class T>
void bind_place(nb::class_<T>& type) {
  type.def("enter", [](T& place) { place.enter(); }).def("leave", [](T& place) { place.leave(); });
}

}  // namespace

void bind_functions(nb::module_& m) {
  bind_graph(m);
  bind_array(m);
  m.def("place", []() -> nb::object {
    Place* place = Place::current();
    return place == nullptr ? nb::none() : nb::object(nb::str(place->kind()));
  });
  nb::class_<FunctionTrace> trace(m, "FunctionTrace");
  bind_place(trace);
  trace.def(nb::init<const std::string&, nb::object>(), nb::arg("name"), nb::arg("code").none())
      .def("input", &FunctionTrace::input)
      .def("call", &FunctionTrace::call)
      .def("finish", &FunctionTrace::finish)
      .def("constants", &FunctionTrace::constants);
  nb::class_<FunctionSession>(m, "FunctionSession").def(nb::init<const std::string&, int>());
  nb::class_<FunctionProgram>(m, "FunctionProgram")
      .def(nb::init<std::shared_ptr<FunctionSession>, const PyGraph&, std::vector<PyArray>, bool>())
      .def("run", &FunctionProgram::run);
  nb::class_<EagerRun> eager(m, "EagerRun");
  bind_place(eager);
  eager.def(nb::init<std::shared_ptr<FunctionSession>>())
      .def("begin", &EagerRun::begin, nb::arg("code").none())
      .def("input", &EagerRun::input)
      .def("output", &EagerRun::output)
      .def("gradients", &EagerRun::gradients)
      .def("call", &EagerRun::call);
  // Uses the innermost place of the thread, for arguments of a function that are not values.
  m.def("value_of_array", [](nb::handle array) {
    Place* place = Place::current();
    RIDGELINE_CHECK(place != nullptr, "an array becomes a value where nothing is built");
    return place->constant(array, user_line());
  });
  m.def("call_function", [](const std::string& name, const PyGraph& body, const std::vector<Value>& arguments,
                            const std::vector<PyArray>& constants) {
    Place* place = Place::current();
    if (auto* traced = dynamic_cast<FunctionTrace*>(place)) return traced->call(name, body, arguments, constants);
    if (auto* run = dynamic_cast<EagerRun*>(place)) return run->call(name, body, arguments, constants);
    RIDGELINE_CHECK(false, "a function is called where nothing calls one");
  });
  m.def("graph_value_numbers", [](const Value& value) -> nb::object {
    Place* place = Place::current();
    const Tensor* tensor = place == nullptr ? nullptr : place->find(value);
    return tensor == nullptr ? nb::none() : to_numpy(tensor->clone());
  });
}

}  // namespace ridgeline::python
