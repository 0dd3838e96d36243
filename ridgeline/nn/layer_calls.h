// ridgeline/nn/layer_calls.h
//
// Layers that are called at several places of a net, as a net written in Python may call them: from the second call on
// their parameters and statistics are those of the first. Belongs to the thread that builds the net, and to one graph.
#pragma once

#include <map>

#include "ridgeline/graph/ir/builder.h"

namespace ridgeline::nn {

// While alive, layers that this thread builds may be called again. Without one a layer that is declared twice is an
// Error.
class LayerCalls {
 public:
  LayerCalls() : outer_(t_current) { t_current = this; }
  ~LayerCalls() { t_current = outer_; }
  LayerCalls(const LayerCalls&) = delete;
  LayerCalls& operator=(const LayerCalls&) = delete;

  // Null: each layer is called once.
  static LayerCalls* current() { return t_current; }

  // Calls before the one that is being built, of the same layer. Above 0, parameters and statistics are those of its
  // first call, and what a dropout drops is drawn anew.
  int earlier = 0;

  // A statistic of a batch norm as the calls so far leave it; what one makes of it.
  Value newest(const Value& statistic) const;
  void move(const Value& statistic, const Value& next);
  // Where the net is built: the statistics become what the last calls made of them.
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
