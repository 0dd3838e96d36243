// ridgeline/core/given_function.h
//
// Types of parameters that take a function of the caller's. A GivenFunction is required: an empty one is an Error with
// the line of the call that passed it, not of the later use. An OptionalFunction may be empty and then does nothing.
// Otherwise both are a std::function.
#pragma once

#include <concepts>
#include <functional>
#include <source_location>
#include <type_traits>
#include <utility>

namespace ridgeline {

[[noreturn]] void refuse_empty_function(const std::source_location& at);

template <class Signature>
class GivenFunction : public std::function<Signature> {
  using Base = std::function<Signature>;

 public:
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, GivenFunction> && std::constructible_from<Base, F>)
  GivenFunction(F&& f, const std::source_location& at = std::source_location::current())  // NOLINT: implicit on purpose
      : Base(std::forward<F>(f)) {
    if (!*this) refuse_empty_function(at);
  }
};

template <class Signature>
class OptionalFunction;

template <class... Args>
class OptionalFunction<void(Args...)> : public std::function<void(Args...)> {
  using Base = std::function<void(Args...)>;

 public:
  OptionalFunction() = default;
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, OptionalFunction> && std::constructible_from<Base, F>)
  OptionalFunction(F&& f) : Base(std::forward<F>(f)) {}  // NOLINT: implicit on purpose
  void operator()(Args... args) const {
    if (*this) Base::operator()(std::forward<Args>(args)...);
  }
};

}  // namespace ridgeline
