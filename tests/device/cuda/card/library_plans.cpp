#include "tests/device/cuda/card/library_plans.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>

#include "ridgeline/device/cuda/cublas/node.h"
#include "ridgeline/device/cuda/cudnn/blocks.h"
#include "ridgeline/device/cuda/cudnn/node.h"
#include "ridgeline/device/cuda/cudnn/planner.h"
#include "tests/device/cuda/card/card_memory.h"
#include "tests/device/cuda/plans/model_layers.h"

namespace ridgeline::cuda {
namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t{512} << 20;

// One way to compute a layer.
struct Attempt {
  std::string name;
  std::size_t workspace_bytes = 0;
  bool compiled = false;   // at run time
  double build_seconds = 0;
  std::function<void(void* const* inputs, void* const* outputs, void* workspace)> run;
};

std::string short_text(const ModelLayer& layer) {
  std::string text = layer.node.op;
  for (const ValueType& type : layer.inputs) text += " " + type.to_string();
  text += " ->";
  for (const ValueType& type : layer.outputs) text += " " + type.to_string();
  if (const ridgeline::Attribute* stride = layer.node.attributes.find("stride")) text += " stride " + to_string(*stride);
  return text;
}

class Libraries {
 public:
  explicit Libraries(const PlansOnCard& card)
      : card_(card), target_(cudnn::Target::current_card(card.cudnn)), blas_(nullptr, card.cublas.destroy) {
    card.cudnn.check(card.cudnn.set_stream(target_.handle(), card.stream), "cuDNN takes a stream");
    void* handle = nullptr;
    card.cublas.check(card.cublas.create(&handle), "cuBLASLt opens the card");
    blas_.reset(handle);
  }

  // At most `most`; of those that are compiled at run time at most `most_compiled`. `why` tells why there is none.
  std::vector<Attempt> attempts(const ModelLayer& layer, bool tf32, std::size_t most, std::size_t most_compiled,
                                std::string& why) {
    return layer.dense() ? products(layer, tf32, most, why) : convolutions(layer, tf32, most, most_compiled, why);
  }

 private:
  std::vector<Attempt> convolutions(const ModelLayer& layer, bool tf32, std::size_t most, std::size_t most_compiled,
                                    std::string& why) {
    const cudnn::Convolution convolution = cudnn::convolution_of(layer.node, layer.inputs, layer.outputs);
    const std::vector<cudnn::ConvolutionValue> values = cudnn::values_of(convolution);
    std::vector<Attempt> attempts;
    try {
      cudnn::PlanRules rules;
      rules.tensor_cores = tf32 || convolution.operands != DType::f32;
      cudnn::Candidates candidates(target_, cudnn::graph_of(card_.cudnn, convolution), rules);
      std::size_t compiled = 0;
      while (attempts.size() < most) {
        const double begin = card_.seconds();
        std::optional<cudnn::Plan> plan = candidates.next();
        if (!plan) break;
        Attempt attempt{plan->name(), plan->workspace_bytes(),
                        plan->notes().has(cudnn::BehaviorNote::compiled_at_run_time), card_.seconds() - begin};
        const auto shared = std::make_shared<cudnn::Plan>(std::move(*plan));
        attempt.run = [this, shared, values](void* const* inputs, void* const* outputs, void* workspace) {
          std::vector<std::int64_t> ids;
          std::vector<void*> addresses;
          for (const cudnn::ConvolutionValue& value : values) {
            ids.push_back(value.id);
            addresses.push_back((value.result ? outputs : inputs)[value.index]);
          }
          shared->run(target_.handle(), ids, addresses, workspace);
        };
        compiled += attempt.compiled ? 1 : 0;
        attempts.push_back(std::move(attempt));
        if (compiled >= most_compiled) break;
      }
      if (attempts.empty()) why = candidates.why_none();
    } catch (const cudnn::Failure& failure) {
      why = failure.what();
    }
    return attempts;
  }

