// ridgeline/compile/run/graph_run.h
//
// Runs a graph on its own, for instance one from a file: with values for all of its arguments, its own session, and
// results by position. Parameters and states are arguments like the inputs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ridgeline/compile/compile.h"
#include "ridgeline/graph/op/evaluate.h"

namespace ridgeline {

// Random values for every argument, a function of `seed` and the argument's name. Floating values are uniform in [-1,
// 1), states in [0, 1), since they may be variances; u8 covers its range, other integers and bool are 0 or 1, which are
// valid labels of any two classes. Values that do not fit into memory are an Error.
Arguments draw_arguments(const Graph& graph, std::uint64_t seed);

// Owns session and program. One thread.
class GraphRun {
 public:
  GraphRun(const Graph& graph, const SessionOptions& session, const CompileOptions& compile);
  // Gives every argument its value; a missing one, another type or another name is an Error.
  void set(const Arguments& arguments);
  Program& program() { return *program_; }
  Session& session() { return session_; }
  // After a run: copies of the returned values in their order.
  std::vector<Tensor> returns();
  // After a run: the new value of each updated parameter or state, by name.
  Arguments updated();

 private:
  Session session_;
  Graph graph_;
  std::unique_ptr<Program> program_;
};

}  // namespace ridgeline
