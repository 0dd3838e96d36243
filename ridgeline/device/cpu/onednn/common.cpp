#include "ridgeline/device/cpu/onednn/common.h"

#include <limits>

#include "ridgeline/core/error.h"
#include "ridgeline/core/team_recording.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/core/worker_team.h"
#include "ridgeline/device/cpu/isa.h"

namespace ridgeline::device {
namespace {

using Dims = dnnl::memory::dims;

dnnl::memory::data_type data_type(DType dtype) {
  RIDGELINE_CHECK(kOnednnStorage.contains(dtype), "a type that no entry of the library takes");
  return dtype == DType::bf16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

dnnl::engine make_engine() {
  // Where a program used oneDNN before us, the library keeps its limit and reports it; its kernels then depend on that.
  switch (active_isa()) {
    case Isa::neon:
    case Isa::neon_bf16: break;  // this library is x86-64's
    case Isa::avx2: dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2); break;
    case Isa::avx512: dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx512_core); break;
    case Isa::avx512_bf16: dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx512_core_bf16); break;
    case Isa::amx: dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx512_core_amx); break;
  }
  return dnnl::engine(dnnl::engine::kind::cpu, 0);
}

// By `threads`, or by fewer where OpenMP has fewer: the primitive is made here, for the team that runs it.
void reorder_now(const Desc& from_desc, const void* from, const Desc& to_desc, void* to, int threads) {
  const ComputeScope team(usable_threads(threads));
  const dnnl::engine& engine = onednn_engine();
  dnnl::memory source(from_desc, engine, const_cast<void*>(from));
  dnnl::memory target(to_desc, engine, to);
  dnnl::stream stream(engine);
  dnnl::reorder(source, target).execute(stream, source, target);
  stream.wait();
}

class OnednnLayout final : public BlockedLayout {
 public:
  OnednnLayout(Desc blocked, Desc plain) : blocked_(std::move(blocked)), plain_(std::move(plain)) {}

  std::size_t bytes() const override { return blocked_.get_size(); }
  std::string name() const override;
  bool equals(const BlockedLayout& other) const override {
    const auto* same = dynamic_cast<const OnednnLayout*>(&other);
    return same != nullptr && same->blocked_ == blocked_ && same->plain_ == plain_;
  }
  void to_plain(const void* blocked, void* plain) const override {
    reorder_now(blocked_, blocked, plain_, plain, threads_);
  }
  void from_plain(const void* plain, void* blocked) const override {
    reorder_now(plain_, plain, blocked_, blocked, threads_);
  }
  std::unique_ptr<Kernel> make_conversion(const BlockedLayout* from) const override {
    const auto* source = dynamic_cast<const OnednnLayout*>(from);
    if (from != nullptr && (source == nullptr || source->plain_ != plain_)) return nullptr;
    return conversion(source == nullptr ? plain_ : source->blocked_, blocked_);
  }
  std::unique_ptr<Kernel> make_conversion_to_plain() const override { return conversion(blocked_, plain_); }

  // From f32 in one of the library's layouts, or plain rows, into bf16 in this one, and from this one to plain bf16.
  std::unique_ptr<Kernel> make_cast(DType from_type, const BlockedLayout* from) const override {
    const auto* source = dynamic_cast<const OnednnLayout*>(from);
    if (!kOnednnStorage.contains(from_type) || (from != nullptr && source == nullptr)) return nullptr;
    const Desc plain = of_type(plain_, from_type);
    if (source != nullptr && source->plain_ != plain) return nullptr;
    return conversion(source == nullptr ? plain : source->blocked_, blocked_);
  }
  std::unique_ptr<Kernel> make_cast_to_plain(DType to_type) const override {
    if (!kOnednnStorage.contains(to_type)) return nullptr;
    return conversion(blocked_, of_type(plain_, to_type));
  }

  const Desc& blocked() const { return blocked_; }
  const Desc& plain() const { return plain_; }

 private:
  static std::unique_ptr<Kernel> conversion(const Desc& from, const Desc& to) {
    const ComputeScope team(compute_threads());
    auto kernel = std::make_unique<OnednnKernel>("reorder", "");
    kernel->name = "onednn reorder";
    kernel->add_reorder({DNNL_ARG_FROM, from, OnednnKernel::Argument::input, 0},
                        {DNNL_ARG_TO, to, OnednnKernel::Argument::output, 0});
    return kernel;
  }

  Desc blocked_;
  Desc plain_;
  int threads_ = compute_threads();  // of whoever chose the layout: its parameters are written and read by them, too
};

