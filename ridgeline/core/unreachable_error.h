// ridgeline/core/unreachable_error.h
//
// Data that could not be reached: the server is away, refuses, or now has another version of the file. This says
// nothing about the data, and a later run may succeed.
#pragma once

#include "ridgeline/core/ends_run_error.h"

namespace ridgeline {

class UnreachableError : public EndsRunError {
 public:
  using EndsRunError::EndsRunError;
};

}  // namespace ridgeline
