// ridgeline/train/callback/step_dump.h
//
// Dumps the values of chosen steps during a run: of every op, of some, or, to find overflows, of those that make a
// number that is not finite. The values are computed a second time, by a program without fusion over the batch and the
// parameters that the step had, so the run keeps its bits. Costs a copy of all parameters and the memory of all values
// of a step while one is written. On the host only; needs a feed that knows its inputs.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ridgeline/core/given_function.h"
#include "ridgeline/train/loop/callback.h"
#include "ridgeline/train/value_dump.h"

namespace ridgeline::train {

// Steps by number; the first one is 0, as in the original's dump_step.
class StepSet {
 public:
  StepSet() = default;  // all steps
  // "0|5|10", "0|3-5|10": at most 100 entries, each range ascending. Empty: all steps. Another text is an Error
  // (usage).
  explicit StepSet(const std::string& text);
  bool contains(std::int64_t step) const;
  // The first one after `step`; Callback::kNever: none.
  std::int64_t next(std::int64_t step) const;

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges_;  // empty: all
};

struct StepDumpOptions {
  std::string directory;  // gets step_<N>.safetensors, or .csv with `numbers`
  StepSet steps = {};
  ValueChoice values = {.side = ValueSide::output};
  bool numbers = false;  // statistics of each value instead of the values
  // Dumps only steps whose loss or parameters are not finite or whose gradients overflow, and of these only the ops
  // that make non-finite values from finite ones, with what they read. `values` is ignored.
  bool overflows = false;
  OptionalFunction<void(const std::string&)> log;
};

class StepDump : public Callback {
 public:
  explicit StepDump(StepDumpOptions options) : options_(std::move(options)) {}

  std::int64_t next_stop(std::int64_t step) const override;
  // An Error for a pattern that no op's name matches, and for steps of several batches.
  void begin(RunContext& context) override;
  void step_begin(RunContext& context) override;
  void step_end(RunContext& context) override;

 private:
  // All that the store holds.
  struct Stored {
    std::string name;
    Tensor value;
    ValueKind kind;
  };
  using Snapshot = std::vector<Stored>;
  static Snapshot snapshot(const RunContext& context);
  static void restore(const RunContext& context, const Snapshot& values);
  void write(RunContext& context, std::int64_t step);

  StepDumpOptions options_;
  Snapshot before_;  // of the running step; empty: it is not dumped
  std::int64_t step_ = 0;
};

}  // namespace ridgeline::train
