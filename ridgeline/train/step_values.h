// ridgeline/train/step_values.h
//
// A step whose values can all be read: compiled without fusion, it returns every result of its ops. Takes the memory of
// all values at once. Borrows the session; one thread.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "ridgeline/compile/compile.h"

namespace ridgeline::train {

struct StepValue {
  std::string name;                 // of the op that makes it, with ":1" for its second result; or the argument's
  std::string op;                   // empty: an argument
  std::string where;                // the user's line; may be empty
  std::vector<std::string> inputs;  // the values that the op reads, by their names
  ValueId id = kNoValue;
  ValueKind kind = ValueKind::activation;
};

class StepValues {
 public:
  StepValues(Session& session, const Graph& step, CompileOptions options);
  // Runs one step with the inputs bound to program(). An Error if the session was stopped.
  void run();
  Program& program() { return *program_; }
  // The values of the step in the order in which they are computed, arguments first.
  const std::vector<StepValue>& values() const { return values_; }
  // Value number `index` of values() from the last run; valid until the next run.
  Tensor tensor(std::size_t index) { return program_->output(index); }
  // The same for the value that has this id in the given graph.
  Tensor tensor_of(ValueId id) { return tensor(index_of(id)); }
  std::size_t index_of(ValueId id) const { return places_[static_cast<std::size_t>(id)]; }
  const Graph& graph() const { return graph_; }  // the given one

 private:
  Graph graph_;
  std::vector<StepValue> values_;
  std::vector<std::size_t> places_;  // by ValueId
  std::unique_ptr<Program> program_;
};

// Statistics of all elements of a tensor.
struct ValueNumbers {
  std::int64_t not_finite = 0;
  double largest = 0;           // of the absolute values that are finite
  double root_mean_square = 0;  // likewise
  double mean = 0, deviation = 0, least = 0, most = 0;
};
ValueNumbers numbers_of(const Tensor& tensor);

// The values of the last run that are not finite although all operands of their op are, at most `most`.
std::vector<std::size_t> origins_of_overflow(StepValues& step,
                                             std::size_t most = std::numeric_limits<std::size_t>::max());
// The first of them; values().size() if there is none.
std::size_t first_not_finite(StepValues& step);

}  // namespace ridgeline::train