  std::vector<Attempt> products(const ModelLayer& layer, bool tf32, std::size_t most, std::string& why) {
    cublas::Product product = cublas::product_of(layer.node, layer.inputs, layer.outputs);
    product.tf32 = tf32 && product.operands == DType::f32;
    std::vector<Attempt> attempts;
    try {
      const auto plan = std::make_shared<cublas::ProductPlan>(card_.cublas, blas_.get(), product,
                                                              std::size_t{64} << 20, static_cast<int>(most));
      for (std::size_t i = 0; i < plan->algorithms(); ++i) {
        plan->choose(i);
        Attempt attempt{plan->name(), plan->workspace_bytes()};
        attempt.run = [this, plan, product, i](void* const* inputs, void* const* outputs, void* workspace) {
          plan->choose(i);
          plan->run(cublas::addresses_of(product, inputs, outputs), workspace, card_.stream);
        };
        attempts.push_back(std::move(attempt));
      }
    } catch (const cublas::Failure& failure) {
      why = failure.what();
    }
    return attempts;
  }

  const PlansOnCard& card_;
  cudnn::Target target_;
  std::unique_ptr<void, int (*)(void*)> blas_;
};

// Operands and results of a layer on the card.
struct LayerMemory {
  std::vector<std::unique_ptr<CardMemory>> inputs, outputs;
  std::vector<void*> input_addresses, output_addresses;
  LayerMemory(Calls& calls, const ModelLayer& layer) {
    for (const ValueType& type : layer.inputs) {
      input_addresses.push_back(inputs.emplace_back(std::make_unique<CardMemory>(calls, type.bytes()))->address());
    }
    for (const ValueType& type : layer.outputs) {
      output_addresses.push_back(outputs.emplace_back(std::make_unique<CardMemory>(calls, type.bytes()))->address());
    }
  }
};

void synchronize(const PlansOnCard& card) {
  card.calls.make("cuStreamSynchronize", "a layer", &Driver::stream_synchronize, card.stream);
}

// ---- small layers

ModelLayer layer_of(std::string op, Attributes attributes, std::vector<ValueType> inputs) {
  ModelLayer layer;
  layer.node.op = op;
  layer.node.attributes = complete_attributes(op_def(op), attributes);
  layer.inputs = std::move(inputs);
  layer.outputs = infer_types(op_def(op), layer.inputs, layer.node.attributes, "small");
  return layer;
}

struct SmallConvolution {
  Shape image, filter;
  std::vector<std::int64_t> stride, pad;
  std::int64_t groups = 1;
};

const SmallConvolution kSmall[] = {
    {{2, 12, 12, 32}, {48, 3, 3, 32}, {1, 1}, {1, 1, 1, 1}},
    {{2, 35, 35, 8}, {32, 11, 11, 8}, {4, 4}, {2, 2, 2, 2}},
    {{2, 29, 29, 3}, {32, 7, 7, 3}, {2, 2}, {3, 3, 3, 3}},
    {{2, 14, 14, 32}, {64, 1, 1, 32}, {2, 2}, {0, 0, 0, 0}},
    {{2, 9, 9, 32}, {64, 5, 5, 32}, {1, 1}, {2, 2, 2, 2}},
    {{3, 13, 13, 32}, {32, 3, 3, 1}, {1, 1}, {1, 1, 1, 1}, 32},
    {{2, 13, 12, 32}, {32, 3, 3, 32}, {2, 2}, {1, 1, 1, 1}},
};

struct SmallLayer {
  std::string name;
  ModelLayer layer;
};

std::vector<SmallLayer> small_layers(DType type) {
  std::vector<SmallLayer> layers;
  const bool narrow = type != DType::f32;
  for (const SmallConvolution& small : kSmall) {
    const bool first = &small == kSmall;
    Attributes common{{"stride", small.stride}, {"pad", small.pad}, {"groups", small.groups}};
    const ValueType image{type, small.image}, filter{type, small.filter}, bias{type, {small.filter[0]}};
    Attributes relu = common;
    relu.set("activation", std::string("relu"));
    const ModelLayer plain = layer_of("conv2d", common, {image, filter});
    const ValueType result = plain.outputs[0];
    layers.push_back({"forward", plain});
    layers.push_back({"forward bias relu", layer_of("conv2d", relu, {image, filter, bias})});
    if (first) layers.push_back({"forward bias addend relu", layer_of("conv2d", relu, {image, filter, bias, result})});
    if (first && narrow) {
      layers.push_back({"forward f32 bias relu", layer_of("conv2d", relu, {image, filter, {DType::f32, bias.shape}})});
    }
    Attributes data = common;
    data.set("input", small.image.dims());
    layers.push_back({"data", layer_of("conv2d_bwd_data", data, {result, filter})});
    if (first) layers.push_back({"data gate", layer_of("conv2d_bwd_data", data, {result, filter, image})});
    Attributes weights = common;
    weights.set("kernel", std::vector<std::int64_t>{small.filter[1], small.filter[2]});
    layers.push_back({"filter", layer_of("conv2d_bwd_weights", weights, {image, result})});
    if (first && narrow) {
      weights.set("f32_results", true);
      layers.push_back({"filter to f32", layer_of("conv2d_bwd_weights", weights, {image, result})});
    }
  }
  const ValueType x{type, {24, 96}}, w{type, {40, 96}}, dy{type, {24, 40}}, b{type, {40}};
  Attributes relu{{"activation", std::string("relu")}};
  layers.push_back({"dense", layer_of("dense", {}, {x, w})});
  layers.push_back({"dense bias relu", layer_of("dense", relu, {x, w, b})});
  layers.push_back({"dense bias addend relu", layer_of("dense", relu, {x, w, b, dy})});
  if (narrow) layers.push_back({"dense f32 bias relu", layer_of("dense", relu, {x, w, {DType::f32, {40}}})});
  layers.push_back({"dense data", layer_of("dense_bwd_data", {}, {dy, w})});
  layers.push_back({"dense weights", layer_of("dense_bwd_weights", {}, {x, dy})});
  layers.push_back({"dense weights bias", layer_of("dense_bwd_weights", {{"bias", true}}, {x, dy})});
  if (narrow) {
    layers.push_back({"dense weights to f32", layer_of("dense_bwd_weights", {{"f32_results", true}}, {x, dy})});
    layers.push_back({"dense weights bias to f32",
                      layer_of("dense_bwd_weights", {{"f32_results", true}, {"bias", true}}, {x, dy})});
  }
  return layers;
}

// Of the largest value: rounding of the result, of the operands where they are rounded, and of sums.
double band(DType operands, DType written, bool tf32) {
  if (written == DType::bf16) return 6e-3;
  if (written == DType::f16) return 1e-3;
  return tf32 ? 2e-3 : operands == DType::f32 ? 1e-5 : 1e-4;
}

struct Difference {
  double relative = 0;
  std::int64_t nans_expected = 0, nans_wrong = 0;
};

Difference difference(const Tensor& got, const Tensor& expected) {
  Difference d;
  double largest = 0, error = 0;
  for (std::int64_t i = 0; i < got.elements(); ++i) {
    const double g = got.at(i), e = expected.at(i);
    d.nans_expected += std::isnan(e);
    d.nans_wrong += std::isnan(e) != std::isnan(g);
    if (std::isnan(e) || std::isnan(g)) continue;
    largest = std::max(largest, std::abs(e));
    error = std::max(error, std::abs(g - e));
  }
  d.relative = largest > 0 ? error / largest : error;
  return d;
}

void put_nan(Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::bf16: tensor.data<bfloat16>()[5] = {0x7fc0}; break;
    case DType::f16: tensor.data<float16>()[5] = {0x7e00}; break;
    default: tensor.data<float>()[5] = std::numeric_limits<float>::quiet_NaN();
  }
}

