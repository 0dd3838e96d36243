// tests/support/environment.h
//
// Variables of the environment: how many cases a test takes (few in each run, more where one asks for them), and one
// that a test sets for a while.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

namespace ridgeline {

// The number in an environment variable; `otherwise` where it is not set.
inline std::int64_t number_from_environment(const char* variable, std::int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr || *text == '\0' ? otherwise : std::atoll(text);
}

// Has this value while it lives; then what it had before.
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
