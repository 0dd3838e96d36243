// ridgeline/core/unreachable_error.h
//
// Data that could not be reached: a server that is away, refuses, or has another version of the file than before. It
// tells nothing about the data, and a later run may get what this one did not.
#pragma once

#include "ridgeline/core/ends_run_error.h"

namespace ridgeline {

class UnreachableError : public EndsRunError {
 public:
  using EndsRunError::EndsRunError;
};

}  // namespace ridgeline
