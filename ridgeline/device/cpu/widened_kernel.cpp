#include "ridgeline/device/cpu/widened_kernel.h"

#include <algorithm>

#include "ridgeline/core/error.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/device/conversion_kernel.h"
#include "ridgeline/device/cpu/common.h"
#include "ridgeline/device/cpu/image_parts.h"
#include "ridgeline/device/cpu/kernel_table.h"
#include "ridgeline/device/cpu/loop/loop_kernel.h"
#include "ridgeline/device/cpu/speeds.h"
#include "ridgeline/device/ranked_entries.h"
#include "ridgeline/graph/loop/expression.h"
#include "ridgeline/graph/loop/text.h"

namespace ridgeline::device {
namespace {

bool narrow(DType dtype) { return dtype == DType::bf16 || dtype == DType::f16; }

std::unique_ptr<Kernel> make_type_cast(const ValueType& from, DType to) {
  Node node;
  node.op = "cast";
  node.name = "cast";
  node.attributes = {{"to", to}};
  const KernelRequest request{op_def("cast"), node, {{from, {}, false}}, {{{to, from.shape}, {}, false}}};
  return std::get<std::unique_ptr<Kernel>>(make_loop_kernel(request));
}

// Rounds f32 values to what the narrow type holds; in place, too.
std::unique_ptr<Kernel> make_rounding(DType narrow, std::size_t values) {
  const auto elements = static_cast<std::int64_t>(values);
  const ValueType type{DType::f32, {elements}};
  const ValueType operands[] = {type};
  const auto expression = loop::parse(std::string(name_of(narrow)) + "(x0)");
  return std::make_unique<LoopKernel>(compile_loop(expression, type.shape, operands, operands), elements, operands);
}

// Values of a narrow type, held as f32 in the layout of an f32 kernel. Made once for all launches that read them where
// they are a parameter's copy, instead of by each.
class WidenedLayout final : public BlockedLayout {
 public:
  WidenedLayout(const ValueType& narrow, Layout wide) : narrow_(narrow), wide_(std::move(wide)) {}
  std::size_t bytes() const override { return wide_.bytes(wide_type()); }
  std::string name() const override { return "f32 " + wide_.name(); }
  bool equals(const BlockedLayout& other) const override {
    const auto* same = dynamic_cast<const WidenedLayout*>(&other);
    return same != nullptr && same->narrow_ == narrow_ && same->wide_ == wide_;
  }
  bool one_way() const override { return true; }
  void from_plain(const void* plain, void* blocked) const override {
    Tensor rows(DType::f32, narrow_.shape);
    void* const at = rows.raw();
    make_type_cast(narrow_, DType::f32)->run({const_cast<void* const*>(&plain), &at, nullptr});
    wide_.blocked()->from_plain(at, blocked);
  }
  std::unique_ptr<Kernel> make_conversion(const BlockedLayout* from) const override {
    if (from != nullptr) return nullptr;
    const std::size_t rows = (wide_type().bytes() + 63) / 64 * 64;
    std::shared_ptr<Kernel> cast = make_type_cast(narrow_, DType::f32);
    std::shared_ptr<Kernel> layout = make_conversion_kernel(wide_type(), Layout(), wide_);
    auto kernel = make_body_kernel("", [=](const KernelArguments& a) {
      void* const plain = a.scratch;
      cast->run({a.inputs, &plain, nullptr});
      layout->run({&plain, a.outputs, static_cast<char*>(a.scratch) + rows});
    });
    kernel->scratch_bytes = rows + layout->scratch_bytes;
    return kernel;
  }
  // From the f32 values that the narrow ones are rounded from.
  std::unique_ptr<Kernel> make_cast(DType from_type, const BlockedLayout* from) const override {
    if (from_type != DType::f32) return nullptr;
    std::shared_ptr<Kernel> rounding = make_rounding(narrow_.dtype, bytes() / sizeof(float));
    if (from != nullptr && wide_.blocked()->equals(*from)) {
      return make_body_kernel("", [=](const KernelArguments& a) { rounding->run(a); });
    }
    std::shared_ptr<Kernel> layout = wide_.blocked()->make_conversion(from);
    if (!layout) return nullptr;
    auto kernel = make_body_kernel("", [=](const KernelArguments& a) {
      layout->run(a);
      rounding->run({a.outputs, a.outputs, nullptr});
    });
    kernel->scratch_bytes = layout->scratch_bytes;
    return kernel;
  }

 private:
  ValueType wide_type() const { return {DType::f32, narrow_.shape}; }

