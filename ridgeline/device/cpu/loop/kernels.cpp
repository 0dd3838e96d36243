#include "ridgeline/device/cpu/loop/kernels.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/device/cpu/loop/interpreter.h"
#include "ridgeline/device/cpu/loop/program.h"
#include "ridgeline/graph/loop/evaluate.h"
#include "ridgeline/graph/op/pointwise.h"

namespace ridgeline::device {
namespace {

using loop::Expression;
using loop::Kind;
using loop::kLoopStorage;

// Below this many elements one thread is faster than waking the team.
constexpr std::int64_t kGrain = 16384;

float read_one(const LoopOperand& operand, const void* at) {
  switch (operand.dtype) {
    case DType::f32: return *static_cast<const float*>(at);
    case DType::i32: return static_cast<float>(*static_cast<const std::int32_t*>(at));
    case DType::bf16: return to_float(*static_cast<const bfloat16*>(at));
    case DType::f16: return to_float(*static_cast<const float16*>(at));
    default: return static_cast<float>(*static_cast<const std::uint8_t*>(at));  // u8 and bool
  }
}

// By operand; 0 for those that are no scalars.
std::vector<float> scalar_operands(const LoopProgram& program, void* const* inputs) {
  std::vector<float> values;
  for (std::size_t i = 0; i < program.operands.size(); ++i) {
    const LoopOperand& operand = program.operands[i];
    values.push_back(operand.access == LoopOperand::scalar ? read_one(operand, inputs[i]) : 0.0f);
  }
  return values;
}

class LoopKernel final : public Kernel {
 public:
  LoopKernel(LoopProgram program, std::int64_t elements)
      : program_(std::move(program)),
        elements_(elements),
        scalars_(program_.scalars.size()),
        steps_(program_.operands.size()) {
    for (const LoopInstruction& i : program_.code) {
      const unsigned mask = (i.a.place == LoopSlot::scalar ? 1u : 0u) | (i.b.place == LoopSlot::scalar ? 2u : 0u) |
                            (i.c.place == LoopSlot::scalar ? 4u : 0u);
      functions_.push_back(block_function(i.op, mask));
    }
    choose_ahead();
    blocks_ = (elements + program_.block - 1) / program_.block;
    const auto sums = std::count_if(program_.sums.begin(), program_.sums.end(), [](int s) { return s >= 0; });
    scratch_bytes = static_cast<std::size_t>(sums * blocks_) * sizeof(double);
    in_place = program_.in_place;
  }

  void run(const KernelArguments& arguments) override {
    read_scalars(arguments);
    const std::int64_t block = program_.block;
    const std::int64_t grain = (kGrain + block - 1) / block * block;
    parallel_for(elements_, grain, [&](std::int64_t begin, std::int64_t end) { run_blocks(arguments, begin, end); });
    for (std::size_t r = 0; r < program_.sums.size(); ++r) {
      if (program_.sums[r] < 0) continue;
      const double* parts = static_cast<const double*>(arguments.scratch) + program_.sums[r] * blocks_;
      *static_cast<float*>(arguments.outputs[r]) = static_cast<float>(std::accumulate(parts, parts + blocks_, 0.0));
    }
  }

 private:
  void read_scalars(const KernelArguments& arguments) {
    FlushDenormals flush;  // as in the blocks
    for (std::size_t i = 0; i < program_.operands.size(); ++i) {
      if (program_.operands[i].access == LoopOperand::step) {
        steps_[i] = static_cast<std::uint64_t>(*static_cast<const std::int64_t*>(arguments.inputs[i]));
      }
    }
    const auto value = [&](std::int32_t i) { return scalars_[static_cast<std::size_t>(i)]; };
    for (std::size_t i = 0; i < scalars_.size(); ++i) {
      const LoopScalar& s = program_.scalars[i];
      switch (s.kind) {
        case Kind::constant: scalars_[i] = s.value; break;
        case Kind::operand:
          scalars_[i] = read_one(program_.operands[static_cast<std::size_t>(s.operand)], arguments.inputs[s.operand]);
          break;
        default: scalars_[i] = loop::apply_primitive<float>(s.kind, value(s.a), value(s.b), value(s.c));
      }
    }
  }

