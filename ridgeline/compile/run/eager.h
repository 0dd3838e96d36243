// ridgeline/compile/run/eager.h
//
// Eager execution: every op is run when it is written. What builds a graph (functions of Values, layers, losses) runs
// as it is, and a value can be looked at at any time:
//
//   Eager eager(session);
//   Value x = eager.input(pixels), y = eager.input(weights);
//   Value a = x - 1;
//   if (eager.tensor(a).at(0) > 0) a = a * y;
//
// An op gives the bits that it gives in the same graph compiled without fusion, with x and y as inputs. Every op so far
// is recorded with its values until forget(), which keeps the programs: the same function after it draws the same
// random numbers and compiles nothing. nn/eager_gradients.h differentiates what is recorded.
//
// Borrows the session. One thread.
#pragma once

#include <optional>
#include <source_location>
#include <vector>

#include "ridgeline/compile/run/op_programs.h"
#include "ridgeline/graph/ir/trace.h"
#include "ridgeline/graph/op/evaluate.h"

namespace ridgeline {

class Eager {
 public:
  explicit Eager(Session& session);
  Eager(const Eager&) = delete;
  Eager& operator=(const Eager&) = delete;

  // A value to compute with; the tensor's memory is shared and must not change while it is recorded.
  Value input(const Tensor& value);
  // What ops are added to.
  GraphBuilder& builder() { return *builder_; }
  // What a value is. One of another builder (the body of a `call` is one), an empty one, and one from before forget()
  // are Errors that name the line.
  const Tensor& tensor(const Value& value, const std::source_location& at = std::source_location::current()) const;
  // function(Value...) -> Value on these tensors, after forget().
  template <class F, class... Tensors>
  Tensor run(F&& function, const Tensors&... tensors) {
    forget();
    std::vector<Value> values{input(tensors)...};
    return tensor(detail::invoke_on(function, values, std::index_sequence_for<Tensors...>{}));
  }
  // The ops of a graph one by one: its returned values in their order. Recorded values stay.
  std::vector<Tensor> run_ops(const Graph& graph, const Arguments& arguments);

  // The ops so far, and the values of their inputs.
  const Graph& recorded() const { return builder_->graph(); }
  Arguments inputs() const;
  // Drops what is recorded; what is done with Values of it is an Error.
  void forget();
  // How many programs were compiled.
  std::size_t programs() const { return programs_.size(); }

 private:
  void run_node(const Graph& graph, const Node& node, std::vector<Tensor>& tensors);

  OpPrograms programs_;
  std::optional<GraphBuilder> builder_;
  std::vector<Tensor> tensors_;  // by ValueId
};

}  // namespace ridgeline
