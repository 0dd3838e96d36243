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

  // The consumer asks for the next batch: it has finished the last one, if there was one.
  void finish_step();
  // The consumer gets batch `index` of an epoch.
  void start_step(std::uint64_t epoch, std::uint64_t index, bool last_of_epoch);
  // There are no more batches. Once per run.
  void finish_run();
  // Another run begins, from begin() on.
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
