// ridgeline/device/cpu/onednn/common.h
//
// What the oneDNN kernels share: the engine (made once per process, with the chosen ISA limit), descriptors of our
// plain layouts, layouts of the library's own, and a kernel that runs primitives on addresses given at run time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "oneapi/dnnl/dnnl.hpp"
#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/common.h"
#include "ridgeline/device/cpu/refuse_empty.h"
#include "ridgeline/device/kernel.h"

namespace ridgeline::device {

using Desc = dnnl::memory::desc;

// The types that the library's kernels read and write.
inline constexpr DTypeSet kOnednnStorage{DType::f32, DType::bf16};

// The CPU engine. The first call limits the library to the active ISA, which it allows only before its first primitive.
const dnnl::engine& onednn_engine();

// [N,H,W,C] as oneDNN's logical (N,C,H,W), or a matrix [N,C], row-major as we store it.
Desc activation_desc(const ValueType& type);
// A vector [C].
Desc vector_desc(std::int64_t length);
Desc vector_desc(const ValueType& type);
// [K,R,S,C/groups] as oneDNN's logical (K,C,R,S), or (G,K/G,C/G,R,S) with groups, in our row-major order.
Desc convolution_weights_desc(const ValueType& type, std::int64_t groups);
// The same plain layout over elements of another type.
Desc of_type(const Desc& plain, DType dtype);
// The same value in whatever layout the library prefers.
Desc any_layout(const Desc& plain);

// Plain if the descriptors agree, else a blocked layout.
Layout layout_of(const Desc& chosen, const Desc& plain);
// The descriptor of a layout that a value already has; nullopt for one that is not the library's or of another shape.
std::optional<Desc> desc_of(const Layout& layout, const Desc& plain);

// How good an implementation is, judged by the library's name for it: plain loops, im2col and a matrix product, or a
// kernel generated for the shape.
enum class Speed { loops, product, generated };
Speed speed_of(const std::string& implementation);

// Scratch memory of the caller instead of the library's own.
dnnl::primitive_attr user_scratchpad();

// Runs primitives one after another. Their arguments are operands, results and places in the scratch memory.
class OnednnKernel : public Kernel {
 public:
  struct Argument {
    int id;  // DNNL_ARG_...
    Desc desc;
    enum { input, output, scratch } where;
    std::size_t at;  // operand or result number; scratch: offset in bytes
  };

  OnednnKernel(const std::string& op, const std::string& implementation) {
    name = "onednn " + op + " " + implementation;
  }
  // Reserves 64-byte aligned room in the scratch memory.
  std::size_t reserve(std::size_t bytes);
  // `scratchpad` is the one that the primitive's descriptor requires.
  void add(const dnnl::primitive& primitive, const Desc& scratchpad, const std::vector<Argument>& arguments);
  // Adds a copy between two layouts of one value.
  void add_reorder(const Argument& from, const Argument& to);
  void run(const KernelArguments& arguments) override;

