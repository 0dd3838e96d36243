// ridgeline/compile/run/op_programs.h
//
// Programs of one op, compiled when they are first needed and kept: what eager execution runs. They come from the same
// kernel lists as whole graphs, so an op gives the bits that it gives in a graph that is compiled without fusion.
// Borrows the session; one thread at a time.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ridgeline/compile/compile.h"

namespace ridgeline {

class OpPrograms {
 public:
  explicit OpPrograms(Session& session) : session_(session) {}
  // The results of `node`, which belongs to `graph`, on the values of its operands, in memory of their own. A call runs
  // its function.
  std::vector<Tensor> run(const Graph& graph, const Node& node, std::span<const Tensor> operands);
  // How many programs there are.
  std::size_t size() const { return programs_.size(); }

 private:
  Session& session_;
  std::map<std::string, std::unique_ptr<Program>> programs_;  // by the text of their graph
};

}  // namespace ridgeline
