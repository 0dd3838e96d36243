// tests/train/drawn_training.h
//
// Random trainings of a small network: layers, optimizer, gradient rules, and how ranks share the work. Tests of random
// combinations draw and run them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/compile/run/program.h"
#include "ridgeline/core/tensor.h"
#include "ridgeline/graph/pass/annotate.h"
#include "ridgeline/graph/pass/distribution.h"
#include "ridgeline/graph/pass/in_parts.h"
#include "ridgeline/nn/training_step.h"

namespace ridgeline::train::drawn {

inline constexpr std::int64_t kSide = 6, kClasses = 8, kSteps = 3;

struct Drawn {
  // The network: one or two convolutions, a pool, two or three dense layers.
  bool second_conv = false, flat = false, norm = false, synchronised = false;
  bool gain = false;    // a factor for each logit after the last layer
  bool tied = false;    // the second dense layer is used twice, with the same weights
  bool skip = false;    // the input of the second dense layer is added to its output
  bool masked = false;  // some rows of a batch are masked
  std::int64_t fc1 = 24, fc2 = 16;
  double keep = 1;  // of the dropout behind the first dense layer

  std::string optimizer = "momentum";
  double rate = 0.02, decay = 0, average = 0, clip_norm = 0, clip_value = 0;
  bool decay_vectors = true;
  std::int64_t accumulate = 1;
  std::optional<optim::LossScale> loss_scale = {};
  int overflow_at = -1;  // the run in which one pixel of an image overflows
  std::vector<nn::ParameterGroup> groups = {};
  bool warmup = false;

  std::int64_t images = 16;             // of a run, on all ranks
  std::int64_t ranks = 2, servers = 0;  // with a batch, and in addition to them
  ParallelMode mode = ParallelMode::data_parallel;
  std::vector<Annotation> shards = {}, stages = {};
  PipelinePlan pipeline = {};
  bool overlap = true, shard_updates = false;
  SplitStrategy split = {};
  std::int64_t parts = 0;         // of the batch of all ranks; 0: none
  std::int64_t runs_of_rows = 1;  // row i of a part of one rank is row i of this many micro-batches in turn
  std::vector<std::string> server_parameters = {};
  std::string precision = "must_keep_origin_dtype";  // of runs in f32
  double off = 0;  // by how much of its size each parameter is changed at the start, alternately up and down

  bool pipelined() const { return pipeline.stages > 1; }
  std::string text() const;  // other settings than the above
};

// Training number `number` of the sequence of `seed`.
Drawn draw(std::uint64_t seed, std::int64_t number);

// The same training on one rank. What every rank computes from its own rows (batch norm statistics, dropout masks) one
// rank computes in parts.
Drawn on_one_rank(const Drawn& of);

nn::Network network_of(const Drawn& drawn, std::int64_t rows);
nn::TrainingOptions training_of(const Drawn& drawn, std::int64_t all_ranks);
Distribution distribution_of(const Drawn& drawn, std::int64_t rank);
// The batch of rank `rank`. Servers have none, and the step of the first part.
BatchParts parts_of(const Drawn& drawn, std::int64_t rank);
// The number of rows for which the step is built.
std::int64_t rows_of_step(const Drawn& drawn);

// Binds this rank's rows of run `run` to the inputs of a program; images have the type `floating`.
class Rows {
 public:
  Rows(const Drawn& drawn, std::int64_t rank, DType floating);
  void bind(Program& program, std::int64_t run);

 private:
  const Drawn& drawn_;
  std::int64_t rank_, count_;
  Tensor images_, labels_, mask_;
};

}  // namespace ridgeline::train::drawn