// Runs one attempt on the inputs and tells the results.
std::vector<Tensor> run_on_card(const PlansOnCard& card, const ModelLayer& layer, const Attempt& attempt,
                                const std::vector<Tensor>& inputs, LayerMemory& memory, void* workspace) {
  for (std::size_t i = 0; i < inputs.size(); ++i) memory.inputs[i]->upload(inputs[i], card.stream);
  attempt.run(memory.input_addresses.data(), memory.output_addresses.data(), workspace);
  synchronize(card);
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < layer.outputs.size(); ++i) {
    Tensor& output = outputs.emplace_back(layer.outputs[i].dtype, layer.outputs[i].shape);
    memory.outputs[i]->download(output, card.stream);
  }
  return outputs;
}

bool same_bytes(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(a[i].raw(), b[i].raw(), a[i].byte_size()) != 0) return false;
  }
  return true;
}

}  // namespace

int check_small_layers(const PlansOnCard& card) {
  Libraries libraries(card);
  const CardMemory workspace(card.calls, kWorkspaceBytes);
  int failed = 0;
  for (const auto& [type, tf32, type_name] :
       std::vector<std::tuple<DType, bool, std::string>>{{DType::f32, false, "f32"},
                                                         {DType::f32, true, "tf32"},
                                                         {DType::bf16, false, "bf16"},
                                                         {DType::f16, false, "f16"}}) {
    for (const auto& [name, layer] : small_layers(type)) {
      const std::string title = fmt::format("{} {} [{}]", type_name, name, short_text(layer));
      std::string why;
      const std::vector<Attempt> attempts = libraries.attempts(layer, tf32, 3, 1, why);
      if (attempts.empty()) {
        card.say(fmt::format("refused {}: {}", title, why));
        continue;
      }
      std::vector<Tensor> inputs;
      for (const ValueType& input : layer.inputs) inputs.push_back(random_tensor(input, inputs.size() + 1));
      const OpDef& def = op_def(layer.node.op);
      const std::vector<Tensor> expected = run_reference(def, inputs, layer.node.attributes, "small");
      std::vector<Tensor> nan_inputs;
      for (const Tensor& input : inputs) nan_inputs.push_back(input.clone());
      put_nan(nan_inputs[0]);
      if (layer.node.op == "conv2d_bwd_data" && inputs.size() == 3) put_nan(nan_inputs[2]);
      const std::vector<Tensor> nan_expected = run_reference(def, nan_inputs, layer.node.attributes, "small");
      LayerMemory memory(card.calls, layer);
      for (const Attempt& attempt : attempts) {
        try {
          std::vector<Tensor> got = run_on_card(card, layer, attempt, inputs, memory, workspace.address());
          double worst = 0;
          bool inside = true;
          for (std::size_t i = 0; i < got.size(); ++i) {
            const Difference d = difference(got[i], expected[i]);
            worst = std::max(worst, d.relative);
            inside = inside && d.nans_wrong == 0 && d.relative <= band(type, layer.outputs[i].dtype, tf32);
          }
          bool repeats = true;
          for (int i = 0; i < 2; ++i) {
            repeats = repeats &&
                      same_bytes(got, run_on_card(card, layer, attempt, inputs, memory, workspace.address()));
          }
          const std::vector<Tensor> nan_got =
              run_on_card(card, layer, attempt, nan_inputs, memory, workspace.address());
          Difference nans;
          for (std::size_t i = 0; i < got.size(); ++i) {
            const Difference d = difference(nan_got[i], nan_expected[i]);
            nans.nans_expected += d.nans_expected;
            nans.nans_wrong += d.nans_wrong;
          }
          const bool good = inside && repeats;
          failed += good ? 0 : 1;
          card.say(fmt::format("{} {}: {}{} error {:.2e}{}{}, NaN {} of {} wrong", good ? "ok" : "FAILED", title,
                               attempt.name, attempt.compiled ? " compiled" : "", worst, inside ? "" : " OUTSIDE",
                               repeats ? "" : " BITS DIFFER", nans.nans_wrong, nans.nans_expected));
        } catch (const std::exception& error) {
          ++failed;
          card.say(fmt::format("FAILED {}: {}: {}", title, attempt.name, error.what()));
        }
      }
    }
  }
  return failed;
}

