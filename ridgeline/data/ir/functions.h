// ridgeline/data/ir/functions.h
//
// User functions, which graphs refer to by name, so that graphs stay values that can be written to text. Registered
// once, before a graph that uses them runs. Any thread may call them at any time, so they must be stateless: the result
// must depend only on the argument, or runs could not be repeated.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <string_view>

#include "ridgeline/core/tensor.h"
#include "ridgeline/data/ir/code_version.h"

namespace ridgeline::data {

// Whether a row is kept (filter with test=function). Gets the value of the column.
using Predicate = std::function<bool(const Tensor&)>;
void register_predicate(const std::string& name, Predicate predicate);

// A transform of one value (transform "function"): must return the dtype and shape that its arguments declare.
using SampleFunction = std::function<Tensor(const Tensor&)>;
void register_function(const std::string& name, SampleFunction function, CodeVersion version = {});

// Runs the user's code: an exception becomes an Error of the row, "WHO threw: ...".
template <class F>
auto call_user(std::string_view who, F&& code) {
  const auto threw = [&](const std::string& reason) { return Error(std::string(who) + " threw: " + reason); };
  try {
    return code();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {
    throw threw(e.what());
  } catch (...) {
    throw threw("something that is no std::exception");
  }
}

// An unknown name is an Error with the registered ones.
const Predicate& predicate_named(const std::string& name);
const SampleFunction& function_named(const std::string& name);
// The version that caches on disk depend on; an Error if it is unknown. (Predicates are never below a cache.)
std::uint64_t version_of_function(const std::string& name);

}  // namespace ridgeline::data
