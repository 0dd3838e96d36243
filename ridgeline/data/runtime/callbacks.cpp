#include "ridgeline/data/runtime/callbacks.h"

#include <utility>

namespace ridgeline::data {

Callbacks::Callbacks(const DataGraph& graph) {
  for (const Node& node : graph.nodes)
    callbacks_.insert(callbacks_.end(), node.callbacks.begin(), node.callbacks.end());
}

void Callbacks::call(Event event) const {
  for (const std::shared_ptr<DataCallback>& callback : callbacks_) (callback.get()->*event)(info_);
}

void Callbacks::finish_step() {
  if (!begun_) {
    begun_ = true;
    call(&DataCallback::begin);
  }
  if (!std::exchange(in_step_, false)) return;
  for (const std::shared_ptr<DataCallback>& callback : callbacks_) {
    if (info_.step % static_cast<std::uint64_t>(callback->step_size()) == 0) callback->step_end(info_);
  }
  if (last_) {
    in_epoch_ = false;
    call(&DataCallback::epoch_end);
  }
}

void Callbacks::start_step(std::uint64_t epoch, std::uint64_t index, bool last_of_epoch) {
  if (!std::exchange(in_epoch_, true)) {
    info_.epoch = epoch;
    info_.step = index;  // batches before this one: 0, or where a restored run goes on
    call(&DataCallback::epoch_begin);
  }
  in_step_ = true;
  last_ = last_of_epoch;
  info_.step = index + 1;
  info_.run_steps += 1;
  for (const std::shared_ptr<DataCallback>& callback : callbacks_) {
    if (index % static_cast<std::uint64_t>(callback->step_size()) == 0) callback->step_begin(info_);
  }
}

void Callbacks::finish_run() {
  if (!std::exchange(ended_, true)) call(&DataCallback::end);
}

void Callbacks::restart() {
  info_ = {};
  begun_ = ended_ = in_epoch_ = in_step_ = last_ = false;
}

}  // namespace ridgeline::data
