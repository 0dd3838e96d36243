// ridgeline/compile/run/graph_run.h
//
// A graph run by itself, as it comes from a file: values for all of its arguments, a session of its own, results by
// their place. Parameters and states are arguments like the inputs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ridgeline/compile/compile.h"
#include "ridgeline/graph/op/evaluate.h"

namespace ridgeline {

// Values for every argument, by `seed` and the argument's name. Floating ones are uniform in [-1, 1), states in [0, 1),
// as there are variances among them; u8 goes over its range, other integers and bool are 0 or 1, which are labels of
// any two classes. What does not fit into memory is an Error.
Arguments draw_arguments(const Graph& graph, std::uint64_t seed);

// Owns session and program. One thread.
class GraphRun {
 public:
  GraphRun(const Graph& graph, const SessionOptions& session, const CompileOptions& compile);
  // Gives every argument its value; a missing one, another type or another name is an Error.
  void set(const Arguments& arguments);
  Program& program() { return *program_; }
  Session& session() { return session_; }
  // After a run: the returned values in their order, copies of their own.
  std::vector<Tensor> returns();
  // After a run: what each updated parameter or state is now, by name.
  Arguments updated();

 private:
  Session session_;
  Graph graph_;
  std::unique_ptr<Program> program_;
};

}  // namespace ridgeline
