// ridgeline/train/callback/session_run_hook.h
//
// TensorFlow's SessionRunHook for train_steps(): its five points, and values by the names of tensors. A callback like
// any other; its run is a loop of steps (RunOptions::iterations_per_loop), and the values are those of the loop's last
// step.
//
//   class Losses : public SessionRunHook {
//     std::vector<std::string> before_run(const RunContext&) override { return {"loss:0"}; }
//     void after_run(RunContext& run, const Values& values) override { print(run.step(), values.at("loss:0").at(0)); }
//   };
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ridgeline/train/loop/callback.h"

namespace ridgeline::train {

class SessionRunHook : public Callback {
 public:
  using Values = std::map<std::string, Tensor>;  // by the requested names; valid until the next run

  // Once, before anything is run.
  virtual void begin() {}
  virtual void after_create_session(Model&) {}
  // Before each run: names of values for after_run(). A name that the step does not return is an Error with the
  // nearest.
  virtual std::vector<std::string> before_run(const RunContext&) { return {}; }
  // context.request_stop() ends the training.
  virtual void after_run(RunContext&, const Values&) {}
  // Not called when the training ends by an error.
  virtual void end(Model&) {}

 private:
  void begin(RunContext& context) final;
  void step_begin(RunContext& context) final;
  void step_end(RunContext& context) final;
  void end(RunContext& context) final;

  std::vector<std::string> wanted_;
  bool running_ = false;  // between step_begin and step_end
};

}  // namespace ridgeline::train