  ValueType narrow_;
  Layout wide_;
};

constexpr ImageParts kWhole{"", ~0u, ~0u};

std::unique_ptr<Kernel> make_sum(std::size_t values) {
  const auto elements = static_cast<std::int64_t>(values);
  const ValueType type{DType::f32, {elements}};
  const ValueType operands[] = {type, type};
  const ValueType results[] = {type};
  return std::make_unique<LoopKernel>(compile_loop(loop::parse("x0 + x1"), type.shape, operands, results), elements,
                                      results);
}

class WidenedKernel final : public Kernel {
 public:
  // `wide` is what `inner` was made for, one of `parts` equal parts of `request`'s images.
  WidenedKernel(const KernelRequest& request, const KernelRequest& wide, const ImageParts& rule, std::int64_t parts,
                std::unique_ptr<Kernel> inner)
      : inner_(std::move(inner)), parts_(parts) {
    name = "widened " + inner_->name + (parts > 1 ? " in " + std::to_string(parts) + " parts" : "");
    emulates = true;
    flops_share = inner_->flops_share;
    products = inner_->products;
    input_layouts = inner_->input_layouts;
    output_layouts = inner_->output_layouts;
    input_layouts.resize(request.inputs.size());
    output_layouts.resize(request.outputs.size());
    for (std::size_t i = 0; i < request.inputs.size(); ++i) {
      ValueType type = request.inputs[i].type;
      if (narrow(type.dtype) && !input_layouts[i].plain()) {  // weights: compilation makes that form
        input_layouts[i] = Layout(std::make_shared<WidenedLayout>(type, input_layouts[i]));
        type.dtype = DType::f32;
      }
      const ValueType part{type.dtype, wide.inputs[i].type.shape};
      Operand operand;
      operand.step = rule.has_input(i) ? part.bytes() : 0;
      if (narrow(type.dtype)) {
        operand.cast = make_type_cast(part, DType::f32);
        operand.at = reserve(wide.inputs[i].type.bytes());
      }
      operands_.push_back(std::move(operand));
    }
    for (std::size_t i = 0; i < request.outputs.size(); ++i) {
      const DType type = request.outputs[i].type.dtype;
      const ValueType& wide_type = wide.outputs[i].type;
      const std::size_t bytes = output_layouts[i].bytes(wide_type);
      Result result;
      result.step = rule.has_output(i) ? ValueType{type, wide_type.shape}.bytes() : 0;
      if (narrow(type)) {
        RIDGELINE_CHECK(output_layouts[i].plain(), inner_->name + " chose a layout for a result that is not free");
        result.cast = make_type_cast(wide_type, type);
        result.at = reserve(bytes);
      }
      if (parts > 1 && !rule.has_output(i)) {
        result.sum = make_sum(bytes / sizeof(float));
        result.part_at = reserve(bytes);
      }
      results_.push_back(std::move(result));
    }
    inner_at_ = reserve(inner_->scratch_bytes);
    inputs_.resize(request.inputs.size());
    outputs_.resize(request.outputs.size());
  }

  void run(const KernelArguments& a) override {
    const auto scratch = [&](std::size_t at) { return static_cast<char*>(a.scratch) + at; };
    // Where a result is computed in f32.
    const auto wide = [&](std::size_t i, std::size_t part) -> void* {
      const Result& result = results_[i];
      return result.cast ? scratch(result.at) : static_cast<char*>(a.outputs[i]) + part * result.step;
    };
    const auto narrowed = [&](std::size_t i, std::size_t part) {
      void* const from = scratch(results_[i].at);
      void* const to = static_cast<char*>(a.outputs[i]) + part * results_[i].step;
      results_[i].cast->run({&from, &to, nullptr});
    };
    for (std::size_t part = 0; part < static_cast<std::size_t>(parts_); ++part) {
      for (std::size_t i = 0; i < operands_.size(); ++i) {
        const Operand& operand = operands_[i];
        inputs_[i] = static_cast<char*>(a.inputs[i]) + part * operand.step;
        if (!operand.cast || (part > 0 && operand.step == 0)) {
          if (operand.cast) inputs_[i] = scratch(operand.at);
          continue;
        }
        void* const to = scratch(operand.at);
        operand.cast->run({&inputs_[i], &to, nullptr});
        inputs_[i] = to;
      }
      for (std::size_t i = 0; i < results_.size(); ++i) {
        outputs_[i] = results_[i].sum && part > 0 ? scratch(results_[i].part_at) : wide(i, part);
      }
      inner_->run({inputs_.data(), outputs_.data(), scratch(inner_at_)});
      for (std::size_t i = 0; i < results_.size(); ++i) {
        if (results_[i].sum && part > 0) {
          void* const sum = wide(i, 0);
          void* const both[] = {sum, outputs_[i]};
          results_[i].sum->run({both, &sum, nullptr});
        }
        if (results_[i].cast && !results_[i].sum) narrowed(i, part);
      }
    }
    for (std::size_t i = 0; i < results_.size(); ++i) {
      if (results_[i].cast && results_[i].sum) narrowed(i, 0);
    }
  }

