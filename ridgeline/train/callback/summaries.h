// ridgeline/train/callback/summaries.h
//
// Writes more than scalars to the event file: histograms of weights and gradients, pictures of a batch, the graph of
// the step. Gradients are computed by a separate program over the batch that was trained last, which changes nothing;
// each time costs about one step, and the memory of one.
#pragma once

#include "ridgeline/compile/compile.h"
#include "ridgeline/format/record/event_file.h"
#include "ridgeline/train/loop/callback.h"

namespace ridgeline::train {

struct SummaryOptions {
  std::int64_t histogram_steps = 0;  // between two; 0: none
  std::int64_t picture_steps = 0;
  bool graph = false;
  CompileOptions compile = {};  // of the program for the gradients
};

class Summaries : public Callback {
 public:
  // Borrows the writer, which must outlive the run.
  Summaries(const SummaryOptions& options, EventFileWriter& events) : options_(options), events_(events) {}

  std::int64_t next_stop(std::int64_t step) const override;
  void begin(RunContext& context) override;
  void step_end(RunContext& context) override;

 private:
  void write_weights(RunContext& context);
  void write_gradients(RunContext& context);
  void write_pictures(RunContext& context);

  SummaryOptions options_;
  EventFileWriter& events_;
};

}  // namespace ridgeline::train
