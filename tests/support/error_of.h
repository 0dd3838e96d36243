// tests/support/error_of.h
//
// The message of the Error that `action` throws; "" if it throws none. Any other exception fails the test.
#pragma once

#include <string>

#include "ridgeline/core/error.h"

namespace ridgeline {

template <class Action>
std::string error_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace ridgeline
