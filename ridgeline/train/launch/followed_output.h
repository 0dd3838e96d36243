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
  // Prints what has come since. A reader that is gone is a request to stop (loop/interrupt.h).
  void show();

 private:
  std::string path_;
  std::int64_t shown_ = 0;  // bytes
};

}  // namespace ridgeline::train
