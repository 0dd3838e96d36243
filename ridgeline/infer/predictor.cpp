#include "ridgeline/infer/predictor.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "ridgeline/core/bytes.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/infer/loaded_model.h"
#include "ridgeline/infer/names.h"

namespace ridgeline::infer {
namespace {

ValueType returned(const Graph& graph, const char* name, std::int64_t rows) {
  const ValueId id = graph.find_return(name);
  if (id == kNoValue) throw Error(std::string("[predict] the model returns no ") + name);
  const ValueType& type = graph.value(id).type;
  if (type.dtype != DType::f32 || type.shape.rank() != 2 || type.shape[0] != rows) {
    throw Error(std::string("[predict] ") + name + " are " + type.to_string() + "; f32[" + std::to_string(rows) +
                ",classes] is meant");
  }
  return type;
}

Model for_batch(Model model, std::int64_t rows) {
  if (rows < 0) throw Error("[predict] a batch size of " + std::to_string(rows), ErrorKind::usage);
  if (!model.graph.updates.empty()) {
    throw Error("[predict] the graph " + model.graph.name +
                " is a training step: it updates its parameters. Predictions take a model, as 'ridgeline export' "
                "writes it from the run's checkpoint");
  }
  if (rows > 0) model.graph = with_batch_size(model.graph, rows);
  return model;
}

}  // namespace

struct Predictor::State {
  Session session;
  LoadedModel loaded;
  std::optional<Preprocessor> preprocessor;
  std::vector<std::string> class_names;
  ValueType images;
  ValueType result;
  Tensor batch;  // what a run is bound to

  State(const Model& model, const SessionOptions& options)
      : session(options), loaded(session, model), class_names(model.class_names) {
    const Graph& graph = loaded.graph();
    const ValueId id = graph.find_argument(kImages);
    if (id == kNoValue || graph.value(id).kind != ValueKind::input || batch_size_of(graph) < 1) {
      throw Error("[predict] the model has no input images");
    }
    images = graph.value(id).type;
    result = returned(graph, kLogits, rows());
    if (returned(graph, kProbabilities, rows()) != result) {
      throw Error("[predict] logits and probabilities have different numbers of classes");
    }
    if (model.preprocessing) preprocessor.emplace(*model.preprocessing);
    batch = Tensor::zeros(images.dtype, images.shape);
    loaded.program().bind(kImages, batch);
  }

  std::int64_t rows() const { return images.shape[0]; }
  std::size_t row_bytes() const { return images.bytes() / static_cast<std::size_t>(rows()); }
  std::uint8_t* row(std::int64_t i) {
    return static_cast<std::uint8_t*>(batch.raw()) + static_cast<std::size_t>(i) * row_bytes();
  }

  // `fill(i, row)` writes image i; rows after the last image keep their contents.
  template <class F>
  Prediction run(std::int64_t count, F&& fill) {
    const Shape shape = {count, result.shape[1]};
    Prediction prediction{Tensor(DType::f32, shape), Tensor(DType::f32, shape)};
    const std::size_t bytes = static_cast<std::size_t>(result.shape[1]) * sizeof(float);
    for (std::int64_t begin = 0; begin < count; begin += rows()) {
      const std::int64_t part = std::min(rows(), count - begin);
      for (std::int64_t i = 0; i < part; ++i) fill(begin + i, row(i));
      if (!loaded.program().run()) throw Error("[predict] stopped", ErrorKind::interrupted);
      const auto take = [&](const char* name, Tensor& into) {
        const Tensor from = loaded.program().output(name);
        std::memcpy(into.data<float>() + begin * result.shape[1], from.raw(), static_cast<std::size_t>(part) * bytes);
      };
      take(kLogits, prediction.logits);
      take(kProbabilities, prediction.probabilities);
    }
    return prediction;
  }
};

Predictor::Predictor(const Model& model, const PredictorOptions& options)
    : state_(std::make_unique<State>(for_batch(model, options.batch_size), options.session)) {}

Predictor::~Predictor() = default;

const ValueType& Predictor::images() const { return state_->images; }
std::int64_t Predictor::classes() const { return state_->result.shape[1]; }
const std::vector<std::string>& Predictor::class_names() const { return state_->class_names; }

Prediction Predictor::predict(std::span<const std::span<const std::uint8_t>> encoded) {
  if (!state_->preprocessor) throw Error("[predict] the model has no preprocessing: give it tensors");
  return state_->run(static_cast<std::int64_t>(encoded.size()), [&](std::int64_t i, std::uint8_t* row) {
    try {
      state_->preprocessor->run(encoded[static_cast<std::size_t>(i)], row);
    } catch (const Error& error) {
      throw Error("image " + std::to_string(i) + ": " + error.what(), error.kind());
    }
  });
}

Prediction Predictor::predict(const Tensor& images) {
  Shape one = images.shape(), wanted = state_->images.shape;
  if (one.rank() > 0) one[0] = wanted[0];
  if (images.dtype() != state_->images.dtype || one != wanted || images.shape().rank() == 0) {
    throw Error("[predict] images are " + ValueType{images.dtype(), images.shape()}.to_string() + ", the model takes " +
                state_->images.to_string() + ", with any number of rows");
  }
  const auto* bytes = static_cast<const std::uint8_t*>(images.raw());
  const std::size_t size = state_->row_bytes();
  return state_->run(images.shape()[0], [&](std::int64_t i, std::uint8_t* row) {
    std::memcpy(row, bytes + static_cast<std::size_t>(i) * size, size);
  });
}

std::vector<ClassProbability> Predictor::predict_file(const std::string& path) {
  const std::string file = read_file(path);
  const std::span<const std::uint8_t> bytes = as_bytes(file);
  if (!state_->preprocessor) throw Error("[predict] the model has no preprocessing: give it tensors");
  const Prediction one = state_->run(1, [&](std::int64_t, std::uint8_t* row) {
    try {
      state_->preprocessor->run(bytes, row);
    } catch (const Error& error) {
      throw Error(path + ": " + error.what());
    }
  });
  std::vector<ClassProbability> list;
  for (std::int64_t k = 0; k < classes(); ++k) {
    const auto index = static_cast<std::size_t>(k);
    list.push_back({k, index < class_names().size() ? class_names()[index] : std::string(), one.probabilities.at(k),
                    one.logits.at(k)});
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const auto& a, const auto& b) { return a.probability > b.probability; });
  return list;
}

}  // namespace ridgeline::infer
