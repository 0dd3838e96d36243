// ridgeline/train/ranks/holdings.h
//
// Which stored values of a model this rank holds: all of them if ranks divide only the data; else it may hold a shard
// of some values, along an axis or as a range of elements (slots of split updates), and nothing of values that other
// ranks keep. For files, all ranks gather whole values, and cut their shards from them. A value; use it only between
// steps, since the step's own exchanges use the same communicator.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>

#include "ridgeline/comm/communicator.h"
#include "ridgeline/compile/run/parameter_spec.h"
#include "ridgeline/compile/run/parameter_store.h"
#include "ridgeline/graph/ir/graph.h"

namespace ridgeline::train {

class Holdings {
 public:
  // Every rank holds everything.
  Holdings() = default;
  // `step`: the training step of this rank after the passes. Every rank of `ranks` makes its own object.
  Holdings(std::span<const ParameterSpec> parameters, const Graph& step, std::shared_ptr<comm::Communicator> ranks);

  bool everything() const { return divided_.empty(); }
  // Whether this rank has the value or a shard of it.
  bool holds(const std::string& name) const;
  // Whether every rank has all of it.
  bool whole(const std::string& name) const { return !divided_.contains(name); }
  // This rank's shard of the whole value. It must hold one.
  Tensor own(const std::string& name, const Tensor& whole) const;
  // The whole value, on every rank. All ranks must call it.
  Tensor gather(const ParameterSpec& spec, const ParameterStore& store) const;

 private:
  struct Division {
    int axis = -1;      // along which each rank has its shard; -1: some ranks have the whole, or `run`
    int owner = -1;     // the last of those, for a parameter on a server, which also has its slots
    bool here = false;  // whether this rank is among them
    bool run = false;   // each rank has a range of its elements
  };
  std::map<std::string, Division> divided_;
  std::shared_ptr<comm::Communicator> ranks_;
};

}  // namespace ridgeline::train
