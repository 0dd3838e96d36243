// ridgeline/core/process_time.h
//
// How long this process has existed, including the time to load the program and its libraries.
#pragma once

namespace ridgeline {

// Milliseconds since the system started the process, to a hundredth of a second (the system's resolution); 0 where the
// system does not say. Counted from the first program if the process replaced its program.
double process_milliseconds();

}  // namespace ridgeline
