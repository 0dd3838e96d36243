#include "ridgeline/train/estimator.h"

#include <fmt/format.h>

#include "ridgeline/core/error.h"
#include "ridgeline/core/location_text.h"
#include "ridgeline/train/loop/interrupt.h"

namespace ridgeline::train {
namespace {

constexpr std::string_view kSumSuffix = "_sum";

// The row mask in the step's type: 1 for the rows that count.
Tensor mask_as(DType dtype, const Tensor& column) {
  Tensor mask(dtype, column.shape());
  for (std::int64_t i = 0; i < column.elements(); ++i) mask.set(i, column.at(i) != 0 ? 1 : 0);
  return mask;
}

}  // namespace

namespace {

// Trains to the end of so many epochs, counted from step `from`.
std::int64_t train_over(Model& model, std::int64_t from, std::int64_t epochs, const data::Dataset& dataset,
                        std::initializer_list<Callback*> callbacks, const SinkOptions& sink,
                        const std::source_location& at) {
  if (epochs < 1)
    throw Error(fmt::format("The argument 'epoch' must be positive, but got {}", epochs), ErrorKind::usage);
  if (sink.sink_size != -1 && sink.sink_size < 1) {
    throw Error(fmt::format("The argument 'sink_size' must be -1 or positive, but got {}", sink.sink_size),
                ErrorKind::usage);
  }
  const std::int64_t size = dataset.size();
  if (size <= 0) throw Error("There is no valid data in dataset, please check dataset file firstly.");
  check_remainder(model.training(), dataset, model.network().columns);
  const std::int64_t epoch = sink.dataset_sink_mode && sink.sink_size > 0 ? sink.sink_size : size;
  data::IteratorOptions options{.epochs = data::kForever};
  if (model.seeds_data() && dataset.graph().seed == 0) options.seed = model.seed();
  if (const data::IteratorState* place = model.place_in(dataset.hash())) options.start = *place;
  DatasetFeed feed(dataset, options, model.network().columns, &model.session().device());
  Loop loop(
      model, feed,
      {.total_steps = from + epochs * epoch, .steps_per_epoch = epoch, .loop = sink.dataset_sink_mode ? epoch : 1});
  return loop.run(callbacks, at).step();
}

}  // namespace

std::int64_t train_epochs(Model& model, std::int64_t epochs, const data::Dataset& dataset,
                          std::initializer_list<Callback*> callbacks, const SinkOptions& sink,
                          const std::source_location& at) {
  return train_over(model, model.global_step(), epochs, dataset, callbacks, sink, at);
}

std::int64_t train_to_epoch(Model& model, std::int64_t epochs, const data::Dataset& dataset,
                            std::initializer_list<Callback*> callbacks, const SinkOptions& sink,
                            const std::source_location& at) {
  return train_over(model, 0, epochs, dataset, callbacks, sink, at);
}

std::int64_t train_steps(Model& model, const InputFunction& input_fn, std::int64_t max_steps,
                         std::initializer_list<Callback*> hooks, const RunOptions& options,
                         const std::source_location& at) {
  if (max_steps < 1) throw Error(fmt::format("Must specify max_steps > 0, given: {}", max_steps), ErrorKind::usage);
  const std::unique_ptr<Feed> feed = input_fn();
  if (feed == nullptr) throw Error("the input function gave no feed" + behind_message(at), ErrorKind::usage);
  if (const data::IteratorState* place = model.place_in(feed->data_hash())) {
    const data::IteratorState now = data::IteratorState::from_json(feed->state());
    if (now.epoch == 0 && now.delivered == 0) feed->go_on(*place);
  }
  Loop loop(model, *feed,
            {.total_steps = max_steps,
             .steps_per_epoch = options.steps_per_epoch > 0 ? options.steps_per_epoch : max_steps,
             .loop = options.iterations_per_loop});
  return loop.run(hooks, at).step();
}

namespace {

// Runs the evaluation over all batches, with the averages of parameters where training keeps them.
void evaluate_batches(Model& model, const data::Dataset& dataset,
                      FunctionRef<void(Program&, const data::Batch&)> measure) {
  model.prepare_evaluation();
  Program& program = model.evaluation();
  const ValueId mask = program.graph().find_argument(nn::kMaskInput);
  const std::vector<nn::InputColumn>& columns = model.network().columns;
  const auto run = [&] {
    data::Iterator iterator(dataset);
    while (const std::optional<data::Batch> batch = iterator.next()) {
      Tensor rows;
      check_rows(program, *batch, columns);
      bind_columns(program, *batch, columns, {nn::kMaskInput});
      if (mask != kNoValue) {
        rows = mask_as(program.graph().value(mask).type.dtype, batch->mask());
        program.bind(nn::kMaskInput, rows);
      }
      if (interrupted() || !program.run()) throw Error("interrupted", ErrorKind::interrupted);
      measure(program, *batch);
    }
  };
  model.with_averages(run);
}

}  // namespace

std::map<std::string, double> evaluate(Model& model, const data::Dataset& dataset) {
  return means_of(evaluation_sums(model, dataset));
}

std::map<std::string, double> evaluation_sums(Model& model, const data::Dataset& dataset) {
  std::map<std::string, double> sums;
  evaluate_batches(model, dataset, [&](Program& program, const data::Batch&) {
    for (const Return& r : program.graph().returns) {
      if (program.graph().value(r.value).type.shape.rank() == 0) sums[r.name] += program.output(r.name).at(0);
    }
  });
  return sums;
}

namespace {

// False on all ranks where one of them was interrupted.
bool all_came_to_an_end(const Ranks& ranks, FunctionRef<void()> evaluation) {
  bool ended = true;
  try {
    evaluation();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::interrupted) throw;
    ended = false;
  }
  return ranks.largest(ended ? 0 : 1) == 0;
}

}  // namespace

