// ridgeline/device/cuda/cudnn/plan.h
//
// A cuDNN execution plan: computes one operation graph by one engine of the library with its settings. It belongs to
// its target; one thread at a time runs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "ridgeline/device/cuda/cudnn/target.h"

namespace ridgeline::cuda::cudnn {

// The library's notes about an engine.
struct EngineNotes {
  unsigned numerical = 0, behavior = 0;  // one bit for each note
  bool has(NumericalNote note) const { return (numerical >> static_cast<int>(note) & 1u) != 0; }
  bool has(BehaviorNote note) const { return (behavior >> static_cast<int>(note) & 1u) != 0; }
};

class Plan {
 public:
  // Takes a finished descriptor of an execution plan.
  Plan(Descriptor plan, std::string name, EngineNotes notes = {});
  // Reads what json() wrote, for the card of the handle.
  static Plan from_json(const Target& target, const std::string& json, std::string name);

  const std::string& name() const { return name_; }  // "engine 57 (2=19, 3=0)"
  const EngineNotes& notes() const { return notes_; }
  std::size_t workspace_bytes() const { return workspace_bytes_; }
  // For plan files: contains the code, if it was compiled at run time.
  std::string json() const;
  // Enqueues the work on the handle's stream. Ids are those of the graph's values. A Failure if the library cannot.
  void run(Handle handle, std::span<const std::int64_t> ids, std::span<void* const> addresses, void* workspace) const;

 private:
  Descriptor plan_;
  std::string name_;
  EngineNotes notes_;
  std::size_t workspace_bytes_ = 0;
};

}  // namespace ridgeline::cuda::cudnn
