// Model files and their predictions.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <vector>

#include "bindings/c/ridgeline_infer.h"
#include "bindings/c/src/guard.h"
#include "bindings/c/src/handles.h"
#include "ridgeline/core/error.h"
#include "ridgeline/infer/model_file.h"
#include "ridgeline/infer/predictor.h"

using ridgeline::Error;
using ridgeline::ErrorKind;
using ridgeline::Tensor;
using ridgeline::c::guarded;
using ridgeline::c::put_text;
using ridgeline::c::require;
namespace infer = ridgeline::infer;

namespace ridgeline::c {

struct HeldModel {
  HeldModel(const infer::Model& model, const infer::PredictorOptions& options)
      : predictor(model, options), encoded(model.preprocessing.has_value()) {}
  std::mutex turn;
  infer::Predictor predictor;
  bool encoded;
};

}  // namespace ridgeline::c

using Models = ridgeline::c::Handles<ridgeline::c::HeldModel>;

namespace {

[[noreturn]] void refuse(const std::string& what) { throw Error(what, ErrorKind::usage); }

// Reads only the fields that the caller's header has; the others keep their defaults.
ridgeline_model_options completed(const ridgeline_model_options* given) {
  ridgeline_model_options options;
  ridgeline_model_options_init(&options);
  if (given == nullptr) return options;
  if (given->struct_size < sizeof(size_t) || given->struct_size > 65536) {
    refuse("options.struct_size is " + std::to_string(given->struct_size) + ": call ridgeline_model_options_init");
  }
  std::memcpy(&options, given, std::min(given->struct_size, sizeof options));
  if (options.batch_size < 0 || options.batch_size > 65536) refuse("options.batch_size must be 0 to 65536");
  if (options.threads < 0) refuse("options.threads must be 0 or more");
  if (options.reserved != 0) refuse("options.reserved must be 0");
  return options;
}

void give(const infer::Prediction& prediction, float* probabilities, float* logits) {
  const auto copy = [](const Tensor& from, float* to) {
    if (to != nullptr && from.byte_size() > 0) std::memcpy(to, from.raw(), from.byte_size());
  };
  copy(prediction.probabilities, probabilities);
  copy(prediction.logits, logits);
}

}  // namespace

const char* ridgeline_infer_version(void) { return RIDGELINE_VERSION; }
int ridgeline_infer_abi(void) { return RIDGELINE_INFER_ABI; }
const char* ridgeline_infer_last_error(void) { return ridgeline::c::last_error(); }

ridgeline_status ridgeline_model_options_init(ridgeline_model_options* options) {
  return guarded("ridgeline_model_options_init", [&] {
    require(options, "options");
    *options = {};
    options->struct_size = sizeof *options;
    return RIDGELINE_OK;
  });
}

ridgeline_status ridgeline_model_load(const char* path, const ridgeline_model_options* given, ridgeline_model** model) {
  return guarded("ridgeline_model_load", [&] {
    require(path, "path");
    require(model, "the result");
    const ridgeline_model_options options = completed(given);
    infer::PredictorOptions predictor{.batch_size = options.batch_size};
    predictor.session.compute_threads = options.threads;
    auto made = std::make_shared<ridgeline::c::HeldModel>(infer::read_model(path), predictor);
    *model = reinterpret_cast<ridgeline_model*>(Models::table().add(std::move(made)));
    return RIDGELINE_OK;
  });
}

ridgeline_status ridgeline_model_free(ridgeline_model* model) {
  return guarded("ridgeline_model_free", [&] {
    Models::table().take(model);
    return RIDGELINE_OK;
  });
}

ridgeline_status ridgeline_model_describe(ridgeline_model* model, ridgeline_model_info* info) {
  return guarded("ridgeline_model_describe", [&] {
    const auto held = Models::table().get(model);
    require(info, "info");
    if (info->struct_size < sizeof(size_t) || info->struct_size > 65536) refuse("info.struct_size is not set");
    const ridgeline::ValueType& images = held->predictor.images();
    ridgeline_model_info all = {};
    all.struct_size = info->struct_size;
    all.batch_size = images.shape[0];
    if (images.shape.rank() == 4) {
      all.height = images.shape[1], all.width = images.shape[2], all.channels = images.shape[3];
    }
    all.classes = held->predictor.classes();
    all.dtype = static_cast<int32_t>(images.dtype);
    all.encoded = held->encoded;
    std::memcpy(info, &all, std::min(info->struct_size, sizeof all));
    return RIDGELINE_OK;
  });
}

ridgeline_status ridgeline_model_class_name(ridgeline_model* model, int64_t label, char* buffer, size_t capacity,
                                            size_t* size) {
  return guarded("ridgeline_model_class_name", [&] {
    const auto held = Models::table().get(model);
    if (label < 0 || label >= held->predictor.classes()) {
      refuse("no class has the label " + std::to_string(label) + "; there are " +
             std::to_string(held->predictor.classes()));
    }
    const std::vector<std::string>& names = held->predictor.class_names();
    const auto index = static_cast<std::size_t>(label);
    put_text(index < names.size() ? names[index] : std::string(), buffer, capacity, size);
    return RIDGELINE_OK;
  });
}

ridgeline_status ridgeline_model_predict_encoded(ridgeline_model* model, const void* const* images, const size_t* sizes,
                                                 int64_t count, float* probabilities, float* logits) {
  return guarded("ridgeline_model_predict_encoded", [&] {
    const auto held = Models::table().get(model);
    if (count < 0) refuse("count is " + std::to_string(count));
    if (count > 0) require(images, "images");
    if (count > 0) require(sizes, "sizes");
    std::vector<std::span<const std::uint8_t>> encoded;
    for (int64_t i = 0; i < count; ++i) {
      if (images[i] == nullptr) refuse("images[" + std::to_string(i) + "] is NULL");
      encoded.emplace_back(static_cast<const std::uint8_t*>(images[i]), sizes[i]);
    }
    const std::lock_guard turn(held->turn);
    give(held->predictor.predict(encoded), probabilities, logits);
    return RIDGELINE_OK;
  });
}

ridgeline_status ridgeline_model_predict(ridgeline_model* model, const void* images, int64_t rows, float* probabilities,
                                         float* logits) {
  return guarded("ridgeline_model_predict", [&] {
    const auto held = Models::table().get(model);
    if (rows < 0) refuse("rows is " + std::to_string(rows));
    if (rows == 0) return RIDGELINE_OK;
    require(images, "images");
    const ridgeline::ValueType& type = held->predictor.images();
    ridgeline::Shape shape = type.shape;
    shape[0] = rows;
    const std::lock_guard turn(held->turn);
    give(held->predictor.predict(Tensor::view(const_cast<void*>(images), type.dtype, shape)), probabilities, logits);
    return RIDGELINE_OK;
  });
}