std::optional<std::map<std::string, double>> evaluation_sums(Model& model, const data::Dataset& dataset,
                                                             const Ranks& ranks) {
  std::map<std::string, double> sums;
  if (!all_came_to_an_end(ranks, [&] { sums = evaluation_sums(model, dataset); })) return std::nullopt;
  std::vector<double> values;
  for (const auto& [name, sum] : sums) values.push_back(sum);
  ranks.sum(values);  // every rank's evaluation returns the same names
  std::size_t at = 0;
  for (auto& [name, sum] : sums) sum = values[at++];
  return sums;
}

std::map<std::string, double> evaluate(Model& model, const data::Dataset& dataset, const Ranks& ranks) {
  const std::optional<std::map<std::string, double>> sums = evaluation_sums(model, dataset, ranks);
  if (!sums) throw Error("interrupted", ErrorKind::interrupted);
  return means_of(*sums);
}

void evaluate(Model& model, const data::Dataset& dataset, const Ranks& ranks, std::span<Metric* const> metrics,
              const std::source_location& at) {
  if (!all_came_to_an_end(ranks, [&] { evaluate(model, dataset, metrics, at); }))
    throw Error("interrupted", ErrorKind::interrupted);
  for (Metric* metric : metrics) ranks.sum(metric->sums());
}

std::map<std::string, double> means_of(const std::map<std::string, double>& sums) {
  const auto rows = sums.find(nn::kRowsResult);
  if (rows == sums.end() || rows->second == 0) throw Error("the evaluation saw no rows");
  std::map<std::string, double> means;
  for (const auto& [name, sum] : sums) {
    // A mean is not named a sum: "loss_sum" gives "loss".
    const std::string mean = name.ends_with(kSumSuffix) ? name.substr(0, name.size() - kSumSuffix.size()) : name;
    means[mean] = name == nn::kRowsResult ? sum : sum / rows->second;
  }
  return means;
}

void evaluate(Model& model, const data::Dataset& dataset, std::span<Metric* const> metrics,
              const std::source_location& at) {
  if (metrics.empty()) throw Error("The model argument 'metrics' can not be None or empty", ErrorKind::usage);
  for (Metric* metric : metrics) {
    if (metric == nullptr) throw Error("a metric is null" + behind_message(at), ErrorKind::usage);
    metric->clear();
  }
  evaluate_batches(model, dataset, [&](Program& program, const data::Batch& batch) {
    const MetricBatch values = metric_batch(program, batch, model.network().columns);
    for (Metric* metric : metrics) metric->update(values);
  });
}

std::map<std::string, Tensor> predict(Model& model, const std::vector<NamedTensor>& inputs) {
  model.prepare_prediction();
  Program& program = model.prediction();
  for (const NamedTensor& input : inputs) program.bind(input.name, input.tensor);
  std::map<std::string, Tensor> results;
  model.with_averages([&] {
    if (!program.run()) throw Error("interrupted", ErrorKind::interrupted);
    for (const Return& r : program.graph().returns) results[r.name] = program.output(r.name).clone();
  });
  return results;
}

}  // namespace ridgeline::train
