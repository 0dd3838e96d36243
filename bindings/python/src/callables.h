// bindings/python/src/callables.h
//
// Registers Python functions and generators under names that data graphs can refer to (ridgeline/data/ir/functions.h,
// generators.h). The engine never forgets a name, so a name whose Python object is gone is reused for the next object
// of the same kind; the number of names is bounded by the objects that live at the same time. An object lives as long
// as its Token; graphs, transforms and iterators in Python hold the tokens of the names that they use.
//
// Workers take the GIL for a call. Python releases it while it waits for a file, so each object also has a lock of its
// own, its turn, which is held during the whole call. An exception of Python code becomes an Error "TYPE: text
// (FILE:LINE)" of the row, with the place in the user's code (ridgeline/_place.py).
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "python_lock.h"
#include "ridgeline/core/error.h"
#include "ridgeline/data/ir/callback.h"
#include "ridgeline/data/ir/column.h"

namespace ridgeline::python {

namespace nb = nanobind;

// A reference to a Python object that any thread may drop.
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

// The lock of one object, taken by calls of it and of objects that share its state. Recursive. Never wait for it while
// holding the GIL: its holder may need the GIL to finish.
class Turn {
 public:
  explicit Turn(nb::object object) : object_(std::move(object)) {}
  std::recursive_mutex& mutex() { return mutex_; }
  // After a fork, in the child, which does not have the thread that holds the lock.
  void begin_anew() { new (&mutex_) std::recursive_mutex; }

 private:
  Held object_;  // keeps the object alive, since turns are found by its address
  std::recursive_mutex mutex_;
};
// The turn of the object. Needs the GIL.
std::shared_ptr<Turn> turn_of(nb::object object);

// A user's Python function and how it is called.
struct Code {
  // `turn`: the object whose turn a call takes; None: threads may call at the same time. `version`: a function that
  // returns a number, or a text with the reason why there is none (ridgeline/data/ir/code_version.h).
  Code(nb::object function, nb::object turn, nb::object version);
  Held function, version;
  std::shared_ptr<Turn> turn;
};

// "ValueError: too dark (augment.py:12)". Needs the GIL.
Error error_of(const nb::python_error& e);
// Throws it, as an EndsRunError where a worker process has ended. Needs the GIL.
[[noreturn]] void throw_error_of(const nb::python_error& e);
// Runs Python code on any thread.
template <class F>
auto with_python(F&& code) {
  const PythonLock lock;
  try {
    if (lock.foreign()) compute_alone();
    return code();
  } catch (const nb::python_error& e) {
    throw_error_of(e);
  }
}

// The same, holding the object's turn.
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

// The name is `wish`, or wish#1, wish#2, ... (ridgeline/data/ir/registered_name.h) if a living object has it.
// The results of the function are converted to `result`, or to the type of its argument.
Named name_function(const std::string& wish, std::shared_ptr<Code> function, std::optional<DType> result);
Named name_predicate(const std::string& wish, std::shared_ptr<Code> predicate);
// `rows(index)` returns one row: a tuple with one value per column.
Named name_generator(const std::string& wish, const data::Schema& schema, std::int64_t rows, std::shared_ptr<Code> row);
// `open()` returns an iterator over rows.
Named name_stream(const std::string& wish, const data::Schema& schema, std::int64_t rows, std::shared_ptr<Code> open,
                  std::int64_t window);
// Files and their labels: columns image (bytes) and label (i32). Read without Python.
Named name_files(const std::string& wish, std::vector<std::string> paths, std::vector<std::int64_t> labels);

// Calls those of the methods begin, epoch_begin, step_begin, step_end, epoch_end and end that a Python object has, each
// with (epoch, step, run_steps).
std::shared_ptr<data::DataCallback> callback_of(nb::object object, std::int64_t step_size);

}  // namespace ridgeline::python
