// ridgeline/graph/op/evaluate.h
//
// Runs a graph op by op with the plain references: slow, exact, and the oracle for passes, kernels and compilation.
// Free functions; arguments are borrowed and never written.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ridgeline/core/tensor.h"
#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

// Tensors by the names of the graph's arguments. Every argument is required; other names are Errors.
using Arguments = std::map<std::string, Tensor, std::less<>>;

// An Error unless there is a value of its type for every argument of the graph, and no other.
void check_arguments(const Graph& graph, const Arguments& arguments);

// Every value of the graph, by ValueId. `change`, if given, may replace an op's result by another tensor of the same
// type before others read it, to see what an error there does to the rest; it is also called for ops of called
// functions.
using ChangeResult = std::function<void(const Node& node, Tensor& result)>;
std::vector<Tensor> evaluate(const Graph& graph, const Arguments& arguments, const ChangeResult& change = {});
// The returned values, in the graph's order.
std::vector<Tensor> evaluate_returns(const Graph& graph, const Arguments& arguments);
// The next version of each updated argument, by its name.
Arguments evaluate_updates(const Graph& graph, const Arguments& arguments);

}  // namespace ridgeline
