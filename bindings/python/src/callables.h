// bindings/python/src/callables.h
//
// Python functions and rows under names that data graphs can hold (ridgeline/data/ir/functions.h, generators.h). The
// engine never forgets a name, so names are used again: one whose Python object is gone takes the next object of the
// same kind, and what a process registers stays bounded by what lives at one time. The object lives as long as its
// Token: graphs, transforms and iterators in Python hold the tokens of what they name.
//
// Workers call with the interpreter's lock taken for the call. Python gives that lock away while it waits for a file,
// so each object has a turn of its own, which is held from the beginning of a call to its end. What Python code raises
// is an Error "TYPE: text (FILE:LINE)" of the row it worked on.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <mutex>
#include <new>
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

// The turn of one object: who calls it, or what shares its state with it, takes this first. The same thread may take it
// again. Never wait for it with the interpreter's lock: its holder may need that to end.
class Turn {
 public:
  explicit Turn(nb::object object) : object_(std::move(object)) {}
  std::recursive_mutex& mutex() { return mutex_; }
  // In a child process, where the thread that has the turn is not.
  void begin_anew() { new (&mutex_) std::recursive_mutex; }

 private:
  Held object_;  // so that no other object gets its address, by which turns are found
  std::recursive_mutex mutex_;
};
// The one turn of the object. Needs the interpreter's lock.
std::shared_ptr<Turn> turn_of(nb::object object);

// A Python function of the user's own, with what calls of it go by.
struct Code {
  // `turn`: the object whose turn a call takes, None if any threads may call at a time. `version`: a function that
  // gives a number, or a text that says why there is none (ridgeline/data/ir/code_version.h).
  Code(nb::object function, nb::object turn, nb::object version);
  Held function, version;
  std::shared_ptr<Turn> turn;
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

// The same in the object's turn.
template <class F>
auto in_turn(const std::shared_ptr<Turn>& turn, F&& code) {
  std::unique_lock<std::recursive_mutex> mine;
  if (turn) mine = std::unique_lock(turn->mutex());
  return with_python(code);
}

using Token = std::shared_ptr<void>;
using Tokens = std::vector<Token>;

struct Named {
  std::string name;
  Token token;
};

// `wish` is the name unless another living object has it; then _1, _2, ... follow.
// The function's results are taken as `result`, or as the type of what it was given.
Named name_function(const std::string& wish, std::shared_ptr<Code> function, std::optional<DType> result);
Named name_predicate(const std::string& wish, std::shared_ptr<Code> predicate);
// `rows(index)` gives one row: a tuple of values, one a column.
Named name_generator(const std::string& wish, const data::Schema& schema, std::int64_t rows, std::shared_ptr<Code> row);
// `open()` gives an iterator of rows.
Named name_stream(const std::string& wish, const data::Schema& schema, std::int64_t rows, std::shared_ptr<Code> open,
                  std::int64_t window);
// Files and their labels: columns image (bytes) and label (i32). Read without the interpreter.
Named name_files(const std::string& wish, std::vector<std::string> paths, std::vector<std::int64_t> labels);

// Calls the methods of a Python object that are there: begin, epoch_begin, step_begin, step_end, epoch_end, end, each
// with (epoch, step, run_steps).
std::shared_ptr<data::DataCallback> callback_of(nb::object object, std::int64_t step_size);

}  // namespace ridgeline::python
