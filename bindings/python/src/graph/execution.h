// bindings/python/src/graph/execution.h
//
// What runs functions of Python: graphs as compiled programs, or op by op. A session is shared by all functions of a
// device; programs and eager runs of all threads take turns in it. What a process that was forked finds of its parent
// is left as it lies: the threads of the parent are not there.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ridgeline/compile/compile.h"
#include "ridgeline/compile/run/eager.h"
#include "trace.h"

namespace ridgeline::python {

class FunctionSession {
 public:
  FunctionSession(const std::string& device, int threads);
  ~FunctionSession();
  FunctionSession(const FunctionSession&) = delete;
  FunctionSession& operator=(const FunctionSession&) = delete;

  Session& session() { return *session_; }
  std::mutex& turn() { return turn_; }
  bool of_this_process() const;

 private:
  int process_;
  std::mutex turn_;
  std::unique_ptr<Session> session_;
};

// A graph, compiled. Any thread may run it; it waits for its turn without the interpreter's lock.
class FunctionProgram {
 public:
  FunctionProgram(std::shared_ptr<FunctionSession> session, const PyGraph& graph, std::vector<PyArray> constants,
                  bool fusion);
  ~FunctionProgram();
  FunctionProgram(const FunctionProgram&) = delete;
  FunctionProgram& operator=(const FunctionProgram&) = delete;

  std::vector<PyArray> run(const std::vector<PyArray>& arguments);

 private:
  std::shared_ptr<FunctionSession> session_;
  std::shared_ptr<const Graph> graph_;
  std::vector<PyArray> constants_;  // bound
  std::unique_ptr<Program> program_;
};

// Runs ops as they are written. One thread at a time, with the interpreter's lock.
class EagerRun final : public Place {
 public:
  explicit EagerRun(std::shared_ptr<FunctionSession> session);
  ~EagerRun() override;
  GraphBuilder& builder() override { return eager_->builder(); }
  const char* kind() const override { return "eager"; }
  Value constant(nb::handle array, const Location& where) override;
  const Tensor* find(const Value& value) const override;
  std::unique_lock<std::mutex> work() override { return std::unique_lock(session_->turn()); }

  // Forgets what was recorded before.
  void begin(nb::object code);
  PyObject* code() const override { return code_.is_valid() ? code_.ptr() : nullptr; }
  Value input(const PyArray& array);
  PyArray output(const Value& value) const;
  std::vector<PyArray> gradients(const Value& loss, const std::vector<Value>& with_respect_to);
  // The results of a function of the recorded graph, run as one op.
  std::vector<Value> call(const std::string& name, const PyGraph& body, const std::vector<Value>& arguments,
                          const std::vector<PyArray>& constants);

 private:
  std::shared_ptr<FunctionSession> session_;
  std::unique_ptr<Eager> eager_;
  nb::object code_;
};

// The graph of the gradients of one returned value by some arguments, behind the returned values that are kept: zeros
// where it does not depend on an argument.
PyGraph gradient_graph(const PyGraph& body, const std::string& name, std::size_t loss,
                       const std::vector<std::size_t>& arguments, bool keep_results);

}  // namespace ridgeline::python