// oneDNN's notation: a letter an axis from the slowest to the fastest, capitals for blocked ones, then the blocks.
std::string OnednnLayout::name() const {
  const Dims strides = blocked_.get_strides();
  const Dims blocks = blocked_.get_inner_blks();
  const Dims axes = blocked_.get_inner_idxs();
  std::vector<std::size_t> order(strides.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return strides[a] > strides[b]; });
  std::string text;
  for (std::size_t axis : order) {
    const bool is_blocked = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(axis)) != axes.end();
    text += static_cast<char>((is_blocked ? 'A' : 'a') + static_cast<int>(axis));
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    text += std::to_string(blocks[i]) + static_cast<char>('a' + static_cast<int>(axes[i]));
  }
  return text;
}

// The library's own relu turns NaN into 0: its maximum has 0 for the second operand, which x86 returns where one of
// them is NaN, and so it is for its other maxima. x * min(max(greatest * x, 0), 1) is x above the subnormal numbers and
// -0 below 0, of which the absolute value is 0; and NaN times anything is NaN. So is -infinity times 0.
void append_relu(dnnl::post_ops& after) {
  after.append_eltwise(dnnl::algorithm::eltwise_hardswish, std::numeric_limits<float>::max(), 0.0f);
  after.append_eltwise(dnnl::algorithm::eltwise_abs, 0.0f, 0.0f);
}

}  // namespace

const dnnl::engine& onednn_engine() {
  static const dnnl::engine engine = make_engine();
  return engine;
}

// Extents, the elements of an image and their blocks are ints in the library. Beyond that, its search for a blocking
// divides by a product that has wrapped to zero, which ends the process. The search also visits every column of an
// image (up to 30 us each), or every pixel (30 ns each for 1x1 filters): the last two limits keep it to seconds.
std::optional<Refusal> refuse_huge(const KernelRequest& request) {
  constexpr std::int64_t kMostElements = std::numeric_limits<std::int32_t>::max();
  constexpr std::int64_t kLongestSide = std::int64_t{1} << 18;
  constexpr std::int64_t kMostPixels = std::int64_t{1} << 26;
  for (const std::vector<KernelOperand>* operands : {&request.inputs, &request.outputs}) {
    for (const KernelOperand& operand : *operands) {
      const Shape& s = operand.type.shape;
      bool fits = true;
      for (std::int64_t extent : s) fits = fits && extent <= kMostElements;
      if (fits && s.rank() == 4) {
        const std::int64_t pixels = s[1] * s[2];
        fits = s[1] <= kLongestSide && s[2] <= kLongestSide && pixels <= kMostPixels && pixels * s[3] <= kMostElements;
      }
      if (!fits) return Refusal{operand.type.to_string() + " is larger than oneDNN can count"};
    }
  }
  return std::nullopt;
}

Desc activation_desc(const ValueType& type) {
  const Shape& s = type.shape;
  const auto dtype = data_type(type.dtype);
  if (s.rank() == 4) return Desc(Dims{s[0], s[3], s[1], s[2]}, dtype, dnnl::memory::format_tag::nhwc);
  RIDGELINE_CHECK(s.rank() == 2, "activations are [N,H,W,C] or [N,C]");
  return Desc(s.dims(), dtype, dnnl::memory::format_tag::nc);
}

Desc vector_desc(std::int64_t length) { return vector_desc(ValueType{DType::f32, {length}}); }

Desc vector_desc(const ValueType& type) {
  return Desc(type.shape.dims(), data_type(type.dtype), dnnl::memory::format_tag::x);
}

Desc convolution_weights_desc(const ValueType& type, std::int64_t groups) {
  const Shape& s = type.shape;
  const auto dtype = data_type(type.dtype);
  const std::int64_t pixel = s[3];
  const std::int64_t row = s[2] * pixel;
  const std::int64_t filter = s[1] * row;
  if (groups == 1) return Desc(Dims{s[0], s[3], s[1], s[2]}, dtype, Dims{filter, 1, row, pixel});
  return Desc(Dims{groups, s[0] / groups, s[3], s[1], s[2]}, dtype,
              Dims{s[0] / groups * filter, filter, 1, row, pixel});
}

Desc of_type(const Desc& plain, DType dtype) { return Desc(plain.get_dims(), data_type(dtype), plain.get_strides()); }

Desc any_layout(const Desc& plain) {
  return Desc(plain.get_dims(), plain.get_data_type(), dnnl::memory::format_tag::any);
}

Layout layout_of(const Desc& chosen, const Desc& plain) {
  if (chosen == plain) return Layout();
  return Layout(std::make_shared<OnednnLayout>(chosen, plain));
}

std::optional<Desc> desc_of(const Layout& layout, const Desc& plain) {
  if (layout.plain()) return plain;
  const auto* blocked = dynamic_cast<const OnednnLayout*>(layout.blocked());
  if (blocked == nullptr || blocked->plain() != plain) return std::nullopt;
  return blocked->blocked();
}