  // A long list of instructions works in the cache while the memory has nothing to do: they then ask for the streams of
  // the next block, a part each, evenly, since the core waits where it has asked for too many lines at once. A short
  // list waits for memory anyway.
  void choose_ahead() {
    std::vector<LoopSlot> streams;
    for (std::size_t i = 0; i < program_.operands.size(); ++i) {
      if (program_.operands[i].access == LoopOperand::direct)
        streams.push_back({LoopSlot::operand, static_cast<std::int32_t>(i)});
    }
    for (const LoopInstruction& i : program_.code) {
      if (i.to.place == LoopSlot::result && !converts_results(i.op)) streams.push_back(i.to);
    }
    ahead_.resize(program_.code.size());
    const std::size_t parts = streams.empty() ? 0 : program_.code.size() / streams.size();
    if (parts == 0) return;
    const int four_vectors = active_isa() == Isa::avx2 ? 32 : 64;
    ahead_lines_ = static_cast<int>((static_cast<std::size_t>(four_vectors) / 16 + parts - 1) / parts);
    for (std::size_t i = 0; i < parts * streams.size(); ++i) {
      const auto part = static_cast<std::int64_t>(i % parts);
      ahead_[i] = {streams[i / parts], program_.block * part / static_cast<std::int64_t>(parts)};
    }
  }

  void run_blocks(const KernelArguments& arguments, std::int64_t begin, std::int64_t end) const {
    alignas(64) float buffers[kMaxLoopBufferFloats];
    const auto place = [&](const LoopSlot& slot, std::int64_t first) -> float* {
      switch (slot.place) {
        case LoopSlot::buffer: return buffers + slot.index * program_.block;
        case LoopSlot::operand: return static_cast<float*>(arguments.inputs[slot.index]) + first;
        case LoopSlot::result: return static_cast<float*>(arguments.outputs[slot.index]) + first;
        case LoopSlot::scalar: return const_cast<float*>(scalars_.data()) + slot.index;
        case LoopSlot::none: break;
      }
      return nullptr;
    };
    for (std::int64_t first = begin; first < end; first += program_.block) {
      BlockArguments block;
      block.count = static_cast<std::size_t>(std::min<std::int64_t>(program_.block, end - first));
      block.first = first;
      for (std::size_t k = 0; k < program_.code.size(); ++k) {
        const LoopInstruction& i = program_.code[k];
        block.a = place(i.a, first);
        block.b = place(i.b, first);
        block.c = place(i.c, first);
        block.d = place(i.d, first);
        block.e = place(i.e, first);
        if (converts_results(i.op))
          block.to = arguments.outputs[i.to.index];
        else
          block.to = place(i.to, first);
        if (i.operand >= 0) {
          block.operand = &program_.operands[static_cast<std::size_t>(i.operand)];
          block.source = arguments.inputs[i.operand];
          block.step = steps_[static_cast<std::size_t>(i.operand)];
        }
        block.ahead_lines = 0;
        if (ahead_[k].stream.place != LoopSlot::none && first + 2 * program_.block <= end) {
          block.ahead = place(ahead_[k].stream, first + program_.block + ahead_[k].from);
          block.ahead_lines = ahead_lines_;
        }
        block.key = i.key;
        if (i.sum >= 0) block.sum = static_cast<double*>(arguments.scratch) + i.sum * blocks_ + first / program_.block;
        functions_[k](block);
      }
    }
  }

