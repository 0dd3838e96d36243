// ridgeline/train/launch/followed_output.h
//
// Shows what a process adds to the end of a file while it runs. One thread.
#pragma once

#include <cstdint>
#include <string>

namespace ridgeline::train {

class FollowedOutput {
 public:
  // From the present end of the file on, which need not be there yet.
  explicit FollowedOutput(std::string path);
  // Prints what has come since, at most a part of it: a process that writes faster than the reader reads must not keep
  // the caller from its other work. A reader that is gone is a request to stop (loop/interrupt.h).
  void show();
  // Prints all that is in the file now.
  void show_rest();

 private:
  void show_to(std::int64_t end);
  std::int64_t size() const;  // 0: there is no file

  std::string path_;
  std::int64_t shown_ = 0;  // bytes
  bool closed_ = false;     // nobody reads it
};

}  // namespace ridgeline::train