 private:
  struct Operand {
    std::size_t step = 0;          // bytes from a part to the next; 0: all share it
    std::unique_ptr<Kernel> cast;  // where it is f32 for this launch alone
    std::size_t at = 0;            // there, in the scratch memory
  };
  struct Result {
    std::size_t step = 0;
    std::unique_ptr<Kernel> cast;  // from f32
    std::size_t at = 0;
    std::unique_ptr<Kernel> sum;  // where the parts are added up
    std::size_t part_at = 0;
  };

  std::size_t reserve(std::size_t bytes) {
    const std::size_t at = scratch_bytes;
    scratch_bytes += (bytes + 63) / 64 * 64;
    return at;
  }

  std::unique_ptr<Kernel> inner_;
  std::int64_t parts_;
  std::vector<Operand> operands_;
  std::vector<Result> results_;
  std::size_t inner_at_ = 0;  // the inner kernel's scratch memory
  std::vector<void*> inputs_;
  std::vector<void*> outputs_;
};

// The f32 copies of a part stay in the last-level cache; smaller parts cost more than they gain (docs/device.md).
constexpr std::size_t kPartBytes = std::size_t{16} << 20;

// Into how many equal parts of its images a request is best divided: as few as keep the f32 copies of a part small,
// beside results that are added up. 1 where the op cannot be divided by images.
std::int64_t parts_of(const KernelRequest& wide, const ImageParts& rule) {
  if (&rule == &kWhole) return 1;
  std::size_t converted = 0, summed = 0;
  for (std::size_t i = 0; i < wide.inputs.size(); ++i) converted += rule.has_input(i) ? wide.inputs[i].type.bytes() : 0;
  for (std::size_t i = 0; i < wide.outputs.size(); ++i)
    (rule.has_output(i) ? converted : summed) += wide.outputs[i].type.bytes();
  const std::size_t room = std::max(kPartBytes, 2 * summed);
  const std::int64_t images = wide.inputs[0].type.shape[0];
  for (std::int64_t parts = 1; parts < images; ++parts) {
    if (images % parts == 0 && converted / static_cast<std::size_t>(parts) <= room) return parts;
  }
  return std::max<std::int64_t>(1, images);
}

// A gate of x below a ceiling compares values as the narrow type stores them; in f32 they are not rounded up to it.
bool compares_rounded(const Attributes& attributes) {
  const Attribute* const ceiling = attributes.find("ceiling");
  return ceiling != nullptr && *ceiling != Attribute(0.0) && attributes.string("gate") == "of_x";
}

KernelChoice make_widened(const KernelRequest& request) {
  KernelRequest wide = request;
  bool any = false;
  for (std::vector<KernelOperand>* operands : {&wide.inputs, &wide.outputs}) {
    for (KernelOperand& operand : *operands) {
      if (!narrow(operand.type.dtype)) continue;
      operand = {{DType::f32, operand.type.shape}, {}, operands == &wide.inputs};  // weights lie as the kernel likes
      any = true;
    }
  }
  if (!any) return Refusal{"no value of bf16 or f16 to convert"};
  if (compares_rounded(request.node.attributes)) return Refusal{"a ceiling of rounded values, which f32 has not"};
  const ImageParts* const by_images = image_parts(request.def.name);
  const ImageParts& rule = by_images == nullptr ? kWhole : *by_images;
  const std::int64_t parts = parts_of(wide, rule);
  const KernelRequest part = parts > 1 ? rule.of(wide, wide.inputs[0].type.shape[0] / parts) : wide;
  std::string reasons;
  for (const KernelEntry& entry : by_speed(cpu_kernels(request.node.op, forced_provider()), wide)) {
    if (entry.provider == Provider::reference || entry.factory == make_widened) continue;
    KernelChoice choice = entry.make(wide);
    if (auto* kernel = std::get_if<std::unique_ptr<Kernel>>(&choice)) {
      // A kernel that transforms its weights would do so for each part, and some are slower for few images.
      if (parts > 1 && (*kernel)->flops_share >= 1 && entry.speed_at(part) >= entry.speed_at(wide)) {
        KernelChoice smaller = entry.make(part);
        if (auto* of_part = std::get_if<std::unique_ptr<Kernel>>(&smaller))
          return std::make_unique<WidenedKernel>(request, part, rule, parts, std::move(*of_part));
      }
      return std::make_unique<WidenedKernel>(request, wide, kWhole, 1, std::move(*kernel));
    }
    reasons += (reasons.empty() ? "" : "; ") + std::string(entry.name) + ": " + std::get<Refusal>(choice).reason;
  }
  return Refusal{"no f32 kernel takes it either (" + reasons + ")"};
}

}  // namespace

KernelEntry widened_entry(const OpDef& def) {
  return {def.name,
          "widened",
          Provider::own,
          make_widened,
          loop::kLoopStorage,
          Arithmetic::f32,
          {Reproducibility::portable, true},  // what it calls keeps its own promise
          speeds::kWidened.best};
}

}  // namespace ridgeline::device
