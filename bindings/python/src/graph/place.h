// bindings/python/src/graph/place.h
//
// The place to which Python ops are added if none of their operands is a value of a graph, and how an array becomes a
// value there: a model that is built, a function that is traced, or a function that runs op by op. Each thread has a
// stack of places. All functions need the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <mutex>
#include <vector>

#include "ridgeline/core/tensor.h"
#include "ridgeline/graph/ir/builder.h"

namespace ridgeline::python {

namespace nb = nanobind;

class Place {
 public:
  Place() = default;
  virtual ~Place();
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  // The innermost place of this thread; null: none.
  static Place* current();
  // Makes a place the innermost one during its lifetime.
  void enter();
  void leave();

  virtual GraphBuilder& builder() = 0;
  // "model", "graph" or "eager".
  virtual const char* kind() const = 0;
  // The value for a NumPy array, or another array with __dlpack__; an Error if the place takes none.
  virtual Value constant(nb::handle array, const Location& where) = 0;
  // The numbers of a value if they are known, else null.
  virtual const Tensor* find(const Value& value) const;
  // The code object of the function that is traced or run, at which stack traces end; null: only the innermost line is
  // recorded.
  virtual PyObject* code() const { return nullptr; }
  // Held while ops that run immediately are added.
  virtual std::unique_lock<std::mutex> work() { return {}; }

 private:
  Place* outer_ = nullptr;
  bool entered_ = false;
};

// During its lifetime, ops of the builder get the stack of user lines that led to them, up to the code of the place.
class CallerFrames {
 public:
  CallerFrames(GraphBuilder& builder, PyObject* code);

 private:
  std::vector<std::unique_ptr<GraphBuilder::Scope>> frames_;
};

// Whether it is an array: it has __dlpack__ and is not a value of a graph, such as numpy.ndarray or a PyTorch tensor.
bool is_array(nb::handle given);

}  // namespace ridgeline::python
