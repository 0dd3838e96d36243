#include "model.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "model_settings.h"
#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/infer/names.h"
#include "ridgeline/train/estimator.h"

namespace ridgeline::python {
namespace {

BatchForm with_rows(BatchForm form, std::int64_t rows) {
  const auto changed = [rows](ValueType& type) {
    if (type.shape.rank() > 0) type.shape[0] = rows;
  };
  form.rows = rows;
  for (BatchForm::Input& input : form.inputs) changed(input.type);
  if (form.label) changed(*form.label);
  return form;
}

// One row at a time, without labels.
BatchForm prediction_form(const BatchForm& form) {
  BatchForm one = with_rows(form, 1);
  one.label.reset();
  one.masked = false;
  return one;
}

}  // namespace

// A model that does not train.
struct PyModel::Bare {
  Session session;
  train::Model model;
  Bare(const ModelPlan& plan, nn::Network network)
      : session(plan.session), model(session, std::move(network), {.seed = plan.seed, .compile = plan.compile}) {
    model.prepare_prediction();
  }
};

// The last exported model, loaded for predictions; valid until the values change.
struct PyModel::Predicting {
  std::string state;
  infer::Model model;
  std::unique_ptr<infer::Predictor> predictor = nullptr;
  std::unique_ptr<Session> session = nullptr;
  std::unique_ptr<infer::LoadedModel> loaded = nullptr;
  std::int64_t rows = 0;  // of `loaded`
};

PyModel::PyModel(ModelPlan plan) : plan_(std::move(plan)), forms_(std::make_shared<Forms>()), process_(::getpid()) {
  device_named(plan_.session.device);
  plan_.gradients.check();
  if (!(plan_.average >= 0 && plan_.average < 1))
    throw Error(fmt::format("average is {}; it must lie in [0, 1)", plan_.average), ErrorKind::usage);
}

PyModel::~PyModel() {
  if (process_ == ::getpid()) return;
  // After a fork the child does not have the parent's threads, so it cannot end them: leak.
  static_cast<void>(predicting_.release());
  static_cast<void>(run_.release());
  static_cast<void>(bare_.release());
}

PyModel::Work::Work(PyModel& model) : model_(model) {
  if (model.process_ != ::getpid())
    throw Error("the model was made in another process: a process that is forked makes a Model of its own",
                ErrorKind::usage);
  std::thread::id nobody{};
  outer_ = model.at_work_ == std::this_thread::get_id();
  if (!outer_ && !model.at_work_.compare_exchange_strong(nobody, std::this_thread::get_id()))
    throw Error("the model is at work in another thread: one thread at a time may call it", ErrorKind::usage);
}

PyModel::Work::~Work() {
  if (!outer_) model_.at_work_ = std::thread::id{};
}

const BatchForm& PyModel::known_form() const {
  if (forms_->prediction.rows > 0) return forms_->prediction;
  if (plan_.form) return *plan_.form;
  throw Error("the shapes of the net " + plan_.net.name +
                  " follow from data: train or evaluate it, call build(data), or give the Model input_shape=",
              ErrorKind::usage);
}

// The existing model, else one that does not train, for batches of the given format or of the known one.
train::Model& PyModel::any_model(const BatchForm* form) {
  if (run_) return run_->model();
  if (bare_) return bare_->model;
  forms_->prediction = prediction_form(form != nullptr ? *form : known_form());
  bare_ = std::make_unique<Bare>(plan_, network_of(plan_.net, plan_.loss, plan_.columns, forms_));
  return bare_->model;
}

std::int64_t PyModel::first_row() const {
  const OwnRank own = own_rank();
  return train::first_row_of(own.rank, own.size, plan_.batch_parts);
}

// The number of parts in which a rank computes its batch.
std::int64_t PyModel::parts_of(const train::RunRanks& ranks) const {
  return std::max<std::int64_t>(1, plan_.batch_parts / ranks.size());
}

void PyModel::begin(const BatchForm& form, const TrainingLength& length, const Keeping& keeping,
                    const train::RunRanks& ranks) {
  const PyOptimizer& optimizer = *plan_.optimizer;
  const std::int64_t batches = ranks.size() * parts_of(ranks);  // per step, each with its own loss and statistics
  batch_ = form;
  forms_->training = with_rows(form, form.rows / parts_of(ranks));
  forms_->prediction = prediction_form(form);
  auto run = std::make_unique<train::Run>(train::RunSetup{.directory = keeping.directory,
                                                          .seed = plan_.seed,
                                                          .save = keeping.save,
                                                          .session = plan_.session,
                                                          .ranks = ranks,
                                                          .batch_parts = plan_.batch_parts,
                                                          .compile = plan_.compile});
  train::RunStart start{.training = {.optimizer = optimizer.rule,
                                     .schedule = optimizer.rate.at(length),
                                     .weight_decay = optimizer.weight_decay,
                                     .decay_vectors = optimizer.decay_vectors,
                                     .groups = optimizer.groups,
                                     .gradients = plan_.gradients,
                                     .average = plan_.average,
                                     .statistics_ranks = plan_.sync_batch_norm ? batches : 1,
                                     .loss_ranks = batches}};
  if (!loaded_.empty())
    start.fresh = [this](train::Model& model) { model.load_weights(loaded_, {.where = "[load]", .complete = true}); };
  run->begin(network_of(plan_.net, plan_.loss, plan_.columns, forms_), std::move(start));
  run_ = std::move(run);
  bare_.reset();
  predicting_.reset();
  directory_ = keeping.directory;
  loaded_.clear();
}

train::RunResult PyModel::train(std::int64_t epochs, const data::Dataset& dataset, const Keeping& keeping,
                                const std::vector<train::Callback*>& callbacks, const train::EpochOptions& options) {
  if (!plan_.loss.given() || !plan_.optimizer)
    throw Error("the Model has no " + std::string(plan_.loss.given() ? "optimizer" : "loss") +
                    ": train() needs both, Model(net, loss=..., optimizer=...)",
                ErrorKind::usage);
  if (epochs < 1) throw Error(fmt::format("epochs is {}; 1 or more are meant", epochs), ErrorKind::usage);
  RanksAtWork work(plan_.stand_alone);
  return work.run([&] { return train_over(work.ranks(), epochs, dataset, keeping, callbacks, options); });
}

train::RunResult PyModel::train_over(const train::RunRanks& ranks, std::int64_t epochs, const data::Dataset& dataset,
                                     const Keeping& keeping, const std::vector<train::Callback*>& callbacks,
                                     const train::EpochOptions& options) {
  if (ranks.size() > 1) {
    check_part(dataset, ranks.size(), first_row());
    if (options.validation != nullptr) check_part(*options.validation, ranks.size(), first_row());
  }
  const train::Ranks all(ranks.all);
  BatchForm form = form_of(dataset, plan_.columns, true);
  // Ranks may differ by one row.
  form.masked = all.largest(form.masked || options.data.bad_samples.policy == data::BadSamplePolicy::skip ? 1 : 0) > 0;
  const std::int64_t size = dataset.size();
  if (size <= 0) throw Error("the data have no batches, or do not tell how many", ErrorKind::usage);
  if (form.rows % parts_of(ranks) != 0) {
    throw Error(fmt::format("a batch of {} rows on each of {} ranks does not divide into batch_parts={}", form.rows,
                            ranks.size(), plan_.batch_parts),
                ErrorKind::usage);
  }
  std::optional<BatchForm> validation;
  if (options.validation != nullptr) {
    validation = form_of(*options.validation, plan_.columns, true);
    validation->masked = false;  // evaluations always have a mask
  }
  std::vector<std::pair<std::string, std::string>> alike = settings_alike(plan_);
  alike.insert(
      alike.end(),
      {{"epochs", fmt::to_string(epochs)},
       {"batches", fmt::format("{} of {}", size, form.text())},
       {"validation", validation ? fmt::format("{} of {}", options.validation->size(), validation->text()) : "none"},
       {"evaluate_every", fmt::to_string(options.evaluate_every)},
       {"patience", fmt::to_string(options.patience)}});
  all.agree(alike);
  if (!run_) {
    if (plan_.class_names.empty()) plan_.class_names = dataset.class_names();
    begin(form, {.steps_per_epoch = std::max<std::int64_t>(1, size / plan_.gradients.accumulate), .epochs = epochs},
          keeping, ranks);
  } else if (form != batch_) {
    throw Error("the model trains on batches " + batch_.text() + "; these are " + form.text() +
                    ": other ones need a Model of their own",
                ErrorKind::usage);
  } else if (keeping.directory != directory_ && !keeping.directory.empty()) {
    throw Error("the model keeps its checkpoints in " + (directory_.empty() ? "no folder" : directory_) +
                    "; another Checkpoint needs a Model of its own",
                ErrorKind::usage);
  }
  if (validation) {
    if (*validation != forms_->evaluation) run_->model().drop_evaluation();
    forms_->evaluation = *validation;
  }
  training_ = true;
  const struct Over {
    bool& training;
    ~Over() { training = false; }
  } over{training_};
  return run_->train_epochs(epochs, dataset, callbacks, options);
}

std::map<std::string, double> PyModel::evaluate(
    const data::Dataset& dataset, const std::function<std::vector<train::Metric*>(std::int64_t)>& metrics) {
  if (!plan_.loss.given()) throw Error("the Model has no loss: eval() needs one", ErrorKind::usage);
  RanksAtWork work(plan_.stand_alone);
  return work.run([&] { return evaluate_over(work.ranks(), dataset, metrics); });
}

std::map<std::string, double> PyModel::evaluate_over(
    const train::RunRanks& ranks, const data::Dataset& dataset,
    const std::function<std::vector<train::Metric*>(std::int64_t)>& metrics) {
  if (ranks.size() > 1) check_part(dataset, ranks.size(), first_row());
  const train::Ranks all(ranks.all);
  const BatchForm form = form_of(dataset, plan_.columns, true);
  train::Model& model = any_model(&form);
  const BatchForm before = std::exchange(forms_->evaluation, form);
  if (form != before) model.drop_evaluation();
  // Evaluations during a training use its validation data.
  const struct Again {
    PyModel& of;
    train::Model& model;
    const BatchForm& form;
    ~Again() {
      if (!of.training_ || form == of.forms_->evaluation) return;
      model.drop_evaluation();
      of.forms_->evaluation = form;
    }
  } again{*this, model, before};
  std::map<std::string, double> means = train::evaluate(model, dataset, all);
  if (!metrics) return means;
  const Graph& graph = model.evaluation().graph();
  const ValueId logits = graph.find_return(infer::kLogits);
  train::evaluate(model, dataset, all, metrics(logits == kNoValue ? 0 : graph.value(logits).type.shape[-1]));
  return means;
}

void PyModel::build(const data::Dataset& dataset) {
  const BatchForm form = form_of(dataset, plan_.columns, false);
  any_model(&form);
}

std::string PyModel::state_text() { return fmt::format("{} {} {}", trains(), step(), loads_); }

infer::Model PyModel::exported() {
  train::Model& model = any_model(nullptr);
  const nn::Step step = nn::build_prediction_step(model.network());
  infer::Model result;
  model.with_averages([&] { result = infer::capture(model.session().parameters(), step.graph, plan_.net.name); });
  for (NamedTensor& t : result.tensors) t.tensor = t.tensor.clone();
  result.preprocessing = preprocessing_of(plan_.net, forms_->prediction);
  result.class_names = plan_.class_names;
  infer::check_values(result);
  return result;
}

PyModel::Predicting& PyModel::predicting() {
  any_model(nullptr);
  const std::string state = state_text();
  if (!predicting_ || predicting_->state != state)
    predicting_ = std::make_unique<Predicting>(Predicting{.state = state, .model = exported()});
  return *predicting_;
}

std::vector<infer::ClassProbability> PyModel::predict_file(const std::string& path) {
  Predicting& p = predicting();
  if (!p.model.preprocessing) {
    throw Error("predict() of a file needs a net of images u8 [N,S,S,3]; this one takes " + forms_->prediction.text() +
                    ": give it arrays",
                ErrorKind::usage);
  }
  if (!p.predictor)
    p.predictor = std::make_unique<infer::Predictor>(p.model, infer::PredictorOptions{.session = plan_.session});
  return p.predictor->predict_file(path);
}

std::map<std::string, Tensor> PyModel::predict(const std::vector<NamedTensor>& inputs) {
  constexpr std::int64_t kMostRows = 32;  // of one run
  Predicting& p = predicting();
  std::int64_t rows = -1;
  for (const BatchForm::Input& input : forms_->prediction.inputs) {
    const auto given =
        std::find_if(inputs.begin(), inputs.end(), [&](const NamedTensor& t) { return t.name == input.column; });
    if (given == inputs.end()) throw Error("predict() needs the column '" + input.column + "'", ErrorKind::usage);
    Shape one = given->tensor.shape();
    if (one.rank() > 0) one[0] = 1;
    if (given->tensor.dtype() != input.type.dtype || one != input.type.shape)
      throw Error(
          fmt::format("column '{}' is {}; {} with any number of rows in front is meant", input.column,
                      ValueType{given->tensor.dtype(), given->tensor.shape()}.to_string(), input.type.to_string()),
          ErrorKind::usage);
    const std::int64_t own = given->tensor.shape()[0];
    if (rows >= 0 && own != rows)
      throw Error(fmt::format("column '{}' has {} rows, the one before {}", input.column, own, rows), ErrorKind::usage);
    rows = own;
  }
  const std::int64_t part = std::clamp<std::int64_t>(rows, 1, kMostRows);
  if (!p.loaded || p.rows != part) {
    infer::Model model = p.model;
    model.graph = infer::with_batch_size(model.graph, part);
    p.loaded.reset();
    p.session = std::make_unique<Session>(plan_.session);
    p.loaded = std::make_unique<infer::LoadedModel>(*p.session, model, plan_.compile);
    p.rows = part;
  }
  Program& program = p.loaded->program();
  std::map<std::string, Tensor> results;
  std::vector<Tensor> batches;
  for (const BatchForm::Input& input : forms_->prediction.inputs) {
    batches.push_back(
        Tensor::zeros(input.type.dtype, with_rows(forms_->prediction, part).inputs[batches.size()].type.shape));
    program.bind(input.name, batches.back());
  }
  const auto row_bytes = [](const Tensor& tensor) {
    return tensor.shape()[0] == 0 ? 0 : tensor.byte_size() / static_cast<std::size_t>(tensor.shape()[0]);
  };
  for (std::int64_t begin = 0; begin < rows; begin += part) {
    const std::int64_t count = std::min(part, rows - begin);
    for (std::size_t i = 0; i < batches.size(); ++i) {
      const std::string& column = forms_->prediction.inputs[i].column;
      const auto given =
          std::find_if(inputs.begin(), inputs.end(), [&](const NamedTensor& t) { return t.name == column; });
      const std::size_t bytes = row_bytes(batches[i]);
      std::memcpy(batches[i].raw(),
                  static_cast<const char*>(given->tensor.raw()) + static_cast<std::size_t>(begin) * bytes,
                  static_cast<std::size_t>(count) * bytes);
    }
    if (!program.run()) throw Error("[predict] stopped", ErrorKind::interrupted);
    for (const Return& r : program.graph().returns) {
      const Tensor output = program.output(r.name);
      if (output.shape().rank() == 0 || output.shape()[0] != part)
        throw Error(fmt::format("the net's output is {}: predict() needs a row for each row of the inputs",
                                output.shape().to_string()));
      if (begin == 0) {
        Shape shape = output.shape();
        shape[0] = rows;
        results[r.name] = Tensor(output.dtype(), shape);
      }
      const std::size_t bytes = row_bytes(output);
      std::memcpy(static_cast<char*>(results[r.name].raw()) + static_cast<std::size_t>(begin) * bytes, output.raw(),
                  static_cast<std::size_t>(count) * bytes);
    }
  }
  return results;
}

std::vector<NamedTensor> PyModel::values() {
  train::Model& model = any_model(nullptr);
  std::vector<NamedTensor> values;
  for (const nn::ParameterSpec& spec : model.parameters()) {
    if (spec.role != nn::ParameterRole::trainable && spec.role != nn::ParameterRole::statistic) continue;
    values.push_back({spec.name, to_file(spec, model.session().parameters().get(spec.name)).clone()});
  }
  return values;
}

WeightMatch PyModel::load(std::span<const NamedTensor> stored, const WeightRules& rules) {
  if (run_)
    throw Error(
        "load() comes before the first train(): a run that has begun goes on with its own values (weights of "
        "a checkpoint are loaded into a Model of their own)",
        ErrorKind::usage);
  train::Model& model = any_model(nullptr);
  WeightMatch match = model.load_weights(stored, rules);
  ++loads_;
  loaded_ = values();
  return match;
}

std::vector<std::string> PyModel::inputs() const {
  std::vector<std::string> columns;
  for (const BatchForm::Input& input : known_form().inputs) columns.push_back(input.column);
  return columns;
}

std::string PyModel::graph_text() {
  train::Model& model = any_model(nullptr);
  return to_text(run_ ? model.training_graph() : nn::build_prediction_step(model.network()).graph);
}

}  // namespace ridgeline::python