// ---- time of the models' layers

namespace {

class Timer {
 public:
  explicit Timer(const PlansOnCard& card) : card_(card) {
    card.calls.make("cuEventCreate", "a timer", &Driver::event_create, &from_, true);
    card.calls.make("cuEventCreate", "a timer", &Driver::event_create, &to_, true);
  }
  ~Timer() {
    card_.calls.answer("cuEventDestroy", &Driver::event_destroy, from_);
    card_.calls.answer("cuEventDestroy", &Driver::event_destroy, to_);
  }
  // Milliseconds of one run.
  double measure(const std::function<void()>& run, int times) {
    card_.calls.make("cuEventRecord", "a timer", &Driver::event_record, from_, card_.stream);
    for (int i = 0; i < times; ++i) run();
    card_.calls.make("cuEventRecord", "a timer", &Driver::event_record, to_, card_.stream);
    card_.calls.make("cuEventSynchronize", "a timer", &Driver::event_synchronize, to_);
    float milliseconds = 0;
    card_.calls.make("cuEventElapsedTime", "a timer", &Driver::event_elapsed, &milliseconds, from_, to_);
    return static_cast<double>(milliseconds) / times;
  }

 private:
  const PlansOnCard& card_;
  EventHandle from_ = nullptr, to_ = nullptr;
};

// FLOPs and bytes a second of an H100 (SXM).
double rate_of(DType type, bool tf32) { return type != DType::f32 ? 790e12 : tf32 ? 400e12 : 51e12; }
constexpr double kBytesPerSecond = 3.0e12;

double limit_ms(const ModelLayer& layer, bool tf32) {
  double bytes = 0;
  for (const ValueType& type : layer.inputs) bytes += static_cast<double>(type.bytes());
  for (const ValueType& type : layer.outputs) bytes += static_cast<double>(type.bytes());
  const double flops = layer.dense() ? cublas::product_of(layer.node, layer.inputs, layer.outputs).flops()
                                     : cudnn::convolution_of(layer.node, layer.inputs, layer.outputs).flops();
  return 1e3 * std::max(flops / rate_of(layer.inputs[0].dtype, tf32), bytes / kBytesPerSecond);
}

struct Variant {
  std::string name;  // empty: as the graph has it
  ModelLayer layer;
};

// As the graph has it; with bias or result in the operands' type; and of first layers over blocks of pixels.
std::vector<Variant> variants_of(const ModelLayer& layer) {
  std::vector<Variant> variants;
  ModelLayer same = layer;
  if (same.node.op == "conv2d_bwd_weights") {  // the bias gradient is another kernel's
    same.outputs.resize(1);
    same.node.attributes.set("bias", false);
  }
  ModelLayer graph = same;
  const DType type = layer.inputs[0].dtype;
  bool changed = false;
  if (same.node.op == "conv2d" || same.node.op == "dense") {
    for (std::size_t i = 2; i < same.inputs.size(); ++i) {
      changed = changed || same.inputs[i].dtype != type;
      same.inputs[i].dtype = type;
    }
  }
  for (ValueType& output : same.outputs) {
    changed = changed || output.dtype != type;
    output.dtype = type;
  }
  variants.push_back({"", graph});
  if (changed) variants.push_back({"same type", same});
  if (!layer.dense() && layer.node.op != "conv2d_bwd_data" && layer.inputs[0].shape[3] == 3) {
    const auto blocks = cudnn::blocks_of(cudnn::convolution_of(same.node, same.inputs, same.outputs));
    if (!blocks) return variants;
    ModelLayer blocked = same;
    const cudnn::Convolution& c = blocks->convolution;
    blocked.inputs[0].shape = c.image;
    (layer.node.op == "conv2d" ? blocked.inputs[1] : blocked.outputs[0]).shape = c.filter;
    blocked.node.attributes.set("stride", std::vector<std::int64_t>{1, 1});
    blocked.node.attributes.set("pad", std::vector<std::int64_t>{0, 0, 0, 0});
    if (layer.node.op != "conv2d") {
      blocked.node.attributes.set("kernel", std::vector<std::int64_t>{c.filter[1], c.filter[2]});
    }
    variants.push_back({"blocks", blocked});
  }
  return variants;
}

struct Sums {
  double chosen = 0, best = 0, limit = 0;
};

}  // namespace

