// ridgeline/core/function_ref.h
//
// A non-owning reference to a callable: a parameter type for callbacks that do not outlive the call.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace ridgeline {

template <class Signature>
class FunctionRef;

template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> && std::is_invocable_r_v<R, F&, Args...>)
  FunctionRef(F&& f)  // NOLINT(google-explicit-constructor): that is its purpose
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
        call_([](void* object, Args... args) -> R {
          auto& function = *static_cast<std::remove_reference_t<F>*>(object);
          if constexpr (std::is_void_v<R>) {
            function(std::forward<Args>(args)...);  // a result may be dropped
          } else {
            return function(std::forward<Args>(args)...);
          }
        }) {}
  R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

}  // namespace ridgeline
