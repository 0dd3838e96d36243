// ridgeline/core/error.h
//
// Two kinds of failure. A user's mistake (bad flag, file, shape) is an Error with a message written for the person
// who reads it: what was wrong, where, what would be right. A bug of ours is a failed RIDGELINE_CHECK.
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline {

enum class ErrorKind {
  usage,        // wrong flag or argument: the command line exits with 2
  failure,      // bad data, missing file, impossible graph: exits with 1
  interrupted,  // the user asked to stop: exits with 130
};

class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, ErrorKind kind = ErrorKind::failure)
      : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

// A bug: an invariant of ours does not hold. The message carries the source line of the check.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void check_failed(std::string_view condition, std::string_view message, const std::source_location& at);

#define RIDGELINE_CHECK(condition, message)                                                            \
  do {                                                                                                 \
    if (!(condition)) ::ridgeline::check_failed(#condition, message, std::source_location::current()); \
  } while (false)

// The candidate nearest to `word` by edit distance, or "" when none is near
// (distance above a third of the word's length, at least 2).
std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates);
// ": did you mean 'batch_size'?" for the end of a message, or "" when none is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace ridgeline
