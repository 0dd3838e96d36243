// Binds the calls of ridgeline.train.Model, close to those of C++.
#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <filesystem>

#include "../arrays.h"
#include "../values.h"
#include "callback.h"
#include "model.h"
#include "model_settings.h"
#include "monitors.h"
#include "ridgeline/core/error.h"
#include "ridgeline/infer/model_file.h"
#include "ridgeline/infer/onnx.h"
#include "ridgeline/train/checkpoint/stored_weights.h"
#include "ridgeline/train/metric/table.h"
#include "ridgeline/train/precision_options.h"
#include "signals.h"
#include "taken.h"

namespace ridgeline::python {
namespace {

// O0 to O3 and auto are levels (amp_level), other names are precision modes.
train::PrecisionOptions precision_of(const std::string& name, const std::string& device) {
  train::PrecisionOptions options{.device = device};
  if (name == "auto" || (name.size() == 2 && name[0] == 'O'))
    options.amp_level = name;
  else
    options.mode = name;
  return options;
}

// A loss scale as text, or a number for a fixed one, optionally in a pair with whether overflowing steps are skipped.
std::optional<optim::LossScale> loss_scale_of(nb::handle given) {
  if (given.is_none()) return std::nullopt;
  double number = 0;
  if (std::string text; nb::try_cast(given, text)) return optim::parse_loss_scale(text);
  if (std::pair<double, bool> fixed; nb::isinstance<nb::tuple>(given) && nb::try_cast(given, fixed))
    return optim::LossScale::fixed(fixed.first, fixed.second);
  if (!PyBool_Check(given.ptr()) && nb::try_cast(given, number)) return optim::LossScale::fixed(number);
  throw Error("loss_scale is " + shown(nb::repr(given)) +
                  "; a number, 'dynamic', 'dynamic,INIT,FACTOR,WINDOW' or 'exponential,...' is meant",
              ErrorKind::usage);
}

std::unique_ptr<PyModel> make_model(const PyNet& net, nb::handle loss, nb::handle optimizer, nb::dict settings) {
  ModelPlan plan{.net = net};
  if (!loss.is_none()) plan.loss = nb::cast<PyLoss>(loss);
  if (!optimizer.is_none()) plan.optimizer = nb::cast<PyOptimizer>(optimizer);
  plan.columns.inputs = taken(settings, "inputs", plan.columns.inputs);
  plan.class_names = taken(settings, "class_names", plan.class_names);
  take_settings(plan, settings);
  if (settings.contains("loss_scale")) {
    plan.gradients.loss_scale = loss_scale_of(settings["loss_scale"]);
    nb::del(settings["loss_scale"]);
  }
  if (const auto name = taken(settings, "precision", std::string()); !name.empty()) {
    const train::PrecisionOptions precision = precision_of(name, plan.session.device);
    plan.compile.precision = train::policy_of(precision);
    if (!plan.gradients.loss_scale && train::scales_loss(precision))
      plan.gradients.loss_scale = optim::LossScale::dynamic();
  }
  const auto shape = taken(settings, "input_shape", std::vector<std::int64_t>());
  const auto type = taken(settings, "input_type", std::string());
  if (!shape.empty()) {
    const std::optional<DType> dtype = parse_dtype(type.empty() ? "f32" : type);
    if (!dtype || *dtype == DType::bytes)
      throw Error("[model] input_type is '" + type + "' (allowed: f32, u8, f64, bf16, f16, i32, i64, bool)",
                  ErrorKind::usage);
    std::vector<std::int64_t> batch{1};
    batch.insert(batch.end(), shape.begin(), shape.end());
    const std::string column = plan.columns.inputs.empty() ? data::kImageColumn : plan.columns.inputs.front();
    plan.form =
        BatchForm{.rows = 1,
                  .inputs = {{column == data::kImageColumn ? infer::kImages : column, column, {*dtype, Shape(batch)}}}};
  } else if (net.model != nullptr) {
    plan.form = BatchForm{
        .rows = 1,
        .inputs = {{infer::kImages, data::kImageColumn, {DType::u8, {1, net.image_size, net.image_size, 3}}}}};
  }
  if (nb::len(settings) > 0)
    throw Error("[model] unknown arguments: " + shown(nb::repr(nb::list(settings.keys()))), ErrorKind::usage);
  return std::make_unique<PyModel>(std::move(plan));
}

// The defaults of the constructor's arguments, from C++.
nb::dict model_defaults() {
  nb::dict all = settings_to_python({.net = {}});
  const train::SaveRules save;
  all["save_steps"] = save.steps;
  all["save_seconds"] = save.seconds;
  all["keep"] = save.keep;
  const train::EpochOptions epochs;
  all["loop"] = epochs.loop;
  all["evaluate_every"] = epochs.evaluate_every;
  all["patience"] = epochs.patience;
  return all;
}

nb::object evaluation_to_python(const std::optional<train::EvaluationRow>& row) {
  if (!row) return nb::none();
  nb::dict result;
  result["step"] = row->step;
  result["loss"] = row->loss;
  if (row->classifies) {
    result["top_1"] = row->top_1;
    result["top_5"] = row->top_5;
  }
  result["rows"] = row->rows;
  return result;
}

nb::dict result_to_python(const train::RunResult& result) {
  nb::dict all;
  all["step"] = result.step;
  all["interrupted"] = result.interrupted;
  all["skipped_steps"] = result.skipped_steps;
  all["loss"] = result.last.step > 0 ? nb::cast(result.last.loss) : nb::none();
  all["evaluation"] = evaluation_to_python(result.evaluation);
  all["checkpoint_path"] = result.checkpoint_path.empty() ? nb::none() : nb::object(to_python(result.checkpoint_path));
  all["best_path"] = result.best_path.empty() ? nb::none() : nb::object(to_python(result.best_path));
  all["log_path"] = result.log_path.empty() ? nb::none() : nb::object(to_python(result.log_path));
  return all;
}

nb::dict train(PyModel& model, std::int64_t epochs, const PyDataset& dataset, nb::list callbacks, nb::handle owner,
               nb::dict options) {
  const PyModel::Work work(model);
  if (model.training_now()) throw Error("train() is called by a callback of the running train()", ErrorKind::usage);
  PyModel::Keeping keeping;
  if (const nb::object directory = options.contains("directory") ? nb::object(options["directory"]) : nb::none();
      !directory.is_none())
    keeping.directory = text_of(directory);
  if (options.contains("directory")) nb::del(options["directory"]);
  keeping.save.steps = taken(options, "save_steps", keeping.save.steps);
  keeping.save.seconds = taken(options, "save_seconds", keeping.save.seconds);
  keeping.save.keep = taken(options, "keep", keeping.save.keep);
  train::EpochOptions epoch_options;
  epoch_options.loop = taken(options, "loop", epoch_options.loop);
  epoch_options.evaluate_every = taken(options, "evaluate_every", epoch_options.evaluate_every);
  epoch_options.patience = taken(options, "patience", epoch_options.patience);
  std::optional<PyDataset> validation;
  if (const nb::object given = options.contains("validation") ? nb::object(options["validation"]) : nb::none();
      !given.is_none())
    validation = nb::cast<PyDataset>(given);
  if (options.contains("validation")) nb::del(options["validation"]);
  if (validation) epoch_options.validation = &validation->dataset;
  for (const char* own : {"epochs", "pad_last", "raw_images"}) {  // which follow from the step
    if (options.contains(own))
      throw Error("data_options: '" + std::string(own) + "' is set by the training itself", ErrorKind::usage);
  }
  set_iterator_options(epoch_options.data, options);
  const nb::object view = nb::cast(PyRunView{.context = nullptr, .model = nb::borrow(owner)});
  std::vector<std::unique_ptr<PythonCallback>> own;
  std::vector<train::Callback*> pointers;
  std::vector<std::shared_ptr<train::Callback>> natives;
  for (nb::handle callback : callbacks) {
    if (nb::isinstance<NativeCallback>(callback)) {
      pointers.push_back(natives.emplace_back(nb::cast<const NativeCallback&>(callback).callback).get());
    } else {
      pointers.push_back(own.emplace_back(std::make_unique<PythonCallback>(callback, view)).get());
    }
  }
  bool signalled = false;
  const train::RunResult result =
      with_signals([&] { return model.train(epochs, dataset.dataset, keeping, pointers, epoch_options); }, &signalled);
  nb::cast<PyRunView&>(view).model.reset();
  // The exception that ended another rank also ends this rank's program.
  if (result.interrupted && !signalled && result.ranks > 1)
    throw Error("the run was interrupted on another rank", ErrorKind::interrupted);
  return result_to_python(result);
}

// A metric implemented by a Python object: clear(), update(batch), value().
class PythonMetric : public train::Metric {
 public:
  explicit PythonMetric(nb::object object) : Metric(0), object_(std::move(object)) {}
  void update(const train::MetricBatch& batch) override {
    const PythonLock locked;
    const auto arrays = [](const auto& tensors) {
      nb::dict all;
      for (const auto& [name, tensor] : tensors) all[name.c_str()] = to_numpy(tensor.clone());
      return all;
    };
    object_.get().attr("update")(arrays(batch.inputs), arrays(batch.outputs), to_numpy(batch.mask.clone()));
  }
  Tensor value() const override { throw Error("the value of a metric of Python's is its own"); }
  nb::handle object() const { return object_.get(); }

