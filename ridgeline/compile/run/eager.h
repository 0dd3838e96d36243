// ridgeline/compile/run/eager.h
//
// Eager execution: every op runs when it is called. Code that builds a graph (functions of Values, layers, losses) runs
// unchanged, and a value can be read at any time:
//
//   Eager eager(session);
//   Value x = eager.input(pixels), y = eager.input(weights);
//   Value a = x - 1;
//   if (eager.tensor(a).at(0) > 0) a = a * y;
//
// An op gives the bits that it gives in the same graph compiled without fusion, with x and y as inputs. Every op is
// recorded with its values until forget(). That keeps compiled programs: the same function, run after it, draws the
// same random numbers and compiles nothing. nn/eager_gradients.h differentiates what is recorded.
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
  // The builder to which ops are added.
  GraphBuilder& builder() { return *builder_; }
  // The tensor of a value. Values of another builder (such as the body of a `call`), empty ones, and ones from before
  // forget() are Errors that name the line.
  const Tensor& tensor(const Value& value, const std::source_location& at = std::source_location::current()) const;
  // Calls forget(), then runs function(Value...) -> Value on these tensors.
  template <class F, class... Tensors>
  Tensor run(F&& function, const Tensors&... tensors) {
    forget();
    std::vector<Value> values{input(tensors)...};
    return tensor(detail::invoke_on(function, values, std::index_sequence_for<Tensors...>{}));
  }
  // Runs the ops of a graph one by one; gives its returned values in their order. Recorded values stay.
  std::vector<Tensor> run_ops(const Graph& graph, const Arguments& arguments);

  // The ops so far, and the values of their inputs.
  const Graph& recorded() const { return builder_->graph(); }
  Arguments inputs() const;
  // Drops what is recorded; using Values of it afterwards is an Error.
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
