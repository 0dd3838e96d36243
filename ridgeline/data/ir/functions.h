// ridgeline/data/ir/functions.h
//
// Functions of the user's own, known to graphs by their name, so that graphs stay values that can be written down.
// Registered once, before a graph that uses them runs; any thread may call them at any time, so they must not keep
// state: what they answer may depend on their argument alone, or runs could not be repeated.
#pragma once

#include <functional>
#include <string>

#include "ridgeline/core/tensor.h"

namespace ridgeline::data {

// Whether a row stays (filter with test=function). Gets the value of the column.
using Predicate = std::function<bool(const Tensor&)>;
void register_predicate(const std::string& name, Predicate predicate);

// A transform of one value (transform "function"): must return the dtype and shape that its arguments declare.
using SampleFunction = std::function<Tensor(const Tensor&)>;
void register_function(const std::string& name, SampleFunction function);

// An unknown name is an Error with the registered ones.
const Predicate& predicate_named(const std::string& name);
const SampleFunction& function_named(const std::string& name);

}  // namespace ridgeline::data
