// ridgeline/train/callback/accelerator.h
//
// Switches stepped precision once, from reduced to original precision, before a loop on the run's nominal grid;
// parameters, slots, counters and random numbers continue. Also the hook that tells how far the run is.
#pragma once

#include <string>

#include "ridgeline/train/accelerate.h"
#include "ridgeline/train/callback/monitors.h"
#include "ridgeline/train/loop/callback.h"

namespace ridgeline::train {

// Publishes step or loss after each loop. Tensors by name, as RunContext::fetch has them: "global_step:0", "loss:0".
struct TellMeOptions {
  std::string step;
  std::int64_t total_step = 0;
  std::string loss;
  double final_loss = 0;
};
class TellMeStepOrLossHook : public Callback {
 public:
  // An Error (usage) if neither step nor loss is given.
  TellMeStepOrLossHook(TellMeOptions options, TrainingProgress& progress);
  void begin(RunContext& context) override;  // an unknown name is an Error
  void step_end(RunContext& context) override;

 private:
  TellMeOptions options_;
  TrainingProgress& progress_;
};

enum class PrecisionPhase { reduced, original };

struct AcceleratorOptions {
  AccelerateMode mode;
  PrecisionPolicy original;
  PrecisionPhase phase = PrecisionPhase::reduced;  // for which the model is compiled; original: the run has switched
  LineSink log = print_line;
};

class Accelerator : public Callback {
 public:
  Accelerator(AcceleratorOptions options, const TrainingProgress& progress)
      : options_(std::move(options)), progress_(progress) {}

  // An Error if the reduced step has no op in 16 bits: the device has none, or the step was prepared in another
  // precision.
  void begin(RunContext& context) override;
  void step_begin(RunContext& context) override;
  void step_end(RunContext& context) override;
  void end(RunContext& context) override;

  PrecisionPhase phase() const { return options_.phase; }

 private:
  struct Part {
    std::int64_t steps = 0;
    double seconds = 0;
    double per_step() const { return steps > 0 ? seconds / static_cast<double>(steps) : 0; }
  };
  void say(const std::string& line) const {
    if (options_.log) options_.log(line);
  }
  Part& part() { return parts_[options_.phase == PrecisionPhase::original ? 1 : 0]; }

  AcceleratorOptions options_;
  const TrainingProgress& progress_;
  Part parts_[2];  // reduced, original; only this process
  double compile_seconds_ = 0;
};

}  // namespace ridgeline::train
