// ridgeline/train/estimator.h
//
// Training in the style of scripts: by epochs over a data set (MindSpore's Model) or by steps over an input function
// (TensorFlow's Estimator). Both are a Loop with its options filled in. A callback or metric that is null is an Error
// with the caller's line.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "ridgeline/core/given_function.h"
#include "ridgeline/data/api/dataset.h"
#include "ridgeline/train/loop/loop.h"
#include "ridgeline/train/metric/metric.h"
#include "ridgeline/train/ranks/ranks.h"

namespace ridgeline::train {

struct SinkOptions {
  // Steps run on the device without the host: `sink_size` at a time, which counts as an epoch, or with -1 the whole
  // data set. Without sink mode every step returns to the host.
  bool dataset_sink_mode = true;
  std::int64_t sink_size = -1;
};

// Trains for `epochs` more epochs (of sink_size steps if that is given) over the data set, which must know its size and
// have full batches (see DatasetFeed). Data that the model has already been trained on continue at their position: five
// epochs twice give the bits of ten. The model's training must be prepared. Returns the steps that are done.
std::int64_t train_epochs(Model& model, std::int64_t epochs, const data::Dataset& dataset,
                          std::initializer_list<Callback*> callbacks, const SinkOptions& sink = {},
                          const std::source_location& at = std::source_location::current());
// The same up to the end of epoch `epochs` of the whole run, from whichever step: for a run that may have been
// interrupted and is resumed (ModelCheckpoint::resume). Does nothing if the run is finished.
//
//   ModelCheckpoint saver("net", "runs/net");
//   saver.resume(model);
//   train_to_epoch(model, 90, dataset, {&saver});
std::int64_t train_to_epoch(Model& model, std::int64_t epochs, const data::Dataset& dataset,
                            std::initializer_list<Callback*> callbacks, const SinkOptions& sink = {},
                            const std::source_location& at = std::source_location::current());

// Runs to step `max_steps` of the whole run over what `input_fn` gives, with hooks. A feed at the beginning of data
// that the model has already been trained on continues at their position.
struct RunOptions {
  std::int64_t iterations_per_loop = 1;
  std::int64_t steps_per_epoch = 0;  // 0: the whole run is one epoch
};
using InputFunction = GivenFunction<std::unique_ptr<Feed>()>;
std::int64_t train_steps(Model& model, const InputFunction& input_fn, std::int64_t max_steps,
                         std::initializer_list<Callback*> hooks, const RunOptions& options = {},
                         const std::source_location& at = std::source_location::current());

// The sums that the network's evaluation returns over the data set, divided by the number of rows, by name, without a
// final "_sum": {"loss": 0.31, "top_1": 0.93, ...}; and "rows", which is the number of them.
// Uses the averages of parameters if training keeps them. An Error for a data set without rows.
std::map<std::string, double> evaluate(Model& model, const data::Dataset& dataset);
// The two halves of that: the sums over the rows, by the network's names, and their means. An Error of kind interrupted
// if interrupted() (loop/interrupt.h).
std::map<std::string, double> evaluation_sums(Model& model, const data::Dataset& dataset);
std::map<std::string, double> means_of(const std::map<std::string, double>& sums);
// The same of several ranks, each of which evaluates its own rows: all get what all rows give, and all call it. Where
// one is interrupted, evaluation_sums() is nullopt on all, and the others are that Error.
std::optional<std::map<std::string, double>> evaluation_sums(Model& model, const data::Dataset& dataset,
                                                             const Ranks& ranks);
std::map<std::string, double> evaluate(Model& model, const data::Dataset& dataset, const Ranks& ranks);
void evaluate(Model& model, const data::Dataset& dataset, const Ranks& ranks, std::span<Metric* const> metrics,
              const std::source_location& at = std::source_location::current());
// One evaluation for these metrics, from clear() to their values: Accuracy top; Loss loss;
// evaluate(model, dataset, {&top, &loss}); top.value().at(0).
void evaluate(Model& model, const data::Dataset& dataset, std::span<Metric* const> metrics,
              const std::source_location& at = std::source_location::current());
inline void evaluate(Model& model, const data::Dataset& dataset, std::initializer_list<Metric*> metrics,
                     const std::source_location& at = std::source_location::current()) {
  evaluate(model, dataset, std::span<Metric* const>(metrics.begin(), metrics.size()), at);
}
// The results of the network's prediction for these inputs, by name; also uses the averages of parameters.
std::map<std::string, Tensor> predict(Model& model, const std::vector<NamedTensor>& inputs);

}  // namespace ridgeline::train
