#include "ridgeline/nn/eager_gradients.h"

#include "ridgeline/graph/grad/differentiate.h"
#include "ridgeline/graph/pass/inline.h"

namespace ridgeline::nn {

std::vector<Tensor> eager_gradients(Eager& eager, const Value& loss, std::span<const Value> with_respect_to,
                                    const std::source_location& at) {
  eager.tensor(loss, at);  // an Error where there is none
  for (const Value& v : with_respect_to) eager.tensor(v, at);
  Graph graph = eager.recorded();
  graph.returns = {{"loss", loss.id()}};
  for (const Value& v : with_respect_to) graph.returns.push_back({"", v.id()});
  graph = inline_calls(std::move(graph));  // returned values are followed into the other graph
  std::vector<ValueId> values;
  for (std::size_t i = 1; i < graph.returns.size(); ++i) values.push_back(graph.returns[i].value);
  const std::vector<ValueId> gradients = differentiate(graph, graph.returns[0].value, values);
  graph.returns.clear();
  for (ValueId id : gradients) {
    if (id != kNoValue) graph.returns.push_back({"", id});
  }
  std::vector<Tensor> found = eager.run_ops(graph, eager.inputs());
  std::vector<Tensor> results;
  std::size_t next = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const ValueType& type = with_respect_to[i].type();
    results.push_back(gradients[i] != kNoValue ? found[next++] : Tensor::zeros(type.dtype, type.shape));
  }
  return results;
}

}  // namespace ridgeline::nn
