// bindings/python/src/train/ranks.h
//
// The ranks that a launcher has started with this process, as models find them that train over several. There is one
// world for a process; models use it one after the other.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <exception>
#include <mutex>
#include <string>

#include "ridgeline/data/api/dataset.h"
#include "ridgeline/train/ranks/ranks.h"

namespace ridgeline::python {

// What the environment says of this process; nobody is asked.
struct OwnRank {
  int rank = 0, size = 1;
  int local_rank = 0;  // among those of its machine
};
OwnRank own_rank();

// Of work over the ranks: whatever ends it by an error, here or elsewhere, ends the training of all of them. An Error
// where another thread is at it, and in a process that was forked from a rank.
class RanksAtWork {
 public:
  // Joins the others, where that was not done before, and waits for them. `alone`: of a model that trains by itself.
  explicit RanksAtWork(bool alone);

  // Null communicators: this process, or this model, is alone.
  const train::RunRanks& ranks() const { return ranks_; }
  // work(); the others are told why it did not come to its end.
  template <class Work>
  auto run(const Work& work) {
    try {
      return work();
    } catch (...) {
      if (ranks_.size() > 1) give_up(std::current_exception());
      throw;
    }
  }

 private:
  void give_up(const std::exception_ptr& error) const;

  train::RunRanks ranks_;
  std::unique_lock<std::recursive_mutex> turn_;
};

// An Error unless the data are those of part `index` of `count`, by one of their nodes that reads a rank's part.
void check_part(const data::Dataset& dataset, std::int64_t count, std::int64_t index);

void bind_ranks(nanobind::module_& m);

}  // namespace ridgeline::python
