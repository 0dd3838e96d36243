// tests/support/environment.h
//
// Environment variables: the number of cases of a test (a few by default), and one that a test sets temporarily.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

namespace ridgeline {

// The number in an environment variable; `otherwise` if it is not set.
inline std::int64_t number_from_environment(const char* variable, std::int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr || *text == '\0' ? otherwise : std::atoll(text);
}

// Sets the variable during its lifetime and restores it afterwards.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value, 1);
  }
  ~ScopedVariable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace ridgeline
