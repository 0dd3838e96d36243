// ridgeline/device/recording.h
//
// Work for a device that was given once and is done again as a whole, by one call: Device::record makes it. Owned by
// whoever replays it; kernels, events and memory that it uses must outlive it.
#pragma once

namespace ridgeline {

class Recording {
 public:
  virtual ~Recording() = default;
  // All of it begins behind what the compute stream was given so far, and what that is given afterwards begins behind
  // all of it. Returns before it is done. May be called again before that.
  virtual void replay() = 0;
};

}  // namespace ridgeline
