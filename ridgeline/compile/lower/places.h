// ridgeline/compile/lower/places.h
//
// Where each buffer of a plan lies: a space and the bytes of it. Nobody else computes that. Two buffers share memory
// where they have bytes of one space in common. A plain value, of the plan as it was.
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

// Memory that is allocated as one: an arena, a stored value, a form of one, a kept block, a caller's input. Before
// memory is planned (Plan::arena_bytes is empty) each buffer of an arena that is no part is a space of its own.
struct Space {
  BufferHome home = BufferHome::arena;
  int buffer = -1;         // the first one that lies there
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

// The buffer in whose memory `buffer` lies: itself where it is no part.
inline int whole_of(const Plan& plan, int buffer) {
  const int within = plan.buffers[static_cast<std::size_t>(buffer)].within;
  return within >= 0 ? within : buffer;
}

}  // namespace ridgeline
