// bindings/python/src/callables.h
//
// Python functions and rows under names that data graphs can hold (ridgeline/data/ir/functions.h, generators.h). The
// engine never forgets a name, so names are used again: one whose Python object is gone takes the next object of the
// same kind, and what a process registers stays bounded by what lives at one time. The object lives as long as its
// Token: graphs, transforms and iterators in Python hold the tokens of what they name.
//
// Workers call with the interpreter's lock taken for the call. What Python code raises is an Error "TYPE: text
// (FILE:LINE)" of the row it worked on.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/core/error.h"
#include "ridgeline/data/ir/callback.h"
#include "ridgeline/data/ir/column.h"

namespace ridgeline::python {

namespace nb = nanobind;

// A Python object that any thread may let go.
class Held {
 public:
  explicit Held(nb::object object) : object_(object.release().ptr()) {}
  ~Held();
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  nb::handle get() const { return object_; }

 private:
  PyObject* object_;
};

// "ValueError: too dark (augment.py:12)". Needs the interpreter's lock.
Error error_of(const nb::python_error& e);
// Runs Python code on any thread.
template <class F>
auto with_python(F&& code) {
  const nb::gil_scoped_acquire lock;
  try {
    return code();
  } catch (const nb::python_error& e) {
    throw error_of(e);
  }
}

using Token = std::shared_ptr<void>;
using Tokens = std::vector<Token>;

struct Named {
  std::string name;
  Token token;
};

// `wish` is the name unless another living object has it; then _1, _2, ... follow.
// The function's results are taken as `result`, or as the type of what it was given.
Named name_function(const std::string& wish, nb::object function, std::optional<DType> result);
Named name_predicate(const std::string& wish, nb::object predicate);
// `rows(index)` gives one row: a tuple of values, one a column.
Named name_generator(const std::string& wish, const data::Schema& schema, std::int64_t rows, nb::object row,
                     std::uint64_t version);
// `open()` gives an iterator of rows.
Named name_stream(const std::string& wish, const data::Schema& schema, std::int64_t rows, nb::object open,
                  std::int64_t window, std::uint64_t version);
// Files and their labels: columns image (bytes) and label (i32). Read without the interpreter.
Named name_files(const std::string& wish, std::vector<std::string> paths, std::vector<std::int64_t> labels);

// Calls the methods of a Python object that are there: begin, epoch_begin, step_begin, step_end, epoch_end, end, each
// with (epoch, step, run_steps).
std::shared_ptr<data::DataCallback> callback_of(nb::object object, std::int64_t step_size);

}  // namespace ridgeline::python
