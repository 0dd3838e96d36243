#include "ridgeline/train/recipe/evaluator.h"

#include <fmt/format.h>

#include <array>
#include <chrono>

#include "ridgeline/core/error.h"
#include "ridgeline/core/math.h"
#include "ridgeline/data/runtime/rows/rows.h"
#include "ridgeline/train/checkpoint/best_evaluation.h"
#include "ridgeline/train/loop/bind_batch.h"
#include "ridgeline/train/loop/interrupt.h"
#include "ridgeline/train/metric/table.h"
#include "ridgeline/train/ranks/ranks.h"
#include "ridgeline/train/recipe/batch_parts.h"
#include "ridgeline/train/recipe/chosen_checkpoint.h"
#include "ridgeline/train/recipe/recipe_model.h"
#include "ridgeline/train/recipe/session_options.h"

namespace ridgeline::train {
namespace {

using Clock = std::chrono::steady_clock;

// 1 for the rows that count: neither padding nor bad samples that were left out.
Tensor mask_of(const data::Batch& batch) {
  Tensor mask(DType::f32, Shape{batch.rows()});
  const auto* real = batch.mask().data<std::uint8_t>();
  for (std::int64_t i = 0; i < batch.rows(); ++i) mask.data<float>()[i] = real[i] != 0 ? 1.0f : 0.0f;
  return mask;
}

std::int64_t model_classes(const Program& program) {
  const Graph& graph = program.graph();
  return graph.value(graph.find_return(infer::kLogits)).type.shape[1];
}

// See Recipe::bad_samples.
data::BadSampleOptions without_replacing(data::BadSampleOptions options) {
  if (options.policy == data::BadSamplePolicy::replace) options.policy = data::BadSamplePolicy::skip;
  return options;
}

}  // namespace

Error with_advice(const data::SampleError& error, const Recipe& recipe) {
  if (recipe.bad_samples.policy != data::BadSamplePolicy::raise) return error;
  const char* way_out = recipe.mode == Mode::evaluate ? "skip" : "replace";  // see Recipe::bad_samples
  return Error(fmt::format("{} (--bad_samples={} goes on without it)", error.what(), way_out), error.kind());
}

namespace {

std::optional<data::Batch> next_batch(data::Iterator& iterator, const Recipe& recipe) {
  try {
    return iterator.next();
  } catch (const data::SampleError& error) {
    throw with_advice(error, recipe);
  }
}

// What is added up over the ranks.
struct Sums {
  double loss = 0, top_1 = 0, top_5 = 0, rows = 0, bad_samples = 0;
};

// Over this rank's share of the images; none where it was stopped.
std::optional<Sums> sums_of_share(Program& program, Model& model, const data::Dataset& validation, const Recipe& recipe,
                                  Session& session, TrainingLog& log, const std::vector<NamedMetric>& metrics) {
  data::Iterator iterator(validation, {.workers = recipe.num_workers,
                                       .memory_limit = recipe.batch_memory,
                                       .raw_images = recipe.enable_data_pre_proc,
                                       .bad_samples = without_replacing(recipe.bad_samples),
                                       .trace = session.trace(),
                                       .log = &session.log()});
  Sums sums;
  const auto begin = Clock::now();
  const std::int64_t total = validation.num_samples();
  while (auto batch = next_batch(iterator, recipe)) {
    if (interrupted()) return std::nullopt;
    // The sums of a part are f32; adding them up is exact enough.
    for (std::int64_t part = 0; part < recipe.parts; ++part) {
      const auto of_part = [&](const Tensor& all) {
        return recipe.parts == 1 ? all : rows_of_part(all, part, recipe.parts);
      };
      const Tensor images = of_part(batch->image()), labels = of_part(batch->label()), mask = of_part(mask_of(*batch));
      bind_batch(program, images, labels);
      program.bind(nn::kMaskInput, mask);
      if (!program.run()) return std::nullopt;
      sums.loss += program.output("loss_sum").at(0);
      sums.top_1 += program.output("top_1").at(0);
      sums.top_5 += program.output("top_5").at(0);
      sums.rows += program.output("rows").at(0);
      if (metrics.empty()) continue;
      MetricBatch values = metric_batch(program, *batch, model.network().columns);
      for (auto& [name, column] : values.inputs) column = of_part(column);
      values.mask = of_part(values.mask);
      for (const NamedMetric& m : metrics) m.metric->update(values);
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    log.progress("evaluating", static_cast<std::int64_t>(sums.rows), total, sums.rows / seconds);
  }
  sums.bad_samples = static_cast<double>(iterator.bad_samples());
  return sums;
}

// `model` has complete values; its session need not be the one whose ranks evaluate. A parameter server has no images.
std::optional<EvaluationRow> evaluate_whole(Model& model, const RunData& data, const Recipe& recipe, Session& session,
                                            TrainingLog& log) {
  const data::Dataset& validation = *data.validation;
  model.prepare_evaluation();
  Program& program = model.evaluation();
  const std::vector<NamedMetric> metrics = metrics_named(recipe.metrics, model_classes(program));
  const std::optional<Sums> own =
      recipe.serves() ? Sums() : sums_of_share(program, model, validation, recipe, session, log, metrics);
  const Ranks ranks(session);
  if (ranks.largest(own ? 0 : 1) > 0) return std::nullopt;
  // Each rank has its share of the images.
  std::array<double, 5> sums = {own->loss, own->top_1, own->top_5, own->rows, own->bad_samples};
  ranks.sum(sums);
  for (const NamedMetric& m : metrics) ranks.sum(m.metric->sums());
  const double rows = sums[3];
  const auto bad_samples = static_cast<std::int64_t>(sums[4]);
  if (rows == 0 && bad_samples > 0) {
    throw Error(
        fmt::format("none of the {} validation images can be used: see the first of them with "
                    "--bad_samples=raise",
                    bad_samples));
  }
  if (rows == 0) throw Error("the validation part has no full batch (--eval_drop_remainder needs at least one)");
  EvaluationRow row;
  row.loss = plain_nan(sums[0] / rows);
  row.top_1 = sums[1] / rows;
  row.top_5 = sums[2] / rows;
  row.rows = static_cast<std::int64_t>(rows);
  row.bad_samples = bad_samples;
  for (const NamedMetric& m : metrics) {
    for (std::string& line : metric_lines(m.name, m.metric->value(), data.classes.names))
      row.metrics.push_back(std::move(line));
  }
  if (row.bad_samples > 0) {
    log.line(
        fmt::format("bad samples: {} of {} validation images left out", row.bad_samples, validation.num_samples()));
  }
  return row;
}

}  // namespace

std::optional<EvaluationRow> evaluate_once(Model& model, const RunData& data, const Recipe& recipe, Session& session,
                                           TrainingLog& log) {
  if (model.holdings().everything()) return evaluate_whole(model, data, recipe, session, log);
  Recipe undivided = recipe;
  undivided.parallel = {};
  Session whole_session(session_options(undivided));
  const std::unique_ptr<Model> whole = model_of(whole_session, undivided, data.num_classes);
  whole->prepare_evaluation();
  whole->set_values(model);
  return evaluate_whole(*whole, data, recipe, session, log);
}

}  // namespace ridgeline::train
