// ridgeline/train/ranks/holdings.h
//
// What of the stored values of a model this rank holds: all of them, where ranks divide the data alone; else of some a
// part along one axis or a run of elements (slots of split updates), or nothing, where other ranks have them. Whole
// values are put together by all ranks for files, and cut apart from them. A value; between steps only, as the step's
// own exchanges use the same communicator.
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
  // `step`: what the passes have made of a training step for this rank. Every rank of `ranks` makes its own.
  Holdings(std::span<const ParameterSpec> parameters, const Graph& step, std::shared_ptr<comm::Communicator> ranks);

  bool everything() const { return divided_.empty(); }
  // Whether this rank has the value, or a part of it.
  bool holds(const std::string& name) const;
  // Whether every rank has all of it.
  bool whole(const std::string& name) const { return !divided_.contains(name); }
  // The part of the whole value that this rank holds. It must hold one.
  Tensor own(const std::string& name, const Tensor& whole) const;
  // The whole value, on every rank. All ranks call it.
  Tensor gather(const ParameterSpec& spec, const ParameterStore& store) const;

 private:
  struct Division {
    int axis = -1;      // along which each rank has its part; -1: some ranks have it all, or `run`
    int owner = -1;     // the last of those: of a parameter on a server, which has its slots beside it
    bool here = false;  // whether this one is among them
    bool run = false;   // each rank has a run of its elements
  };
  std::map<std::string, Division> divided_;
  std::shared_ptr<comm::Communicator> ranks_;
};

}  // namespace ridgeline::train
