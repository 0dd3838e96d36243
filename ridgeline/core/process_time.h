// ridgeline/core/process_time.h
//
// How long this process has been there, loading of the program and its libraries included.
#pragma once

namespace ridgeline {

// Milliseconds since the system started the process, to a hundredth of a second (what the system keeps); 0 where it
// does not tell. A program that replaced itself by another counts from the first.
double process_milliseconds();

}  // namespace ridgeline
