// ridgeline/core/output_target.h
//
// What a path stands for when something is written to it. A file is replaced or appended to; a device, a pipe and an
// open descriptor of this process (/dev/stdout) are streams: written to as they are, since replacing /dev/null or a
// pipe by a plain file would take it away from everybody else. Links are followed and stay.
#pragma once

#include <string>

namespace ridgeline {

struct OutputTarget {
  std::string path;     // with links followed; need not exist yet
  bool stream = false;  // not a file, and no file is to be made there
  int descriptor = -1;  // of this process, where the path names one
};

// A directory and links that lead in a circle are Errors "cannot write PATH: ...".
OutputTarget output_target(const std::string& path);

// `path` with the links that it ends in followed, also a link to nothing: where a folder of that name is, or would be
// made.
std::string behind_links(const std::string& path);

// A descriptor to write the stream by, for the caller to close. Opening a pipe waits for its reader. For standard
// output, what was printed before is flushed first. -1 and errno where that fails.
int open_stream(const OutputTarget& target);

}  // namespace ridgeline