std::optional<Refusal> refuse_emulated_bf16(const KernelRequest& request) {
  if (request.inputs[0].type.dtype != DType::bf16 || bf16_products_rate() > 1) return std::nullopt;
  const std::string_view why = active_isa() < Isa::avx512_bf16 ? " multiplies no bf16" : " multiplies bf16 slowly here";
  return Refusal{std::string(name_of(active_isa())) + std::string(why) + ": f32 kernels are faster"};
}

std::optional<Refusal> refuse_slow_bf16(const KernelRequest& request, const Kernel& kernel) {
  const auto narrow = [](const KernelOperand& operand) { return operand.type.dtype == DType::bf16; };
  const bool any = std::any_of(request.inputs.begin(), request.inputs.end(), narrow) ||
                   std::any_of(request.outputs.begin(), request.outputs.end(), narrow);
  if (!any || speed_of(kernel.name.substr(kernel.name.rfind(' ') + 1)) != Speed::loops) return std::nullopt;
  return Refusal{"oneDNN has only plain loops for it in bf16"};
}

Speed speed_of(const std::string& implementation) {
  const auto has = [&](const char* part) { return implementation.find(part) != std::string::npos; };
  if (has("ref")) return Speed::loops;
  return has("gemm") && !has("brgemm") ? Speed::product : Speed::generated;
}

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

dnnl::primitive_attr ForwardEnding::attributes(const Desc& result) const {
  dnnl::primitive_attr attributes = user_scratchpad();
  dnnl::post_ops after;
  if (addend) after.append_binary(dnnl::algorithm::binary_add, result);
  if (relu) append_relu(after);
  attributes.set_post_ops(after);
  return attributes;
}

void ForwardEnding::add_arguments(const Desc& bias_desc, const Desc& result,
                                  std::vector<OnednnKernel::Argument>& arguments) const {
  if (bias) arguments.push_back({DNNL_ARG_BIAS, bias_desc, OnednnKernel::Argument::input, 2});
  if (!addend) return;
  arguments.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, result, OnednnKernel::Argument::input, 3});
}

std::size_t OnednnKernel::reserve(std::size_t bytes) {
  const std::size_t offset = (scratch_bytes + 63) / 64 * 64;
  scratch_bytes = offset + bytes;
  return offset;
}

void OnednnKernel::add(const dnnl::primitive& primitive, const Desc& scratchpad,
                       const std::vector<Argument>& arguments) {
  Step step{primitive, arguments, {}, {}};
  if (scratchpad.get_size() > 0) {
    step.arguments.push_back({DNNL_ARG_SCRATCHPAD, scratchpad, Argument::scratch, reserve(scratchpad.get_size())});
  }
  for (const Argument& argument : step.arguments) {
    step.memories.emplace_back(argument.desc, onednn_engine(), static_cast<void*>(nullptr));
    step.execution.push_back({argument.id, step.memories.back().get()});
  }
  steps_.push_back(std::move(step));
}

void OnednnKernel::add_reorder(const Argument& from, const Argument& to) {
  const dnnl::reorder::primitive_desc desc(onednn_engine(), from.desc, onednn_engine(), to.desc, user_scratchpad());
  add(dnnl::reorder(desc), desc.scratchpad_desc(),
      {{DNNL_ARG_FROM, from.desc, from.where, from.at}, {DNNL_ARG_TO, to.desc, to.where, to.at}});
}

void OnednnKernel::run(const KernelArguments& arguments) {
  const ComputeScope team(threads_);
  if (TeamRecording* const recording = TeamRecording::active()) recording->note_library();
  std::optional<WorkerTeam::Asleep> asleep;
  if (threads_ > 1) asleep.emplace();
  for (Step& step : steps_) {
    for (std::size_t i = 0; i < step.arguments.size(); ++i) {
      const Argument& argument = step.arguments[i];
      void* address = nullptr;
      switch (argument.where) {
        case Argument::input: address = arguments.inputs[argument.at]; break;
        case Argument::output: address = arguments.outputs[argument.at]; break;
        case Argument::scratch: address = static_cast<char*>(arguments.scratch) + argument.at; break;
      }
      step.memories[i].set_data_handle(address);
    }
    // The C call: the C++ one copies the arguments into a new vector each time.
    const dnnl_status_t status = dnnl_primitive_execute(step.primitive.get(), stream_.get(),
                                                        static_cast<int>(step.execution.size()), step.execution.data());
    if (status != dnnl_success) throw Error("[" + name + "] oneDNN failed with status " + std::to_string(status));
  }
}

}  // namespace ridgeline::device