 private:
  Held object_;
};

nb::dict evaluate(PyModel& model, const PyDataset& dataset, const std::vector<std::string>& names, nb::list own) {
  const PyModel::Work work(model);
  train::check_metric_names(names);
  if (nb::len(own) > 0 && model.own_rank().size > 1)
    throw Error(
        "metrics: an object of one's own counts the rows of one rank alone; of several ranks those of "
        "ridgeline.train.metrics() are added up",
        ErrorKind::usage);
  std::vector<train::NamedMetric> made;
  std::vector<std::unique_ptr<PythonMetric>> written;
  for (nb::handle metric : own) {
    metric.attr("clear")();
    written.push_back(std::make_unique<PythonMetric>(nb::borrow(metric)));
  }
  std::function<std::vector<train::Metric*>(std::int64_t)> metrics;
  if (names.size() + written.size() > 0) {
    metrics = [&](std::int64_t classes) {
      std::vector<train::Metric*> all;
      if (!names.empty()) made = train::metrics_named(names, classes);
      for (const train::NamedMetric& metric : made) all.push_back(metric.metric.get());
      for (const auto& metric : written) all.push_back(metric.get());
      return all;
    };
  }
  nb::dict result;
  const std::map<std::string, double> means = with_signals([&] { return model.evaluate(dataset.dataset, metrics); });
  for (const auto& [name, value] : means) result[name.c_str()] = value;
  for (const train::NamedMetric& metric : made) {
    const Tensor value = metric.metric->value();
    result[metric.name.c_str()] =
        value.shape().rank() == 0 ? nb::cast(value.at(0)) : nb::object(to_numpy(value.clone()));
  }
  for (const auto& metric : written) {
    const nb::object type = metric->object().attr("__class__").attr("__name__");
    const nb::object name = nb::getattr(metric->object(), "name", type);
    result[name] = metric->object().attr("value")();
  }
  return result;
}

nb::dict match_to_python(const WeightMatch& match) {
  nb::dict all;
  all["loaded"] = nb::cast(match.loaded);
  all["missing"] = nb::cast(match.missing);
  all["unexpected"] = nb::cast(match.unexpected);
  all["excluded"] = nb::cast(match.excluded);
  all["prefix"] = match.prefix;
  return all;
}

nb::dict load(PyModel& model, nb::handle from, const std::vector<std::string>& exclude, bool complete) {
  const PyModel::Work work(model);
  std::vector<NamedTensor> stored;
  std::string where = "[load]";
  if (PyDict_Check(from.ptr())) {
    for (const auto& [name, values] : nb::borrow<nb::dict>(from))
      stored.push_back({text_of(name), from_numpy("'" + text_of(name) + "'", values)});
  } else {
    const std::string path = text_of(from);
    const nb::gil_scoped_release unlocked;
    train::StoredWeights weights = train::read_weights(path, {});
    where += " " + weights.path;
    stored = std::move(weights.tensors);
  }
  const nb::gil_scoped_release unlocked;
  const WeightMatch match = model.load(stored, {.where = where, .exclude = exclude, .complete = complete});
  const PythonLock locked;
  return match_to_python(match);
}

// Reads {name: array} from a file or the newest checkpoint of a folder, without optimizer state; and writes it.
nb::dict read_weights(nb::handle from) {
  const std::string path = text_of(from);
  std::vector<NamedTensor> tensors;
  {
    const nb::gil_scoped_release unlocked;
    tensors = train::read_weights(path, {}).tensors;
  }
  nb::dict all;
  for (const NamedTensor& t : tensors) all[to_python(t.name)] = to_numpy(t.tensor);
  return all;
}

void write_weights(nb::handle to, nb::dict values) {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, array] : values)
    tensors.push_back({text_of(name), from_numpy("'" + text_of(name) + "'", array)});
  write_safetensors(text_of(to), tensors);
}

