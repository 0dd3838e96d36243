#include "network.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "../values.h"
#include "graph_values.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/location_text.h"
#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/infer/names.h"
#include "ridgeline/nn/functional.h"
#include "ridgeline/nn/training_step.h"

namespace ridgeline::python {
namespace {

std::string listed(const data::Schema& schema) {
  std::string text;
  for (const data::Column& column : schema)
    if (column.name != data::kMaskColumn) text += (text.empty() ? "" : ", ") + column.name;
  return text;
}

ValueType type_of(const data::Schema& schema, const std::string& name) {
  const data::Column* column = data::find_column(schema, name);
  if (column == nullptr)
    throw Error("the data have no column '" + name + "' (they have " + listed(schema) + ")", ErrorKind::usage);
  for (const std::int64_t extent : column->shape) {
    if (extent < 0)
      throw Error("column '" + name + "' of the data is " + data::to_string({*column}) +
                      ": a step takes batches of one shape (images: a transform that resizes or crops)",
                  ErrorKind::usage);
  }
  if (column->dtype == DType::bytes)
    throw Error("column '" + name +
                    "' of the data holds byte strings: a step takes numbers (images: Decode, or a "
                    "transform that decodes)",
                ErrorKind::usage);
  return {column->dtype, column->shape};
}

std::vector<std::string> inputs_of(const data::Schema& schema, const Columns& columns) {
  if (!columns.inputs.empty()) return columns.inputs;
  if (data::find_column(schema, data::kImageColumn) != nullptr) return {data::kImageColumn};
  std::vector<std::string> others;
  for (const data::Column& column : schema)
    if (column.name != columns.label && column.name != data::kMaskColumn) others.push_back(column.name);
  if (others.size() == 1) return others;
  throw Error("the data have the columns " + listed(schema) +
                  ": inputs= of the Model names those that the net takes, labels= that of the loss",
              ErrorKind::usage);
}

// The name of a column in the graph.
std::string input_name(const std::string& column) { return column == data::kImageColumn ? infer::kImages : column; }

Value normalised(GraphBuilder& builder, const nn::ModelInfo& model, Value images) {
  const auto reals = [](const std::array<double, 3>& values) {
    return std::vector<double>(values.begin(), values.end());
  };
  return builder.apply("image_tail", {images}, {{"mean", reals(model.mean)}, {"std", reals(model.std)}});
}

Value outputs_of_model(nn::ModelContext& context, const PyNet& net, Value images) {
  const ValueType& type = images.type();
  const bool pixels = type.dtype == DType::u8, numbers = type.dtype == DType::f32;
  if ((!pixels && !numbers) || type.shape.rank() != 4 || type.shape[3] != 3) {
    throw Error("[" + net.name + "] takes images u8 or normalised f32 [N,H,W,3], and the data give " + type.to_string(),
                ErrorKind::usage);
  }
  nn::check_image_size(*net.model, std::min(type.shape[1], type.shape[2]));
  context.images = pixels ? normalised(context.builder, *net.model, images) : images;
  return net.model->build(context, net.options);
}

Value outputs_of(nn::ModelContext& context, const PyNet& net, const BatchForm& form) {
  std::vector<Value> inputs;
  for (const BatchForm::Input& input : form.inputs) inputs.push_back(context.builder.input(input.name, input.type));
  if (net.model != nullptr) return outputs_of_model(context, net, inputs.front());
  const PythonLock locked;
  BuildScope scope(context);
  nb::list arguments;
  for (const Value& input : inputs) arguments.append(nb::cast(input));
  const nb::object result = nb::steal(PyObject_CallObject(net.function->get().ptr(), nb::tuple(arguments).ptr()));
  if (!result.is_valid()) throw nb::python_error();
  scope.calls().finish();
  if (Value value; nb::try_cast(result, value)) return value;
  throw Error("the net " + net.name + " gave " + shown(nb::repr(result)) + "; one value of the graph is meant",
              ErrorKind::usage);
}

// The loss that a Python function returns, f32[] or f32[N].
Value loss_of_function(nn::ModelContext& context, const PyLoss& loss, Value outputs, Value labels, std::int64_t rows) {
  const PythonLock locked;
  BuildScope scope(context);
  const nb::object result = loss.function->get()(nb::cast(outputs), labels.defined() ? nb::cast(labels) : nb::none());
  scope.calls().finish();
  const Value value = value_of_python(result, "what the loss gave");
  const ValueType& type = value.type();
  if (type != ValueType{DType::f32, Shape{}} && type != ValueType{DType::f32, Shape{rows}}) {
    throw Error("the loss is " + type.to_string() + "; f32[" + std::to_string(rows) +
                    "], a number a row of the batch, or f32[] is meant",
                ErrorKind::usage);
  }
  return value;
}

bool of_rows(Value losses) { return losses.shape().rank() == 1; }

Value declared_labels(nn::ModelContext& context, const BatchForm& form) {
  return form.label ? context.builder.input(nn::kLabelsInput, *form.label) : Value();
}

// Labels as the softmax cross-entropy takes them: other integer types, as in NumPy and PyTorch, become i32.
Value softmax_labels(nn::ModelContext& context, const BatchForm& form) {
  const Value labels = declared_labels(context, form);
  if (labels.defined() && labels.dtype() == DType::i64) return nn::cast(labels, DType::i32);
  if (labels.defined() && (labels.dtype() == DType::i32 || labels.dtype() == DType::f32)) return labels;
  throw Error(
      "the loss SoftmaxCrossEntropy needs labels: i32 or i64 [N], or f32 [N,classes], in the column that labels= "
      "of the Model names" +
          (labels.defined() ? "; it is " + labels.type().to_string() : ""),
      ErrorKind::usage);
}

// The loss, f32 [N], of outputs [N,classes]; of outputs per pixel [N,...,classes] the mean over the pixels of a row.
// `mask`: 0 for rows that do not count; undefined: all count.
Value cross_entropy_of_rows(Value outputs, Value labels, Value mask, double label_smoothing) {
  if (outputs.shape().rank() == 2) return nn::softmax_cross_entropy(outputs, labels, mask, label_smoothing).loss;
  const Value losses = nn::softmax_cross_entropy(outputs, labels, {}, label_smoothing).loss;
  nn::AxesOptions pixels;
  for (int axis = 1; axis < losses.shape().rank(); ++axis) pixels.axes.push_back(axis);
  const Value by_row = nn::mean(losses, pixels);
  return mask.defined() ? by_row * mask : by_row;
}

// The number of rows whose largest output is that of the label; for outputs per pixel, the share of each row's pixels.
Value hits(GraphBuilder& builder, Value outputs, Value labels, Value mask) {
  if (outputs.shape().rank() == 2) return builder.apply("argmax_accuracy", {outputs, labels, mask});
  const Shape& shape = labels.shape();
  const std::int64_t all = shape.elements(), rows = shape[0];
  const Value of_pixels = nn::reshape(builder.apply("broadcast_to", {nn::reshape(mask, {rows, 1})},
                                                    {{"shape", std::vector<std::int64_t>{rows, all / rows}}}),
                                      {all});
  return builder.apply("argmax_accuracy",
                       {nn::reshape(outputs, {all, outputs.shape()[-1]}), nn::reshape(labels, {all}), of_pixels}) *
         (static_cast<double>(rows) / static_cast<double>(all));
}

Value training_loss(nn::ModelContext& context, const PyNet& net, const PyLoss& loss, const BatchForm& form) {
  GraphBuilder& builder = context.builder;
  if (form.masked) context.row_mask = nn::cast(builder.input(nn::kMaskInput, {DType::u8, {form.rows}}), DType::f32);
  const Value outputs = outputs_of(context, net, form);
  if (loss.label_smoothing) {
    const Value labels = softmax_labels(context, form);
    return nn::mean_of_rows(context, cross_entropy_of_rows(outputs, labels, context.row_mask, *loss.label_smoothing));
  }
  const Value losses = loss_of_function(context, loss, outputs, declared_labels(context, form), form.rows);
  if (of_rows(losses)) return nn::mean_of_rows(context, form.masked ? losses * context.row_mask : losses);
  if (!form.masked) return losses;
  throw Error(
      "the loss gives one number for a batch, and the last batch of the data is not full: give one loss a row, "
      "or leave the remainder out: batch(..., drop_remainder=True)",
      ErrorKind::usage);
}

void evaluation(nn::ModelContext& context, const PyNet& net, const PyLoss& loss, const BatchForm& form) {
  GraphBuilder& builder = context.builder;
  const Value outputs = outputs_of(context, net, form);
  if (loss.label_smoothing) {
    const Value labels = softmax_labels(context, form);
    const Value mask = builder.input(nn::kMaskInput, {DType::f32, {form.rows}});
    builder.returns("loss_sum", nn::sum(cross_entropy_of_rows(outputs, labels, mask, *loss.label_smoothing)));
    const bool of_rows = outputs.shape().rank() == 2;
    if (labels.dtype() == DType::i32) builder.returns("top_1", hits(builder, outputs, labels, mask));
    if (labels.dtype() == DType::i32 && of_rows) {
      const std::int64_t classes = outputs.shape()[-1];
      builder.returns("top_5", builder.apply("top_k_accuracy", {outputs, labels, mask},
                                             {{"k", std::min<std::int64_t>(5, classes)}}));
    }
    builder.returns(nn::kRowsResult, nn::sum(mask));
    builder.returns(of_rows ? infer::kLogits : "output", outputs);
    return;
  }
  const Value losses = loss_of_function(context, loss, outputs, declared_labels(context, form), form.rows);
  if (of_rows(losses)) {
    const Value mask = builder.input(nn::kMaskInput, {DType::f32, {form.rows}});
    builder.returns("loss_sum", nn::sum(losses * mask));
    builder.returns(nn::kRowsResult, nn::sum(mask));
  } else {  // only full batches: there is no mask, and an incomplete batch is an Error
    const auto rows = static_cast<double>(form.rows);
    builder.returns("loss_sum", losses * rows);
    builder.returns(nn::kRowsResult, builder.constant(rows));
  }
  builder.returns("output", outputs);
}

void prediction(nn::ModelContext& context, const PyNet& net, const PyLoss& loss, const BatchForm& form) {
  const Value outputs = outputs_of(context, net, form);
  const bool classifies = (net.model != nullptr || loss.label_smoothing) && outputs.shape().rank() == 2;
  if (!classifies) return context.builder.returns("output", outputs);
  context.builder.returns(infer::kProbabilities, nn::softmax(outputs));
  context.builder.returns(infer::kLogits, outputs);
}

PyNet model_net(const std::string& name, std::int64_t num_classes, const std::string& init,
                std::optional<double> dropout_keep, std::optional<bool> final_relu, std::int64_t image_size) {
  const nn::ModelInfo& model = nn::model_named(name);
  PyNet net{
      .name = name,
      .model = &model,
      .options = nn::complete_options(
          model, {.num_classes = num_classes, .init = init, .dropout_keep = dropout_keep, .final_relu = final_relu}),
      .image_size = image_size == 0 ? model.image_size : image_size};
  nn::check_image_size(model, net.image_size);
  return net;
}

// [{"name", "doc", "classes", "parameters", "image_size", "mean", "std", "args": [...]}]; args are the model's
// arguments with their defaults.
nb::list model_table() {
  nb::list list;
  for (const nn::ModelInfo& model : nn::all_models()) {
    nb::list arguments;
    const auto add = [&](const char* name, const char* type, nb::object value, const std::string& doc) {
      nb::dict row;
      row["name"] = name;
      row["type"] = type;
      row["default"] = std::move(value);
      row["doc"] = doc;
      arguments.append(row);
    };
    std::string inits;
    for (const std::string_view init : model.inits) inits += (inits.empty() ? "" : ", ") + std::string(init);
    add("num_classes", "int", nb::cast(model.classes), "classes");
    add("init", "str", nb::cast(std::string(model.inits.front())), "how parameters begin: " + inits);
    if (model.dropout_keep != 1)
      add("dropout_keep", "float", nb::cast(model.dropout_keep), "share of elements that dropout keeps, in (0, 1]");
    if (model.has_final_relu) add("final_relu", "bool", nb::cast(true), "whether a relu is on the logits");
    add("image_size", "int", nb::cast(model.image_size),
        "pixels of a side of the images, where no data tell; " + std::to_string(nn::smallest_image_size(model)) +
            " or more");
    nb::dict entry;
    entry["name"] = std::string(model.name);
    entry["doc"] = std::string(model.description);
    entry["classes"] = model.classes;
    entry["parameters"] = model.parameters;
    entry["image_size"] = model.image_size;
    entry["mean"] = nb::cast(std::vector<double>(model.mean.begin(), model.mean.end()));
    entry["std"] = nb::cast(std::vector<double>(model.std.begin(), model.std.end()));
    entry["args"] = arguments;
    list.append(entry);
  }
  return list;
}

}  // namespace

std::string BatchForm::text() const {
  std::string all;
  for (const Input& input : inputs) all += (all.empty() ? "" : ", ") + input.column + " " + input.type.to_string();
  if (label) all += ", label " + label->to_string();
  return all + (masked ? ", the last one not full" : "");
}

BatchForm form_of(const data::Dataset& dataset, const Columns& columns, bool with_label) {
  if (data::batch_node(dataset.graph()) == nullptr)
    throw Error("the data are not batched: .batch(N) makes batches of N rows", ErrorKind::usage);
  const data::Schema schema = dataset.columns();
  BatchForm form{.rows = dataset.batch_size()};
  for (const std::string& column : inputs_of(schema, columns))
    form.inputs.push_back({input_name(column), column, type_of(schema, column)});
  if (with_label && data::find_column(schema, columns.label) != nullptr) form.label = type_of(schema, columns.label);
  const std::int64_t samples = dataset.num_samples_if_known(), batches = dataset.size();
  form.masked = samples <= 0 || batches > samples / form.rows;
  return form;
}

nn::Network network_of(const PyNet& net, const PyLoss& loss, const Columns& columns,
                       std::shared_ptr<const Forms> forms) {
  nn::Network network{.name = net.name};
  if (loss.given()) {
    network.loss = [=](nn::ModelContext& context) { return training_loss(context, net, loss, forms->training); };
    network.evaluate = [=](nn::ModelContext& context) { evaluation(context, net, loss, forms->evaluation); };
  }
  network.predict = [=](nn::ModelContext& context) { prediction(context, net, loss, forms->prediction); };
  network.columns = {{infer::kImages, data::kImageColumn}, {nn::kLabelsInput, columns.label}};
  return network;
}

std::optional<infer::EvaluationTransform> preprocessing_of(const PyNet& net, const BatchForm& form) {
  if (form.inputs.size() != 1 || form.inputs[0].column != data::kImageColumn) return std::nullopt;
  const ValueType& type = form.inputs[0].type;
  if (type.dtype != DType::u8 || type.shape.rank() != 4 || type.shape[3] != 3 || type.shape[1] != type.shape[2])
    return std::nullopt;
  if (net.model != nullptr) return nn::evaluation_transform(*net.model, type.shape[1]);
  const infer::EvaluationTransform usual;
  return infer::EvaluationTransform{
      .resize = static_cast<int>((type.shape[1] * usual.resize + usual.crop / 2) / usual.crop),
      .crop = static_cast<int>(type.shape[1])};
}

void bind_network(nb::module_& m) {
  nb::class_<PyNet>(m, "Net", "What gives the outputs of a batch: a model of the library, or a function of layers.")
      .def_prop_ro(
          "name", [](const PyNet& net) { return net.name; }, "In checkpoints and exported models.")
      .def("__repr__", [](const PyNet& net) {
        if (net.model == nullptr) return net.name;
        return net.name + "(num_classes=" + std::to_string(net.options.num_classes) + ")";
      });
  m.def("model_net", &model_net, nb::arg("name"), nb::arg("num_classes"), nb::arg("init"),
        nb::arg("dropout_keep").none(), nb::arg("final_relu").none(), nb::arg("image_size"));
  m.def("function_net", [](nb::object function, const std::string& name) {
    return PyNet{.name = name, .function = std::make_shared<Held>(std::move(function))};
  });
  m.def("model_table", &model_table);
  nb::class_<PyLoss>(m, "Loss", "What is made small: of the outputs of a net and labels.");
  m.def("softmax_cross_entropy", [](double label_smoothing) {
    if (!(label_smoothing >= 0 && label_smoothing < 1))
      throw Error("label_smoothing is " + std::to_string(label_smoothing) + "; it must lie in [0, 1)",
                  ErrorKind::usage);
    return PyLoss{.label_smoothing = label_smoothing};
  });
  m.def("function_loss", [](nb::object function) { return PyLoss{.function = std::make_shared<Held>(function)}; });
}

}  // namespace ridgeline::python
