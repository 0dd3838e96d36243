// ridgeline/compile/run/op_programs.h
//
// Programs of one op each, compiled when first needed and kept, for eager execution. They use the same kernel lists as
// whole graphs, so an op gives the same bits as in a graph that is compiled without fusion. Borrows the session; one
// thread at a time.
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
  // Runs `node`, which belongs to `graph`, on the values of its operands; results have their own memory. A call runs
  // its function.
  std::vector<Tensor> run(const Graph& graph, const Node& node, std::span<const Tensor> operands);
  // The number of programs.
  std::size_t size() const { return programs_.size(); }

 private:
  Session& session_;
  std::map<std::string, std::unique_ptr<Program>> programs_;  // by the text of their graph
};

}  // namespace ridgeline
