// The extension module: thin bindings of the C++ calls. The packages ridgeline.data, .nn, .optim and .train build the
// user interface on it.
#include <nanobind/nanobind.h>

#include <exception>

#include "bind.h"
#include "graph/bind_functions.h"
#include "ridgeline/data/sample/cell.h"
#include "train/callback.h"
#include "train/command.h"
#include "train/graph_values.h"
#include "train/model.h"
#include "train/monitors.h"
#include "train/network.h"
#include "train/optimization.h"
#include "train/ranks.h"

namespace ridgeline::python {
namespace {

// class NAME(Error, BASE)
nb::object exception(nb::module_& m, const char* name, const char* doc, nb::handle bases) {
  const std::string full = std::string("ridgeline.") + name;
  nb::object type = nb::steal(PyErr_NewExceptionWithDoc(full.c_str(), doc, bases.ptr(), nullptr));
  if (!type.is_valid()) throw nb::python_error();
  m.attr(name) = type;
  return type;
}

struct Exceptions {
  PyObject *argument, *run, *unreachable, *internal;
};

void raise(const std::exception_ptr& thrown, void* payload) {
  const auto* types = static_cast<const Exceptions*>(payload);
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::interrupted) {
      PyErr_SetNone(PyExc_KeyboardInterrupt);
      return;
    }
    // Messages contain file names, which may be any bytes.
    const nb::object text = nb::steal(
        PyUnicode_DecodeUTF8(e.what(), static_cast<Py_ssize_t>(std::string_view(e.what()).size()), "replace"));
    const bool unreachable = dynamic_cast<const UnreachableError*>(&e) != nullptr;
    PyErr_SetObject(unreachable                    ? types->unreachable
                    : e.kind() == ErrorKind::usage ? types->argument
                                                   : types->run,
                    text.ptr());
  } catch (const InternalError& e) {
    PyErr_SetString(types->internal, e.what());
  }
}

}  // namespace
}  // namespace ridgeline::python

NB_MODULE(_core, m) {
  using namespace ridgeline::python;
  make_forks_wait();
  nb::set_leak_warnings(false);  // objects that are alive at shutdown are not leaks
  m.attr("__version__") = RIDGELINE_VERSION;
  m.attr("MOST_EXTENTS") = ridgeline::data::Cell::kMaxRank;  // of a column's values
  const nb::object error =
      exception(m, "Error", "What the data engine refuses, in words for the person who reads it.", PyExc_Exception);
  static Exceptions types{};  // the module is never unloaded
  types.argument = exception(m, "ArgumentError", "A wrong argument or an impossible graph; also a ValueError.",
                             nb::make_tuple(error, nb::handle(PyExc_ValueError)))
                       .release()
                       .ptr();
  types.run = exception(m, "RunError", "Bad data, a missing file, a callback that raised; also a RuntimeError.",
                        nb::make_tuple(error, nb::handle(PyExc_RuntimeError)))
                  .release()
                  .ptr();
  types.unreachable =
      exception(m, "UnreachableError",
                "A server that is away or refuses, after all tries: tells nothing about the data, and may pass.",
                nb::handle(types.run))
          .release()
          .ptr();
  types.internal = exception(m, "InternalError", "A fault of the engine itself; also a RuntimeError.",
                             nb::make_tuple(error, nb::handle(PyExc_RuntimeError)))
                       .release()
                       .ptr();
  nb::register_exception_translator(&raise, &types);
  bind_dataset(m);
  bind_files(m);
  bind_found(m);
  bind_iterator(m);
  bind_mask_lines(m);
  bind_graph_values(m);
  bind_functions(m);
  bind_layers(m);
  bind_optimization(m);
  bind_network(m);
  bind_callback(m);
  bind_monitors(m);
  bind_model(m);
  bind_ranks(m);
  bind_command(m);
}
