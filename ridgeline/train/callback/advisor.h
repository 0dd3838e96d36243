// ridgeline/train/callback/advisor.h
//
// Gives one line of advice, once per run and mistake, when the losses look like a known mistake: all logits are equal,
// nothing is learned, or the loss grows. Looks at means over loops, which cost the step nothing.
#pragma once

#include "ridgeline/train/loop/callback.h"
#include "ridgeline/train/training_log.h"

namespace ridgeline::train {

struct AdvisorOptions {
  std::int64_t classes = 2;
  std::int64_t warmup_steps = 0;  // no judgement while the rate still rises
  bool final_relu = false;        // the model has a relu on its logits, which can become all zero
};

class Advisor : public Callback {
 public:
  Advisor(const AdvisorOptions& options, TrainingLog& log);
  void step_end(RunContext& context) override;

 private:
  struct Window {
    std::int64_t steps = 0;
    double loss = 0;  // sum over the steps
    double mean() const { return loss / static_cast<double>(steps); }
    void add(const RunContext& context) {
      steps += context.loop_steps();
      loss += context.loop_loss() * static_cast<double>(context.loop_steps());
    }
  };
  void look_for_equal_logits(const RunContext& context);
  void look_for_standing(const RunContext& context);
  void look_for_growth(const RunContext& context);
  void say(bool& said, const std::string& text);

  AdvisorOptions options_;
  TrainingLog& log_;
  double guessing_;  // the loss of guessing: ln(classes)
  std::int64_t equal_steps_ = 0;
  Window standing_, growth_;
  double least_ = 0;  // mean of the best window so far; 0: none
  bool said_equal_ = false, said_standing_ = false, said_growth_ = false;
};

}  // namespace ridgeline::train