  LoopProgram program_;
  std::int64_t elements_;
  std::int64_t blocks_ = 0;
  std::vector<BlockFunction> functions_;  // by instruction
  struct Ahead {
    LoopSlot stream;        // none: nothing
    std::int64_t from = 0;  // element of the block
  };
  std::vector<Ahead> ahead_;    // by instruction: what it asks for of the next block
  int ahead_lines_ = 0;         // beside every four vectors
  std::vector<float> scalars_;  // of the run in progress
  std::vector<std::uint64_t> steps_;
};

// What elements can be stored as, beside the table's floating types.
std::optional<Refusal> refuse_results(std::span<const ValueType> results) {
  for (const ValueType& type : results) {
    if (!is_floating(type.dtype) && type.dtype != DType::boolean) {
      return Refusal{"a result is " + std::string(name_of(type.dtype)) + ": the loop interpreter gives " +
                     kLoopStorage.to_string() + " and bool"};
    }
  }
  return std::nullopt;
}

// A loop over a blocked layout with padding. Padding must stay zero: that is known but for what the scalars do (an
// infinite factor makes NaN of it), so each run looks first, and where it fails computes in plain rows between
// conversions. That happens when numbers have gone wrong anyway; only then does it allocate.
class PaddedLoopKernel final : public Kernel {
 public:
  PaddedLoopKernel(Expression expression, LoopProgram program, Layout layout, const Shape& shape)
      : expression_(std::move(expression)),
        program_(std::move(program)),
        layout_(std::move(layout)),
        plain_bytes_(static_cast<std::size_t>(shape.elements()) * sizeof(float)),
        blocked_(program_, static_cast<std::int64_t>(layout_.blocked()->bytes() / sizeof(float))),
        rows_(program_, shape.elements()) {
    scratch_bytes = blocked_.scratch_bytes;
    in_place = blocked_.in_place;
  }

  void run(const KernelArguments& arguments) override {
    if (padding_stays_zero(arguments))
      blocked_.run(arguments);
    else
      run_in_rows(arguments);
  }

 private:
  bool padding_stays_zero(const KernelArguments& arguments) const {
    FlushDenormals flush;  // as in the blocks
    const std::vector<float> results =
        results_in_padding(expression_, program_, scalar_operands(program_, arguments.inputs));
    return std::all_of(results.begin(), results.end(), [](float r) { return r == 0; });
  }

  void run_in_rows(const KernelArguments& arguments) {
    std::vector<std::vector<std::byte>> memory;
    std::vector<void*> inputs(arguments.inputs, arguments.inputs + program_.operands.size());
    std::vector<void*> outputs(arguments.outputs, arguments.outputs + program_.sums.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (program_.operands[i].access != LoopOperand::direct) continue;
      memory.emplace_back(plain_bytes_);
      layout_.blocked()->to_plain(inputs[i], memory.back().data());
      inputs[i] = memory.back().data();
    }
    for (std::size_t r = 0; r < outputs.size(); ++r) {
      if (program_.sums[r] >= 0) continue;
      memory.emplace_back(plain_bytes_);
      outputs[r] = memory.back().data();
    }
    rows_.run({inputs.data(), outputs.data(), arguments.scratch});
    for (std::size_t r = 0; r < outputs.size(); ++r) {
      if (program_.sums[r] < 0) layout_.blocked()->from_plain(outputs[r], arguments.outputs[r]);
    }
  }

