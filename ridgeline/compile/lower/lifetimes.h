// ridgeline/compile/lower/lifetimes.h
//
// Who needs which bytes from when to when, on the order of a plan's launches: what memory is planned by.
#pragma once

#include <vector>

#include "ridgeline/compile/lower/plan.h"

namespace ridgeline {

// The launches between which contents must stay, both included; returned values stay to the end.
struct Lifetime {
  int first = -1, last = -1;
  bool used() const { return first >= 0; }
  bool meets(const Lifetime& other) const { return first <= other.last && other.first <= last; }
  friend bool operator==(const Lifetime&, const Lifetime&) = default;
};

// By buffer, each for what is written there and read under its own name: a part's is its own, and so is a whole's.
std::vector<Lifetime> lifetimes(const Plan& plan);

// The buffers that lie in the memory of each whole. What is exchanged as a block, a value that is made in its place in
// the block, what comes of it and what is written over that later are four of them.
class Occupants {
 public:
  // With the parts that the plan has already.
  explicit Occupants(const Plan& plan);

  const Lifetime& life(int buffer) const { return lives_[static_cast<std::size_t>(buffer)]; }
  // From the first need of any of them to the last; of a part, and where there is none, nothing.
  Lifetime whole(int buffer) const;
  // Whether nobody but `but` needs these bytes of the whole meanwhile.
  bool free(int whole, std::size_t begin, std::size_t end, const Lifetime& when, int but) const;
  // The whole, with all that lies in it, becomes memory of the program's own.
  void keep(Plan& plan, int whole) const;
  // `buffer`, with all that lies in it, becomes a part of `whole` (Buffer::within, home).
  void move(Plan& plan, int buffer, int whole, std::size_t offset);

 private:
  struct Occupant {
    int buffer;
    std::size_t begin, end;
  };
  std::vector<Lifetime> lives_;
  std::vector<std::vector<Occupant>> of_;  // by whole
};

}  // namespace ridgeline
