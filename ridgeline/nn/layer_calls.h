// ridgeline/nn/layer_calls.h
//
// Lets layers be called at several places of a net, as nets written in Python may do: from the second call on they use
// the parameters and statistics of the first. Belongs to the thread that builds the net, and to one graph.
#pragma once

#include <map>

#include "ridgeline/graph/ir/builder.h"

namespace ridgeline::nn {

// While alive, layers that this thread builds may be called several times. Otherwise a layer that is declared twice is
// an Error.
class LayerCalls {
 public:
  LayerCalls() : outer_(t_current) { t_current = this; }
  ~LayerCalls() { t_current = outer_; }
  LayerCalls(const LayerCalls&) = delete;
  LayerCalls& operator=(const LayerCalls&) = delete;

  // Null: each layer is called once.
  static LayerCalls* current() { return t_current; }

  // How many calls of the same layer came before the one being built. Above 0, parameters and statistics are those of
  // the first call, and a dropout draws other numbers.
  int earlier = 0;

  // A statistic of a batch norm after the calls so far; and its new value after another call.
  Value newest(const Value& statistic) const;
  void move(const Value& statistic, const Value& next);
  // Call when the net is built: updates the statistics to the values after the last calls.
  void finish();

 private:
  static inline thread_local LayerCalls* t_current = nullptr;
  LayerCalls* outer_;
  struct Moved {
    Value statistic, next;
  };
  std::map<ValueId, Moved> moved_;
};

}  // namespace ridgeline::nn
