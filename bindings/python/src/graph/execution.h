// bindings/python/src/graph/execution.h
//
// Runs Python functions, as compiled programs or op by op. All functions of a device share a session; programs and
// eager runs of all threads use it one at a time. A forked process leaks its parent's sessions, since the parent's
// threads do not exist in it.
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

// A compiled graph. Any thread may run it; it waits for the session without the GIL.
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

// Runs ops one by one. One thread at a time, with the GIL.
class EagerRun final : public Place {
 public:
  explicit EagerRun(std::shared_ptr<FunctionSession> session);
  ~EagerRun() override;
  GraphBuilder& builder() override { return eager_->builder(); }
  const char* kind() const override { return "eager"; }
  Value constant(nb::handle array, const Location& where) override;
  const Tensor* find(const Value& value) const override;
  std::unique_lock<std::mutex> work() override { return std::unique_lock(session_->turn()); }

  // Discards the recorded ops.
  void begin(nb::object code);
  PyObject* code() const override { return code_.is_valid() ? code_.ptr() : nullptr; }
  Value input(const PyArray& array);
  PyArray output(const Value& value) const;
  std::vector<PyArray> gradients(const Value& loss, const std::vector<Value>& with_respect_to);
  // Runs a function of the recorded graph as one op and returns its results.
  std::vector<Value> call(const std::string& name, const PyGraph& body, const std::vector<Value>& arguments,
                          const std::vector<PyArray>& constants);

 private:
  std::shared_ptr<FunctionSession> session_;
  std::unique_ptr<Eager> eager_;
  nb::object code_;
};

// The graph that returns the kept returned values and then the gradients of one returned value with respect to some
// arguments; zeros for arguments on which it does not depend.
PyGraph gradient_graph(const PyGraph& body, const std::string& name, std::size_t loss,
                       const std::vector<std::size_t>& arguments, bool keep_results);

}  // namespace ridgeline::python