void export_model(PyModel& model, nb::handle to) {
  const PyModel::Work work(model);
  if (model.own_rank().rank != 0) return;  // only the main rank writes
  const std::string path = text_of(to);
  const std::string ending = std::filesystem::path(path).extension().string();
  const nb::gil_scoped_release unlocked;
  if (ending == ".rdgm") return infer::write_model(path, model.exported());
  if (ending == ".onnx") return infer::write_onnx(path, model.exported());
  if (ending == ".safetensors") return write_safetensors(path, model.values());
  throw Error("export to " + path + ": the ending says what it becomes (allowed: .rdgm, .onnx, .safetensors)",
              ErrorKind::usage);
}

nb::list predict_file(PyModel& model, nb::handle from) {
  const PyModel::Work work(model);
  const std::string path = text_of(from);
  const auto classes = with_signals([&] { return model.predict_file(path); });
  nb::list list;
  for (const infer::ClassProbability& c : classes)
    list.append(nb::make_tuple(c.label, to_python(c.name), c.probability, c.logit));
  return list;
}

nb::dict predict(PyModel& model, nb::dict columns) {
  const PyModel::Work work(model);
  std::vector<NamedTensor> inputs;
  for (const auto& [name, values] : columns)
    inputs.push_back({text_of(name), from_numpy("column '" + text_of(name) + "'", values)});
  const auto results = with_signals([&] { return model.predict(inputs); });
  nb::dict all;
  for (const auto& [name, tensor] : results) all[name.c_str()] = to_numpy(tensor);
  return all;
}

