// bindings/python/src/graph/place.h
//
// Where ops of Python get to that have no operand of the graph, and what an array becomes there: a model that is built,
// a function that is traced, or one that runs op by op. The places of a thread are a stack. All functions need the
// interpreter's lock.
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

  // The innermost one of this thread; null: none.
  static Place* current();
  // Makes it the innermost one, and takes it away again.
  void enter();
  void leave();

  virtual GraphBuilder& builder() = 0;
  // "model", "graph" or "eager".
  virtual const char* kind() const = 0;
  // The value of a NumPy array, or another one with __dlpack__; an Error where the place takes none.
  virtual Value constant(nb::handle array, const Location& where) = 0;
  // The numbers of a value where they are known; null elsewhere.
  virtual const Tensor* find(const Value& value) const;
  // The code that is at work there, as whose frames those of its callers end; null: lines alone are told.
  virtual PyObject* code() const { return nullptr; }
  // Held while ops are added that run at once.
  virtual std::unique_lock<std::mutex> work() { return {}; }

 private:
  Place* outer_ = nullptr;
  bool entered_ = false;
};

// While alive, ops of the builder carry the lines that called the innermost one, up to the place's own code.
class CallerFrames {
 public:
  CallerFrames(GraphBuilder& builder, PyObject* code);

 private:
  std::vector<std::unique_ptr<GraphBuilder::Scope>> frames_;
};

// A numpy.ndarray, a tensor of PyTorch, ... : what has __dlpack__ and is no value of a graph.
bool is_array(nb::handle given);

}  // namespace ridgeline::python
