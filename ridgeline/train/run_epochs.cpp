// Runs of user-defined networks: by epochs over data sets.
#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/core/error.h"
#include "ridgeline/train/callback/monitors.h"
#include "ridgeline/train/estimator.h"
#include "ridgeline/train/loop/interrupt.h"
#include "ridgeline/train/run.h"

namespace ridgeline::train {
namespace {

// The position of this rank's rows among those of all.
std::int64_t place_of(const RunSetup& setup) {
  const RunRanks& ranks = setup.ranks;
  return ranks.serves() ? 0 : first_row_of(ranks.rank(), ranks.data_ranks(), setup.batch_parts);
}

// Settings for ranks whose batches are equal.
ModelSettings settings_of(const RunSetup& setup) {
  const RunRanks& ranks = setup.ranks;
  const std::int64_t size = ranks.data_ranks(), parts = setup.batch_parts;
  ModelSettings settings{.compile = setup.compile,
                         .distribution = {.ranks = size,
                                          .rank = ranks.rank(),
                                          .group = kWorld,
                                          .each_batch = parts > 0,
                                          .servers = ranks.servers},
                         .parts = {.ranks = size, .place = place_of(setup)}};
  if (parts == 0) return settings;
  if (parts < size || parts % size != 0 || (parts & (parts - 1)) != 0) {
    throw Error(
        fmt::format("[run] batch_parts is {}; 0, or a power of two that {} ranks divide, is meant", parts, size),
        ErrorKind::usage);
  }
  if (setup.session.promise.bits == Reproducibility::fast)
    throw Error("[run] batch_parts needs a session whose bits are deterministic or portable", ErrorKind::usage);
  settings.parts.parts = parts / size;
  return settings;
}

EvaluationRow row_of(const std::map<std::string, double>& means) {
  const auto value = [&](const char* name) {
    const auto found = means.find(name);
    return found == means.end() ? 0 : found->second;
  };
  EvaluationRow row{.top_1 = value("top_1"),
                    .top_5 = value("top_5"),
                    .loss = value("loss"),
                    .rows = static_cast<std::int64_t>(value(nn::kRowsResult)),
                    .classifies = means.contains("top_1")};
  for (const auto& [name, mean] : means) {
    if (name != "top_1" && name != "top_5" && name != "loss" && name != nn::kRowsResult)
      row.metrics.push_back(fmt::format("{}: {:.6g}", name, mean));
  }
  return row;
}

}  // namespace

void Run::begin(nn::Network network, RunStart start) {
  auto model = std::make_unique<Model>(session_, std::move(network), settings_of(setup_));
  model->set_seed(setup_.seed);
  begin(std::move(model), std::move(start));
  const std::vector<nn::ParameterSpec>& parameters = model_->parameters();
  const bool has_statistics = std::any_of(parameters.begin(), parameters.end(), [](const nn::ParameterSpec& spec) {
    return spec.role == nn::ParameterRole::statistic;
  });
  if (setup_.batch_parts > 1 && start_.training.statistics_ranks == 1 && has_statistics) {
    throw Error(fmt::format("[run] batch_parts is {}, and the network has batch norms, whose statistics would be those "
                            "of a part: those of all are meant (statistics_ranks; in Python sync_batch_norm=True)",
                            setup_.batch_parts),
                ErrorKind::usage);
  }
}

RunResult Run::train_epochs(std::int64_t epochs, const data::Dataset& dataset, std::span<Callback* const> callbacks,
                            const EpochOptions& options, const std::source_location& at) {
  if (epochs < 1) throw Error(fmt::format("[run] epochs is {}; 1 or more are meant", epochs), ErrorKind::usage);
  if (options.loop < 1)
    throw Error(fmt::format("[run] loop is {}; 1 or more are meant", options.loop), ErrorKind::usage);
  if (options.evaluate_every < 1 || options.patience < 0) {
    throw Error(fmt::format("[run] evaluate_every is {} (1 or more are meant), patience {} (0 or more)",
                            options.evaluate_every, options.patience),
                ErrorKind::usage);
  }
  if (options.patience > 0 && options.validation == nullptr)
    throw Error("[run] patience counts evaluations: it needs a validation data set", ErrorKind::usage);
  const std::int64_t batches = dataset.size(), size = batches / model_->runs_per_step();
  if (batches <= 0) throw Error("[run] the data set has no batches, or does not tell how many", ErrorKind::usage);
  if (size * model_->runs_per_step() != batches) {
    throw Error(
        fmt::format("[run] an epoch has {} batches, which steps of {} do not divide", batches, model_->runs_per_step()),
        ErrorKind::usage);
  }
  check_remainder(model_->training(), dataset, model_->network().columns);
  asked_steps_ += epochs * size;
  if (interrupted_ || step() > asked_steps_)  // the user wants it to end; it is done already
    return {.step = step(),
            .ranks = ranks_.size(),
            .writes = ranks_.main(),
            .interrupted = interrupted_,
            .evaluation = metrics_->evaluation(),
            .metrics_path = metrics_->path(),
            .checkpoint_path = checkpoint_path_,
            .best = best_};

  data::IteratorOptions read = options.data;
  read.epochs = data::kForever;
  if (dataset.graph().seed == 0 && !read.seed) read.seed = model_->seed();
  read.start.reset();
  if (const data::IteratorState* place = model_->place_in(dataset.hash())) read.start = *place;
  DatasetFeed feed(dataset, read, model_->network().columns);
  const std::int64_t images = dataset.batch_size() * model_->runs_per_step() * setup_.ranks.data_ranks();
  RunPlan plan{.loop = {.total_steps = asked_steps_, .steps_per_epoch = size, .loop = options.loop},
               .lines = {.batch_size = images, .records = images * size, .loop = options.loop}};
  // A LossMonitor ends a run whose loss is not finite with its own message, so it checks first.
  for (Callback* callback : callbacks)
    (dynamic_cast<LossMonitor*>(callback) != nullptr ? plan.first : plan.middle).push_back(callback);
  plan.lines.summary = std::min<std::int64_t>(size, plan.lines.summary);
  if (options.validation != nullptr) {
    model_->prepare_evaluation();
    const std::int64_t rows = options.validation->num_samples_if_known();
    plan.evaluation = {.every = options.evaluate_every * size,
                       .records = std::max<std::int64_t>(0, rows),
                       .evaluate = [&]() -> std::optional<EvaluationRow> {
                         const auto sums = evaluation_sums(*model_, *options.validation, ranks_);
                         if (!sums) return std::nullopt;
                         return row_of(means_of(*sums));
                       },
                       .patience = options.patience,
                       .classifies = model_->evaluation().graph().find_return("top_1") != kNoValue};
  }
  return train(feed, plan, at);
}

data::Dataset Run::part_of(const data::Dataset& rows) const {
  const std::int64_t size = setup_.ranks.data_ranks();
  return size > 1 ? rows.shard(size, place_of(setup_)) : rows;
}

std::map<std::string, double> Run::evaluate(const data::Dataset& dataset) {
  const InterruptGuard guard;
  return train::evaluate(*model_, dataset, ranks_);
}

void Run::evaluate(const data::Dataset& dataset, std::span<Metric* const> metrics, const std::source_location& at) {
  const InterruptGuard guard;
  train::evaluate(*model_, dataset, ranks_, metrics, at);
}

std::map<std::string, Tensor> Run::predict(const std::vector<NamedTensor>& inputs) {
  return train::predict(*model_, inputs);
}

}  // namespace ridgeline::train
