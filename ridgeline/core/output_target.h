// ridgeline/core/output_target.h
//
// What a path stands for when something is written to it. A file is replaced or appended to; a device, a pipe and an
// open descriptor of this process (/dev/stdout) are streams: written to as they are, since replacing /dev/null or a
// pipe by a plain file would take it away from everybody else. Links are followed and stay.
#pragma once

#include <string>

namespace ridgeline {

struct OutputTarget {
  std::string path;     // behind all links; need not be there yet
  bool stream = false;  // neither a file nor to become one
  int descriptor = -1;  // of this process, where the path names one
};

// A directory and links that lead in a circle are Errors "cannot write PATH: ...".
OutputTarget output_target(const std::string& path);

// The path behind the links that a path ends in, also one to nothing: what a folder of that name is, or is to be made
// as.
std::string behind_links(const std::string& path);

// A descriptor to write the stream by, for the caller to close. Opening a pipe waits for its reader. For standard
// output, what was printed before is flushed first. -1 and errno where that fails.
int open_stream(const OutputTarget& target);

}  // namespace ridgeline
