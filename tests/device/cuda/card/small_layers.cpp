#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/device/cuda/card/library_attempts.h"

namespace ridgeline::cuda {
namespace {

void synchronize(const PlansOnCard& card) {
  card.calls.make("cuStreamSynchronize", "a layer", &Driver::stream_synchronize, card.stream);
}

struct SmallConvolution {
  Shape image, filter;
  std::vector<std::int64_t> stride, pad;
  std::int64_t groups = 1;
};

const SmallConvolution kSmall[] = {
    {{2, 12, 12, 32}, {48, 3, 3, 32}, {1, 1}, {1, 1, 1, 1}}, {{2, 35, 35, 8}, {32, 11, 11, 8}, {4, 4}, {2, 2, 2, 2}},
    {{2, 29, 29, 3}, {32, 7, 7, 3}, {2, 2}, {3, 3, 3, 3}},   {{2, 14, 14, 32}, {64, 1, 1, 32}, {2, 2}, {0, 0, 0, 0}},
    {{2, 9, 9, 32}, {64, 5, 5, 32}, {1, 1}, {2, 2, 2, 2}},   {{3, 13, 13, 32}, {32, 3, 3, 1}, {1, 1}, {1, 1, 1, 1}, 32},
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
    layers.push_back(
        {"dense weights bias to f32", layer_of("dense_bwd_weights", {{"f32_results", true}, {"bias", true}}, {x, dy})});
  }
  // Products of matrices: one, many, and of one with many; each way round. 77 and 33 elements: the second matrix of
  // many begins at no multiple of 16 bytes.
  const auto turned = [](bool a, bool b) { return Attributes{{"transpose_a", a}, {"transpose_b", b}}; };
  layers.push_back({"matmul", layer_of("matmul", {}, {{type, {24, 96}}, {type, {96, 40}}})});
  layers.push_back({"matmul many", layer_of("matmul", {}, {{type, {2, 3, 7, 11}}, {type, {2, 3, 11, 3}}})});
  layers.push_back({"matmul many by turned",
                    layer_of("matmul", turned(false, true), {{type, {2, 3, 24, 32}}, {type, {2, 3, 40, 32}}})});
  layers.push_back(
      {"matmul turned by many", layer_of("matmul", turned(true, false), {{type, {6, 32, 24}}, {type, {6, 32, 40}}})});
  layers.push_back({"matmul one by many", layer_of("matmul", {}, {{type, {24, 32}}, {type, {6, 32, 40}}})});
  if (narrow) {
    layers.push_back({"matmul many to f32",
                      layer_of("matmul", {{"f32_results", true}}, {{type, {6, 24, 32}}, {type, {6, 32, 40}}})});
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
  LayerAttempts libraries(card);
  const CardMemory workspace(card.calls, kPlanWorkspaceBytes);
  int failed = 0;
  for (const auto& [type, tf32, type_name] :
       std::vector<std::tuple<DType, bool, std::string>>{{DType::f32, false, "f32"},
                                                         {DType::f32, true, "tf32"},
                                                         {DType::bf16, false, "bf16"},
                                                         {DType::f16, false, "f16"}}) {
    for (const auto& [name, layer] : small_layers(type)) {
      const std::string title = fmt::format("{} {} [{}]", type_name, name, short_text(layer));
      std::string why;
      const std::vector<Attempt> attempts = libraries.of(layer, tf32, 3, 1, why);
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
            repeats =
                repeats && same_bytes(got, run_on_card(card, layer, attempt, inputs, memory, workspace.address()));
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

}  // namespace ridgeline::cuda
