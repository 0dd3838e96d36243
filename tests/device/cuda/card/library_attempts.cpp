#include "tests/device/cuda/card/library_attempts.h"

#include <fmt/format.h>

#include <optional>

#include "ridgeline/device/cuda/cublas/node.h"
#include "ridgeline/device/cuda/cudnn/node.h"
#include "ridgeline/device/cuda/cudnn/planner.h"

namespace ridgeline::cuda {

std::string short_text(const ModelLayer& layer) {
  std::string text = layer.node.op;
  for (const ValueType& type : layer.inputs) text += " " + type.to_string();
  text += " ->";
  for (const ValueType& type : layer.outputs) text += " " + type.to_string();
  if (const ridgeline::Attribute* stride = layer.node.attributes.find("stride"))
    text += " stride " + to_string(*stride);
  return text;
}

ModelLayer layer_of(std::string op, Attributes attributes, std::vector<ValueType> inputs) {
  ModelLayer layer;
  layer.node.op = op;
  layer.node.attributes = complete_attributes(op_def(op), attributes);
  layer.inputs = std::move(inputs);
  layer.outputs = infer_types(op_def(op), layer.inputs, layer.node.attributes, op);
  return layer;
}

LayerAttempts::LayerAttempts(const PlansOnCard& card)
    : card_(card), target_(cudnn::Target::current_card(card.cudnn)), blas_(nullptr, card.cublas.destroy) {
  card.cudnn.check(card.cudnn.set_stream(target_.handle(), card.stream), "cuDNN takes a stream");
  void* handle = nullptr;
  card.cublas.check(card.cublas.create(&handle), "cuBLASLt opens the card");
  blas_.reset(handle);
}

std::vector<Attempt> LayerAttempts::of(const ModelLayer& layer, bool tf32, std::size_t most, std::size_t most_compiled,
                                       std::string& why) {
  return layer.dense() ? products(layer, tf32, most, why) : convolutions(layer, tf32, most, most_compiled, why);
}

std::vector<Attempt> LayerAttempts::convolutions(const ModelLayer& layer, bool tf32, std::size_t most,
                                                 std::size_t most_compiled, std::string& why) {
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

std::vector<Attempt> LayerAttempts::products(const ModelLayer& layer, bool tf32, std::size_t most, std::string& why) {
  cublas::Product product = cublas::product_of(layer.node, layer.inputs, layer.outputs);
  product.tf32 = tf32 && product.operands == DType::f32;
  std::vector<Attempt> attempts;
  try {
    const auto plan = std::make_shared<cublas::ProductPlan>(card_.cublas, blas_.get(), product, std::size_t{64} << 20,
                                                            static_cast<int>(most));
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

LayerMemory::LayerMemory(Calls& calls, const ModelLayer& layer) {
  for (const ValueType& type : layer.inputs) {
    input_addresses.push_back(inputs.emplace_back(std::make_unique<CardMemory>(calls, type.bytes()))->address());
  }
  for (const ValueType& type : layer.outputs) {
    output_addresses.push_back(outputs.emplace_back(std::make_unique<CardMemory>(calls, type.bytes()))->address());
  }
}

}  // namespace ridgeline::cuda
