// ridgeline/core/ends_run_error.h
//
// An Error that no rule for bad samples applies to: it is no fault of one sample, so leaving that out is no way on. A
// run ends with it under every policy. Code that adds words to an Error catches this class first and keeps it.
#pragma once

#include "ridgeline/core/error.h"

namespace ridgeline {

class EndsRunError : public Error {
 public:
  using Error::Error;
};

}  // namespace ridgeline
