// ridgeline/core/ends_run_error.h
//
// An Error that ends a run under every policy for bad samples: no single sample is at fault, so leaving one out does
// not help. Code that adds words to an Error catches this class first and keeps it.
#pragma once

#include "ridgeline/core/error.h"

namespace ridgeline {

class EndsRunError : public Error {
 public:
  using Error::Error;
};

}  // namespace ridgeline
