// ridgeline/core/unreachable_error.h
//
// Data that could not be reached: a server that is away, refuses, or has another version of the file than before. It
// tells nothing about the data, so no rule for bad samples applies to it; a later run may get what this one did not.
// Code that adds words to an Error catches this class first and keeps it.
#pragma once

#include "ridgeline/core/error.h"

namespace ridgeline {

class UnreachableError : public Error {
 public:
  using Error::Error;
};

}  // namespace ridgeline
