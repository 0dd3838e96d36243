// ridgeline/compile/lower/lifetimes.h
//
// When which bytes are needed, in the order of a plan's launches: the basis of memory planning.
#pragma once

#include <vector>

#include "ridgeline/compile/lower/plan.h"

namespace ridgeline {

// The first and last launch between which contents must be kept, both included; returned values are kept to the end.
struct Lifetime {
  int first = -1, last = -1;
  bool used() const { return first >= 0; }
  bool meets(const Lifetime& other) const { return first <= other.last && other.first <= last; }
  friend bool operator==(const Lifetime&, const Lifetime&) = default;
};

// Of each buffer, only for what is written and read as this buffer: an inner buffer (Buffer::within) and its outer one
// each have their own.
std::vector<Lifetime> lifetimes(const Plan& plan);

// The inner buffers of each outer buffer (`whole`). Examples: a block that is exchanged, a value made in its place in
// the block, the exchange's result there, and what later overwrites it.
class Occupants {
 public:
  // Starts with the inner buffers that the plan already has.
  explicit Occupants(const Plan& plan);

  const Lifetime& life(int buffer) const { return lives_[static_cast<std::size_t>(buffer)]; }
  // From the first need of the buffer or any inner one to the last; empty for an inner buffer.
  Lifetime whole(int buffer) const;
  // Whether no buffer except `but` needs these bytes of `whole` during `when`.
  bool free(int whole, std::size_t begin, std::size_t end, const Lifetime& when, int but) const;
  // `whole`, with its inner buffers, becomes memory that the program keeps.
  void keep(Plan& plan, int whole) const;
  // `buffer`, with its inner buffers, becomes an inner buffer of `whole` (Buffer::within, home).
  void move(Plan& plan, int buffer, int whole, std::size_t offset);

 private:
  struct Occupant {
    int buffer;
    std::size_t begin, end;
  };
  std::vector<Lifetime> lives_;
  std::vector<std::vector<Occupant>> of_;  // by outer buffer
};

}  // namespace ridgeline
