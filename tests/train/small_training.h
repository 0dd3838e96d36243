// tests/train/small_training.h
//
// A training of a small network on one rank or on several in many ways, for comparison in tests of distributed
// training.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/nn/layers.h"
#include "ridgeline/train/loop/loop.h"
#include "tests/comm/ranks.h"

namespace ridgeline::train::small {

inline constexpr std::int64_t kImages = 16, kSide = 12, kClasses = 5, kSteps = 20;

// Convolutions, optionally batch norm, a pool and two dense layers.
nn::Network small_network(std::int64_t batch, bool norm, double keep = 1, std::int64_t width = 40);

struct Options {
  bool norm = false, synchronised = false;
  bool overlap = true;
  std::int64_t accumulate = 1;
  double clip_norm = 0;
  std::optional<optim::LossScale> loss_scale = {};
  SplitStrategy split = {};
  std::string device = "cpu";
  int overflow_at = -1;  // the run in which rank 1 gets values that overflow
  std::int64_t steps = kSteps;
  std::int64_t parts = 0;   // of the batch of all ranks, whose sums have a fixed order; 0: none
  double keep = 1;          // of dropout
  std::int64_t width = 40;  // of the dense layer in the middle
  PrecisionPolicy precision = {};
  int threads = 1;
  std::string trace = {};                           // file
  int servers = 0;                                  // of the ranks, the last ones, which keep and update parameters
  std::vector<std::string> server_parameters = {};  // name patterns of their parameters; none: all
  bool shard = false;                               // slots and updates are split over the ranks
  optim::Optimizer optimizer = optim::Momentum{.momentum = 0.9};
};

struct Trained {
  std::map<std::string, Tensor> values;
  std::map<std::string, Tensor> file;        // the contents of a checkpoint
  std::map<std::string, std::size_t> bytes;  // the values that this rank keeps, by name
  std::vector<double> losses;
  comm::Traffic traffic;
};

// A session for the ranks, which the test harness owns; without ranks, for one.
SessionOptions options_of(comm::Communicator* ranks, const Options& given = {});

Trained train_small(comm::Communicator* ranks, const Options& options);

// All `n` ranks, also the servers; all end with the same bits.
Trained train_over(int n, const Options& options);

void expect_close(const Trained& some, const Trained& other, double tolerance);
void expect_same(const Trained& some, const Trained& other);

}  // namespace ridgeline::train::small
