// ridgeline/device/recording.h
//
// Work for a device that was given once and can be replayed as a whole by one call: Device::record makes it. Owned by
// whoever replays it; kernels, events and memory that it uses must outlive it.
#pragma once

namespace ridgeline {

class Recording {
 public:
  virtual ~Recording() = default;
  // All of it begins after the compute stream's work so far, and later work of that stream begins after all of it.
  // Returns before it is done; may be called again before that.
  virtual void replay() = 0;
};

}  // namespace ridgeline
