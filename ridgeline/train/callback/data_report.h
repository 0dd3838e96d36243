// ridgeline/train/callback/data_report.h
//
// Logs about the data of a run: bad samples, after each epoch with new ones and at the end, and once the data engine's
// advice if the step has to wait for it.
#pragma once

#include "ridgeline/core/given_function.h"
#include "ridgeline/train/loop/callback.h"
#include "ridgeline/train/metrics.h"
#include "ridgeline/train/training_log.h"

namespace ridgeline::train {

class DataReport : public Callback {
 public:
  // `shared`: each rank reads its own images, so bad samples are counted over all ranks, which must all call this.
  DataReport(const DatasetFeed& feed, const data::BadSampleOptions& options, bool shared, TrainingLog& log,
             Metrics& metrics)
      : feed_(feed), options_(options), shared_(shared), log_(log), metrics_(metrics) {}

  void step_end(RunContext& context) override;
  void end(RunContext& context) override;

 private:
  void report(const RunContext& context);
  void advise(double least_share);

  const DatasetFeed& feed_;
  const data::BadSampleOptions& options_;
  bool shared_;
  TrainingLog& log_;
  Metrics& metrics_;
  std::int64_t reported_ = 0;
  double seconds_ = 0;
  bool advised_ = false;
};

// Reports, after all other callbacks, why a run ended before its last step, and where it is saved.
class StopNotice : public Callback {
 public:
  // `saved` gives the path of the checkpoint, or nothing. `limit`: the name of the time limit.
  StopNotice(GivenFunction<std::string()> saved, std::string limit, TrainingLog& log)
      : saved_(std::move(saved)), limit_(std::move(limit)), log_(log) {}
  void begin(RunContext& context) override { say(context); }
  void step_end(RunContext& context) override { say(context); }

 private:
  void say(const RunContext& context);
  std::function<std::string()> saved_;
  std::string limit_;
  TrainingLog& log_;
};

}  // namespace ridgeline::train