void time_model_layers(const PlansOnCard& card, const std::vector<TimedModel>& models, const std::vector<DType>& types,
                       bool tf32, int plans, double budget) {
  Libraries libraries(card);
  Timer timer(card);
  const CardMemory workspace(card.calls, kWorkspaceBytes);
  const double begin = card.seconds();
  double compiling = 0;
  for (const DType type : types) {
    for (const TimedModel& model : models) {
      Sums sums;
      int skipped = 0;
      for (const ModelLayer& layer : layers_of(model.model, model.batch, type)) {
        bool counted = false;
        std::vector<Variant> variants = variants_of(layer);
        for (const Variant& variant : variants) {
          const std::string title =
              fmt::format("{} {} {}{} {}x [{}]{}", model.model, model.batch, name_of(type), tf32 ? " as tf32" : "",
                          layer.count, short_text(variant.layer), variant.name.empty() ? "" : " " + variant.name);
          if (card.seconds() - begin > budget) {
            ++skipped;
            continue;
          }
          // What is compiled at run time takes seconds: of those, two a layer, and a third of the time at most.
          const bool too_long = compiling > budget / 3;
          if (too_long && variant.name.empty() && variants.size() > 1) continue;
          std::string why;
          const std::vector<Attempt> attempts =
              libraries.attempts(variant.layer, tf32, static_cast<std::size_t>(plans), 2, why);
          if (attempts.empty()) {
            card.say(fmt::format("refused {}: {}", title, why));
            continue;
          }
          try {
            LayerMemory memory(card.calls, variant.layer);
            for (std::size_t i = 0; i < memory.inputs.size(); ++i) {
              memory.inputs[i]->fill(variant.layer.inputs[i].dtype, card.stream);
            }
            const double limit = limit_ms(variant.layer, tf32);
            std::string all;
            double chosen = 0, best = 1e30;
            std::size_t best_index = 0;
            for (std::size_t i = 0; i < attempts.size(); ++i) {
              compiling += attempts[i].compiled ? attempts[i].build_seconds : 0;
              const auto run = [&] {
                attempts[i].run(memory.input_addresses.data(), memory.output_addresses.data(), workspace.address());
              };
              double ms = 0;
              try {
                run();
                const double once = timer.measure(run, 1);
                ms = timer.measure(run, std::clamp(static_cast<int>(5.0 / std::max(once, 1e-3)), 2, 30));
              } catch (const std::exception& error) {
                all += fmt::format(" failed({})", error.what());
                continue;
              }
              all += fmt::format(" {:.4f}", ms);
              if (i == 0) chosen = ms;
              if (ms < best) best = ms, best_index = i;
            }
            // Three runs of the fastest, by the first bytes of the result.
            bool repeats = true;
            Tensor first(DType::u8, {static_cast<std::int64_t>(
                                        std::min<std::size_t>(memory.outputs[0]->bytes(), std::size_t{8} << 20))});
            Tensor again(DType::u8, first.shape());
            for (int i = 0; i < 3; ++i) {
              attempts[best_index].run(memory.input_addresses.data(), memory.output_addresses.data(),
                                       workspace.address());
              memory.outputs[0]->download(i == 0 ? first : again, card.stream);
              if (i > 0) repeats = repeats && std::memcmp(first.raw(), again.raw(), first.byte_size()) == 0;
            }
            card.say(fmt::format("{}: first {:.4f} ms {:.0f} %, best #{} {:.4f} ms {:.0f} % {}{}{} workspace {:.1f} MB, limit {:.4f}, all{}",
                                 title, chosen, 100 * limit / chosen, best_index, best, 100 * limit / best,
                                 attempts[best_index].name, attempts[best_index].compiled ? " compiled" : "",
                                 repeats ? "" : " BITS DIFFER",
                                 static_cast<double>(attempts[best_index].workspace_bytes) / 1e6, limit, all));
            // The sums take the operands' type throughout.
            if (!counted && (variants.size() == 1 || variant.name == "same type" || type == DType::f32)) {
              counted = true;
              sums.chosen += layer.count * chosen, sums.best += layer.count * best, sums.limit += layer.count * limit;
            }
          } catch (const std::exception& error) {
            card.say(fmt::format("FAILED {}: {}", title, error.what()));
          }
        }
      }
      card.say(fmt::format("sum {} {} {}{}: first plans {:.3f} ms, fastest {:.3f} ms, limit {:.3f} ms; {} skipped",
                           model.model, model.batch, name_of(type), tf32 ? " as tf32" : "", sums.chosen, sums.best,
                           sums.limit, skipped));
    }
  }
}

}  // namespace ridgeline::cuda
