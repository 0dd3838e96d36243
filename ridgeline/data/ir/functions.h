// ridgeline/data/ir/functions.h
//
// Functions of the user's own, known to graphs by their name, so that graphs stay values that can be written down.
// Registered once, before a graph that uses them runs; any thread may call them at any time, so they must not keep
// state: what they answer may depend on their argument alone, or runs could not be repeated.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <string_view>

#include "ridgeline/core/tensor.h"
#include "ridgeline/data/ir/code_version.h"

namespace ridgeline::data {

// Whether a row stays (filter with test=function). Gets the value of the column.
using Predicate = std::function<bool(const Tensor&)>;
void register_predicate(const std::string& name, Predicate predicate);

// A transform of one value (transform "function"): must return the dtype and shape that its arguments declare.
using SampleFunction = std::function<Tensor(const Tensor&)>;
void register_function(const std::string& name, SampleFunction function, CodeVersion version = {});

// Runs the user's code: whatever it throws is an Error of the row it works on, "WHO threw: ...".
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
// What caches on disk go by; an Error where it is not known. (No cache lies above a predicate.)
std::uint64_t version_of_function(const std::string& name);

}  // namespace ridgeline::data