 private:
  struct Step {
    dnnl::primitive primitive;
    std::vector<Argument> arguments;
    std::vector<dnnl::memory> memories;
    std::vector<dnnl_exec_arg_t> execution;
  };
  int threads_ = compute_threads();  // the library makes its primitives for a team of this size
  dnnl::stream stream_{onednn_engine()};
  std::vector<Step> steps_;
};

// What a forward convolution or dense layer does with its sums: operands 2 (bias) and 3 (addend), then the activation.
struct ForwardEnding {
  bool bias, addend, relu;
  explicit ForwardEnding(const KernelRequest& request)
      : bias(request.inputs.size() >= 3),
        addend(request.inputs.size() == 4),
        relu(request.node.attributes.string("activation") == "relu") {}
  dnnl::primitive_attr attributes(const Desc& result) const;
  void add_arguments(const Desc& bias_desc, const Desc& result, std::vector<OnednnKernel::Argument>& arguments) const;
};

// A refusal if the library has only plain loops for bf16 values: an f32 kernel between conversions is faster
// (widened_kernel.h).
std::optional<Refusal> refuse_slow_bf16(const KernelRequest& request, const Kernel& kernel);

// A refusal of products of bf16 values if the active instruction set has none: the library would emulate each by
// several f32 instructions, and an f32 kernel over bf16 storage or between conversions is faster (docs/device.md).
std::optional<Refusal> refuse_emulated_bf16(const KernelRequest& request);

// A refusal if an operand or result is larger than the library can count.
std::optional<Refusal> refuse_huge(const KernelRequest& request);

// Runs `make` with the team that the kernel will have, turning the library's errors into refusals.
template <class Make>
KernelChoice onednn_choice(const KernelRequest& request, const Make& make) {
  if (auto refusal = refuse_empty(request)) return *refusal;
  if (auto refusal = refuse_huge(request)) return *refusal;
  const ComputeScope team(compute_threads());
  try {
    KernelChoice choice = make();
    if (auto* kernel = std::get_if<std::unique_ptr<Kernel>>(&choice)) {
      if (auto refusal = refuse_slow_bf16(request, **kernel)) return *refusal;
    }
    return choice;
  } catch (const dnnl::error& error) {
    return Refusal{std::string("oneDNN has no primitive for it (") + error.what() + ")"};
  }
}

// The same for convolutions and dense layers.
template <class Make>
KernelChoice onednn_product(const KernelRequest& request, const Make& make) {
  if (auto refusal = refuse_emulated_bf16(request)) return *refusal;
  KernelChoice choice = onednn_choice(request, make);
  if (auto* kernel = std::get_if<std::unique_ptr<Kernel>>(&choice))
    (*kernel)->products = request.inputs[0].type.dtype == DType::bf16 ? DType::bf16 : DType::f32;
  return choice;
}

// The gradient of weights (result 0) is given in the requested layout: add(argument) adds the primitive that writes it
// as `chosen`; if that is another layout, it is written to scratch memory and reordered from there.
template <class Add>
void add_weights_gradient(OnednnKernel& kernel, const KernelRequest& request, const Desc& plain, const Desc& chosen,
                          const Add& add) {
  const KernelOperand& result = request.outputs[0];
  const Desc wanted = result.free ? chosen : desc_of(result.layout, plain).value_or(chosen);
  kernel.output_layouts.resize(request.outputs.size());
  kernel.output_layouts[0] = layout_of(wanted, plain);
  kernel.input_layouts.resize(request.inputs.size());
  if (wanted == chosen) {
    add({DNNL_ARG_DIFF_WEIGHTS, chosen, OnednnKernel::Argument::output, 0});
    return;
  }
  const std::size_t at = kernel.reserve(chosen.get_size());
  add({DNNL_ARG_DIFF_WEIGHTS, chosen, OnednnKernel::Argument::scratch, at});
  kernel.add_reorder({DNNL_ARG_FROM, chosen, OnednnKernel::Argument::scratch, at},
                     {DNNL_ARG_TO, wanted, OnednnKernel::Argument::output, 0});
}

// A primitive descriptor and the weight layout that comes with it.
template <class PrimitiveDesc>
struct WeightsChoice {
  PrimitiveDesc primitive_desc;
  Desc weights;
};

// make(desc) gives a primitive descriptor for weights of that layout (throws or is empty if there is none),
// weights_of(pd) its weights' descriptor. A free operand gets the library's choice. A fixed one keeps its layout unless
// another layout has a better kind of implementation.
template <class Make, class WeightsOf>
auto choose_weights(const KernelOperand& operand, const Desc& plain, const Make& make, const WeightsOf& weights_of) {
  using PrimitiveDesc = decltype(make(plain));
  PrimitiveDesc best = make(any_layout(plain));
  if (!best) throw dnnl::error(dnnl_unimplemented, "no implementation");
  if (!operand.free) {
    if (const auto fixed = desc_of(operand.layout, plain)) {
      PrimitiveDesc exact = make(*fixed);
      if (exact && speed_of(exact.impl_info_str()) >= speed_of(best.impl_info_str())) {
        return WeightsChoice<PrimitiveDesc>{exact, *fixed};
      }
    }
  }
  const Desc chosen = weights_of(best);
  return WeightsChoice<PrimitiveDesc>{std::move(best), chosen};
}

}  // namespace ridgeline::device
