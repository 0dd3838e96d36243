// ridgeline/data/runtime/callbacks.h
//
// Calls the callbacks of a graph around the batches of one run; ir/callback.h says when. Belongs to an Iterator and is
// used on the consumer's thread only.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ridgeline/data/ir/callback.h"
#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

class Callbacks {
 public:
  explicit Callbacks(const DataGraph& graph);
  bool empty() const { return callbacks_.empty(); }

  // The consumer asks for more: it is done with the batch that it had, if it had one.
  void finish_step();
  // It gets batch `index` of an epoch.
  void start_step(std::uint64_t epoch, std::uint64_t index, bool last_of_epoch);
  // There is nothing more. Once a run.
  void finish_run();
  // Another run begins, with begin() again.
  void restart();

 private:
  using Event = void (DataCallback::*)(const CallbackInfo&);
  void call(Event event) const;

  std::vector<std::shared_ptr<DataCallback>> callbacks_;
  CallbackInfo info_;
  bool begun_ = false, ended_ = false;
  bool in_epoch_ = false, in_step_ = false, last_ = false;
};

}  // namespace ridgeline::data