nb::dict parameters(PyModel& model) {
  const PyModel::Work work(model);
  std::vector<NamedTensor> values;
  {
    const nb::gil_scoped_release unlocked;
    values = model.values();
  }
  nb::dict all;
  for (const NamedTensor& value : values) all[to_python(value.name)] = to_numpy(value.tensor);
  return all;
}

}  // namespace

void bind_model(nb::module_& m) {
  nb::class_<PyModel>(m, "TrainModel")
      .def("train", &train)
      .def("evaluate", &evaluate)
      .def("build",
           [](PyModel& model, const PyDataset& dataset) {
             const PyModel::Work work(model);
             const nb::gil_scoped_release unlocked;
             model.build(dataset.dataset);
           })
      .def("predict", &predict)
      .def("predict_file", &predict_file)
      .def("parameters", &parameters)
      .def("load", &load)
      .def("export", &export_model)
      .def("graph_text",
           [](PyModel& model) {
             const PyModel::Work work(model);
             const nb::gil_scoped_release unlocked;
             return model.graph_text();
           })
      .def("inputs", [](PyModel& model) { return model.inputs(); })
      .def_prop_ro("step", [](const PyModel& model) { return model.step(); })
      .def_prop_ro("rank", [](const PyModel& model) { return model.own_rank().rank; })
      .def_prop_ro("ranks", [](const PyModel& model) { return model.own_rank().size; })
      .def_prop_ro("first_row", [](const PyModel& model) { return model.first_row(); })
      .def_prop_ro("device", [](const PyModel& model) { return model.device(); })
      .def_prop_ro("net", [](const PyModel& model) { return model.plan().net; })
      .def_prop_ro("optimizer", [](const PyModel& model) { return model.plan().optimizer; });
  m.def("make_model", &make_model, nb::arg("net"), nb::arg("loss").none(), nb::arg("optimizer").none(),
        nb::arg("settings"));
  m.def("model_defaults", &model_defaults);
  m.def("read_weights", &read_weights);
  m.def("write_weights", &write_weights);
  m.def("device_table", [] {
    nb::list list;
    for (const DeviceEntry* entry : devices())
      list.append(nb::make_tuple(std::string(entry->name), std::string(entry->doc)));
    return list;
  });
  m.def("metric_table", [] {
    nb::list list;
    for (const train::MetricEntry& entry : train::metric_table())
      list.append(nb::make_tuple(std::string(entry.name), std::string(entry.what)));
    return list;
  });
}

}  // namespace ridgeline::python
