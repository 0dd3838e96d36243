// bindings/c/src/guard.h
//
// The border to C: no exception leaves, every failure becomes a status and the thread's last error.
#pragma once

#include <string>

#include "bindings/c/ridgeline_types.h"
#include "ridgeline/core/function_ref.h"

namespace ridgeline::c {

// Runs the body of `function`; its status, or that of what it threw.
ridgeline_status guarded(const char* function, FunctionRef<ridgeline_status()> body) noexcept;

// Of this thread; "" if no call failed.
const char* last_error() noexcept;

// An argument that must be there; a usage Error names it.
void require(const void* argument, const char* name);
// As the header says about texts.
void put_text(const std::string& text, char* buffer, size_t capacity, size_t* size);

}  // namespace ridgeline::c
