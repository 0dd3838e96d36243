// ridgeline/device/simulated/recorded_work.h
//
// A recording of the simulated device: the work given to its streams, in order. Replaying gives it to them again, with
// all checks of addresses and order.
#pragma once

#include <vector>

#include "ridgeline/device/recording.h"
#include "ridgeline/device/simulated/simulated_stream.h"

namespace ridgeline {

class RecordedWork final : public Recording {
 public:
  explicit RecordedWork(SimulatedDevice& device) : device_(device) {}

  void add(StreamPurpose stream, SimulatedWork work);
  // Ends the recording: an Error if the compute stream does not wait for the work of the other streams.
  void close();
  void replay() override;

 private:
  struct Item {
    StreamPurpose stream;
    SimulatedWork work;
  };
  SimulatedDevice& device_;
  std::vector<Item> items_;
  AccessOrder order_;                                  // within the recording
  std::map<const Event*, AccessOrder::Clock> events_;  // events recorded in it
};

}  // namespace ridgeline
