// ridgeline/compile/lower/places.h
//
// Where each buffer of a plan is: a space and a range of its bytes. Computed only here. Two buffers share memory if
// their ranges in one space overlap. A plain value that does not follow later changes of the plan.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/compile/lower/plan.h"

namespace ridgeline {

struct Place {
  int space = -1;
  std::size_t begin = 0, end = 0;
  bool meets(const Place& other) const { return space == other.space && begin < other.end && other.begin < end; }
  friend bool operator==(const Place&, const Place&) = default;
};

// Memory that is allocated as one: an arena, a stored value, a derived form, a kept block, a caller's input. Before
// memory is planned (Plan::arena_bytes is empty), each arena buffer that is not inside another one is a space of its
// own.
struct Space {
  BufferHome home = BufferHome::arena;
  int buffer = -1;         // the first buffer in it
  std::size_t device = 0;  // of an arena: which of the plan's devices
  bool exchanged = false;  // kept memory that ranks exchange in place
  std::size_t bytes = 0;   // 0 of an arena that is not planned yet
};

class Places {
 public:
  explicit Places(const Plan& plan);
  const Place& of(int buffer) const { return places_[static_cast<std::size_t>(buffer)]; }
  const Space& space(int index) const { return spaces_[static_cast<std::size_t>(index)]; }
  int spaces() const { return static_cast<int>(spaces_.size()); }
  // "bytes 64 to 128 of the arena on cpu"
  std::string text(const Plan& plan, const Place& place) const;

 private:
  std::vector<Place> places_;
  std::vector<Space> spaces_;
};

// The outer buffer of `buffer`; `buffer` itself if it is not inside another one.
inline int whole_of(const Plan& plan, int buffer) {
  const int within = plan.buffers[static_cast<std::size_t>(buffer)].within;
  return within >= 0 ? within : buffer;
}

}  // namespace ridgeline
