// ridgeline/device/simulated/recorded_work.h
//
// A recording of the simulated device: what its streams were given, in that order. Replaying gives it to them again,
// with all checks of addresses and order.
#pragma once

#include <vector>

#include "ridgeline/device/recording.h"
#include "ridgeline/device/simulated/simulated_stream.h"

namespace ridgeline {

class RecordedWork final : public Recording {
 public:
  explicit RecordedWork(SimulatedDevice& device) : device_(device) {}

  void add(StreamPurpose stream, SimulatedWork work);
  // What is recorded is complete: an Error where the compute stream does not wait for what other streams do.
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
  std::map<const Event*, AccessOrder::Clock> events_;  // that were recorded in it
};

}  // namespace ridgeline