  Expression expression_;
  LoopProgram program_;
  Layout layout_;
  std::size_t plain_bytes_;
  LoopKernel blocked_;
  LoopKernel rows_;
};

// True when padding stays zero under an ordinary value of the scalars.
bool keeps_zero(const Expression& expression, const LoopProgram& program) {
  const std::vector<float> scalars(program.operands.size(), 0.7f);
  const std::vector<float> results = results_in_padding(expression, program, scalars);
  return std::all_of(results.begin(), results.end(), [](float r) { return r == 0; });
}

// The one blocked layout that all elements of the loop can have, or plain.
Layout common_layout(const KernelRequest& request, const Expression& expression, const LoopProgram& program) {
  const auto is_direct = [&](std::size_t i) { return program.operands[i].access == LoopOperand::direct; };
  for (const LoopOperand& o : program.operands) {
    const bool follows =
        o.access == LoopOperand::direct || o.access == LoopOperand::scalar || o.access == LoopOperand::unused;
    if (!follows) return {};
  }
  bool any_direct = false;
  for (std::size_t i = 0; i < request.inputs.size(); ++i) any_direct = any_direct || is_direct(i);
  if (!any_direct) return {};
  std::vector<Layout> votes;
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    if (is_direct(i) && !request.inputs[i].free) votes.push_back(request.inputs[i].layout);
  }
  for (std::size_t r = 0; r < request.outputs.size(); ++r) {
    if (request.outputs[r].type.dtype != DType::f32) return {};
    if (votes.empty() && program.sums[r] < 0 && !request.outputs[r].free) votes.push_back(request.outputs[r].layout);
  }
  // The layout that most operands have needs fewest conversions; among equals the first operand's.
  Layout best;
  std::ptrdiff_t most = 0;
  for (const Layout& vote : votes) {
    const auto count = std::count(votes.begin(), votes.end(), vote);
    if (count > most) {
      most = count;
      best = vote;
    }
  }
  if (best.plain()) return {};
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    const ValueType& type = request.inputs[i].type;
    if (is_direct(i) && best.bytes(type) != type.bytes() && !keeps_zero(expression, program)) return {};
  }
  return best;
}

}  // namespace

KernelChoice make_loop_kernel(const KernelRequest& request) {
  if (!request.def.expression) return Refusal{"the op has no loop expression"};
  Expression expression = request.def.expression(request.node.attributes);
  expression.operands = static_cast<std::int32_t>(request.inputs.size());  // a loop may leave its last ones unread
  std::vector<ValueType> inputs;
  std::vector<ValueType> results;
  for (const KernelOperand& operand : request.inputs) inputs.push_back(operand.type);
  for (const KernelOperand& operand : request.outputs) results.push_back(operand.type);
  if (auto refusal = refuse_results(results)) return *refusal;
  if (expression.terms.size() > static_cast<std::size_t>(kMaxLoopTerms)) {
    return Refusal{"a loop of more than " + std::to_string(kMaxLoopTerms) + " terms"};
  }

  const Shape shape = broadcast_shape(request.def.name, inputs);
  LoopProgram program = compile_loop(expression, shape, inputs, results);
  const Layout layout = common_layout(request, expression, program);
  const bool padded =
      !layout.plain() && layout.blocked()->bytes() != static_cast<std::size_t>(shape.elements()) * sizeof(float);
  std::vector<Layout> input_layouts(inputs.size());
  std::vector<Layout> output_layouts(results.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (program.operands[i].access == LoopOperand::direct) input_layouts[i] = layout;
  }
  for (std::size_t r = 0; r < results.size(); ++r) {
    if (program.sums[r] < 0) output_layouts[r] = layout;
  }
  std::unique_ptr<Kernel> kernel;
  if (padded)
    kernel = std::make_unique<PaddedLoopKernel>(std::move(expression), std::move(program), layout, shape);
  else
    kernel = std::make_unique<LoopKernel>(std::move(program), shape.elements());
  kernel->name = "own " + request.def.name + (active_isa() == Isa::avx2 ? " avx2" : " avx512");
  kernel->input_layouts = std::move(input_layouts);
  kernel->output_layouts = std::move(output_layouts);
  return kernel;
}

std::span<const KernelEntry> loop_kernels() {
  static const std::vector<KernelEntry> entries = [] {
    std::vector<KernelEntry> list;
    for (const OpDef& op : all_ops()) {
      if (!op.has(kPointwise)) continue;
      list.push_back({op.name,
                      "loop_interpreter",
                      Provider::own,
                      make_loop_kernel,
                      kLoopStorage,
                      Arithmetic::f32,
                      {Reproducibility::portable, true}});
    }
    return list;
  }();
  return entries;
}

}  // namespace ridgeline::device
