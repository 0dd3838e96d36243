// bindings/c/src/guard.h
//
// The boundary to C: turns every exception into a status and the thread's last error.
#pragma once

#include <string>

#include "bindings/c/ridgeline_types.h"
#include "ridgeline/core/function_ref.h"

namespace ridgeline::c {

// Runs the body of the C function `function`; returns its status, or the status of the exception that it threw.
ridgeline_status guarded(const char* function, FunctionRef<ridgeline_status()> body) noexcept;

// The last error of this thread; "" if no call has failed.
const char* last_error() noexcept;

// A usage Error that names the argument if it is null.
void require(const void* argument, const char* name);
// Returns a string as ridgeline_data.h describes it.
void put_text(const std::string& text, char* buffer, size_t capacity, size_t* size);

}  // namespace ridgeline::c
