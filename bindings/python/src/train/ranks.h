// bindings/python/src/train/ranks.h
//
// The ranks that a launcher started, for models that train on several. A process has one world; models use it one after
// the other.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <exception>
#include <mutex>
#include <string>

#include "ridgeline/data/api/dataset.h"
#include "ridgeline/train/ranks/ranks.h"

namespace ridgeline::python {

// This process according to the environment variables; does not communicate.
struct OwnRank {
  int rank = 0, size = 1;
  int local_rank = 0;  // among the ranks of its machine
};
OwnRank own_rank();

// Work on all ranks: an error of one rank ends the training of all. An Error if another thread is already doing it, and
// in a process that was forked from a rank.
class RanksAtWork {
 public:
  // Joins the other ranks, if not already done, and waits for them. `alone`: for a model that trains without them.
  explicit RanksAtWork(bool alone);

  // Null communicators: this process, or this model, trains alone.
  const train::RunRanks& ranks() const { return ranks_; }
  // Runs work(); if it fails, the other ranks get the reason.
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

// An Error unless a node of the data reads shard `index` of `count`.
void check_part(const data::Dataset& dataset, std::int64_t count, std::int64_t index);

void bind_ranks(nanobind::module_& m);

}  // namespace ridgeline::python
