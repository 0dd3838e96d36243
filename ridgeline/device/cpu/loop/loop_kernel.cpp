#include "ridgeline/device/cpu/loop/loop_kernel.h"

#include <algorithm>
#include <numeric>

#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/device/cpu/team_shares.h"
#include "ridgeline/graph/loop/evaluate.h"

namespace ridgeline::device {
namespace {

// Below this many elements one thread is faster than waking the team; of a large team, each has a quarter at least.
constexpr std::int64_t kGrain = 16384;

constexpr std::size_t kMaxChainCalls = 512;  // of one loop: they lie on the stack of each thread

}  // namespace

float read_loop_scalar(const LoopOperand& operand, const void* at) {
  switch (operand.dtype) {
    case DType::f32: return *static_cast<const float*>(at);
    case DType::i32: return static_cast<float>(*static_cast<const std::int32_t*>(at));
    case DType::bf16: return to_float(*static_cast<const bfloat16*>(at));
    case DType::f16: return to_float(*static_cast<const float16*>(at));
    default: return static_cast<float>(*static_cast<const std::uint8_t*>(at));  // u8 and bool
  }
}

class LoopKernel::Walk {
 public:
  explicit Walk(const LoopKernel& kernel) : kernel_(kernel), program_(kernel.program_) {
    for (const Pass& pass : kernel.passes_) begin_chain(pass);
  }

  // Sets what run() walks over next: elements [begin, end).
  void aim(const KernelArguments& arguments, std::int64_t begin, std::int64_t end) {
    arguments_ = arguments;
    begin_ = begin;
    end_ = end;
    for (const Moving& m : kernel_.moving_) {
      const bool operand = m.slot.place == LoopSlot::operand;
      auto* const base = static_cast<std::byte*>((operand ? arguments.inputs : arguments.outputs)[m.slot.index]);
      set(m, base + begin * m.element_bytes + m.ahead);
    }
  }

  // `next`, `before`: as of Parts::run.
  template <class Before>
  void run(std::span<void* const> next, const Before& before) {
    for (std::int64_t first = begin_; first < end_; first += program_.block) {
      const auto count = static_cast<std::size_t>(std::min<std::int64_t>(program_.block, end_ - first));
      if (first + program_.block >= end_) fetch_from(next, first);
      before(first, static_cast<std::int64_t>(count));
      const bool more = first + 2 * program_.block <= end_;
      const std::size_t straight = kernel_.straight_ ? run_straight(*kernel_.straight_, next, first, count) : 0;
      for (const Pass& pass : kernel_.passes_) {
        const std::size_t done = pass.chain.steps.empty() ? straight : pass.code.run(calls_ + pass.calls_at, count);
        // The last elements of the last block go instruction by instruction.
        for (std::size_t k = pass.first; done < count && k < pass.end; ++k) {
          instruction(k, first, done, count, more ? &pass : nullptr);
        }
      }
      for (const Moving& m : kernel_.moving_) {
        ChainCall& call = calls_[m.call];
        const void* const at = m.argument < 0 ? call.to : call.from[m.argument];
        set(m, static_cast<const std::byte*>(at) + m.bytes);
      }
    }
  }

 private:
  // Element `first + done` of the loop in its place.
  float* place(const LoopSlot& slot, std::int64_t first, std::int64_t done) {
    switch (slot.place) {
      case LoopSlot::buffer: return buffers_ + slot.index * program_.block + done;
      case LoopSlot::operand: return static_cast<float*>(arguments_.inputs[slot.index]) + first + done;
      case LoopSlot::result: return static_cast<float*>(arguments_.outputs[slot.index]) + first + done;
      case LoopSlot::scalar: return const_cast<float*>(kernel_.scalars_.data()) + slot.index;
      case LoopSlot::none: break;
    }
    return nullptr;
  }

  void set(const Moving& m, const void* at) {
    ChainCall& call = calls_[m.call];
    if (m.argument < 0)
      call.to = const_cast<void*>(at);
    else
      call.from[m.argument] = at;
  }

  // What the last block prefetches: the next piece, or, if there is none, what is in the cache already.
  void fetch_from(std::span<void* const> next, std::int64_t first) {
    for (const Fetch& fetch : kernel_.fetches_) {
      const auto operand = static_cast<std::size_t>(fetch.operand);
      calls_[fetch.call].from[0] = next.empty() ? static_cast<const std::byte*>(arguments_.inputs[operand]) +
                                                      first * kernel_.element_bytes({LoopSlot::operand, fetch.operand})
                                                : next[operand];
    }
  }

  std::size_t run_straight(const StraightCode& code, std::span<void* const> next, std::int64_t first,
                           std::size_t count) {
    StraightBlock block;
    block.count = count;
    const bool last = first + program_.block >= end_;
    for (std::size_t i = 0; i < code.operands; ++i) {
      const auto* const from = static_cast<const float*>(arguments_.inputs[i]) + first;
      block.operands[i] = from;
      if (i >= kernel_.from_memory_) continue;
      if (!last)
        block.ahead[i] = from + program_.block;
      else if (!next.empty())
        block.ahead[i] = static_cast<const float*>(next[i]);
    }
    for (std::size_t r = 0; r < code.results; ++r) {
      const auto result = static_cast<std::int32_t>(r);
      block.results[r] =
          static_cast<std::byte*>(arguments_.outputs[r]) + first * kernel_.element_bytes({LoopSlot::result, result});
    }
    for (std::size_t k = 0; k < code.scalars.size(); ++k)
      block.scalars[k] = kernel_.scalars_[static_cast<std::size_t>(code.scalars[k])];
    return code.run(block);
  }

  // All except what aim() sets.
  void begin_chain(const Pass& pass) {
    std::copy(pass.code.calls.begin(), pass.code.calls.end(), calls_ + pass.calls_at);
    const auto stays = [](const LoopSlot& slot) {
      return slot.place == LoopSlot::buffer || slot.place == LoopSlot::scalar;
    };
    for (std::size_t k = 0; k < pass.chain.steps.size(); ++k) {
      const ChainStep& step = pass.chain.steps[k];
      ChainCall& call = calls_[pass.calls_at + k];
      for (std::size_t a = 0; a < step.arguments.size(); ++a) {
        if (stays(step.arguments[a])) call.from[a] = place(step.arguments[a], 0, 0);
      }
      if (stays(step.to)) call.to = place(step.to, 0, 0);
    }
  }

  void instruction(std::size_t k, std::int64_t first, std::size_t done, std::size_t count, const Pass* ahead) {
    const LoopInstruction& i = program_.code[k];
    const auto offset = static_cast<std::int64_t>(done);
    BlockArguments block;
    block.count = count - done;
    block.first = first + offset;
    block.a = place(i.a, first, offset);
    block.b = place(i.b, first, offset);
    block.c = place(i.c, first, offset);
    block.d = place(i.d, first, offset);
    block.e = place(i.e, first, offset);
    block.to = converts_results(i.op) ? arguments_.outputs[i.to.index] : place(i.to, first, offset);
    if (i.operand >= 0) {
      block.operand = &program_.operands[static_cast<std::size_t>(i.operand)];
      block.source = arguments_.inputs[i.operand];
      block.step = kernel_.steps_[static_cast<std::size_t>(i.operand)];
    }
    if (ahead != nullptr && ahead->ahead.place != LoopSlot::none) {
      block.ahead = place(ahead->ahead, first, program_.block + ahead->ahead_from);
      block.ahead_lines = kernel_.ahead_lines_;
    }
    block.key = i.key;
    if (i.sum >= 0) {
      block.sum = static_cast<double*>(arguments_.scratch) + i.sum * kernel_.blocks_ + first / program_.block;
    }
    kernel_.functions_[k](block);
  }

  const LoopKernel& kernel_;
  const LoopProgram& program_;
  KernelArguments arguments_{};
  std::int64_t begin_ = 0, end_ = 0;
  ChainCall calls_[kMaxChainCalls];  // of all passes
  alignas(64) float buffers_[kMaxLoopBufferFloats];
};

LoopKernel::LoopKernel(LoopProgram program, std::int64_t elements, std::span<const ValueType> results,
                       std::size_t from_memory)
    : program_(std::move(program)),
      elements_(elements),
      blocks_((elements + program_.block - 1) / program_.block),
      from_memory_(from_memory),
      scalars_(program_.scalars.size()),
      steps_(program_.operands.size()) {
  for (const ValueType& type : results) result_bytes_.push_back(static_cast<std::int64_t>(size_of(type.dtype)));
  for (const LoopInstruction& i : program_.code) {
    const unsigned mask = (i.a.place == LoopSlot::scalar ? 1u : 0u) | (i.b.place == LoopSlot::scalar ? 2u : 0u) |
                          (i.c.place == LoopSlot::scalar ? 4u : 0u);
    functions_.push_back(block_function(i.op, mask));
  }
  straight_ = straight_code(program_);
  choose_passes();
  find_moving();
  if (!straight_) choose_ahead();
  const auto sums = std::count_if(program_.sums.begin(), program_.sums.end(), [](int s) { return s >= 0; });
  scratch_bytes = static_cast<std::size_t>(sums * blocks_) * sizeof(double);
  in_place = program_.in_place;
}

void LoopKernel::run(const KernelArguments& arguments) {
  read_scalars(arguments);
  const std::int64_t block = program_.block;
  const auto nothing = [](std::int64_t, std::int64_t) {};
  const std::int64_t least = compute_threads() > kSmallTeam ? kGrain / 4 : kGrain;
  const std::int64_t grain = (least + block - 1) / block * block;
  parallel_for(elements_, grain, [&](std::int64_t begin, std::int64_t end) {
    Walk walk(*this);
    walk.aim(arguments, begin, end);
    walk.run({}, nothing);
  });
  for (std::size_t r = 0; r < program_.sums.size(); ++r) {
    if (program_.sums[r] < 0) continue;
    const double* parts = static_cast<const double*>(arguments.scratch) + program_.sums[r] * blocks_;
    *static_cast<float*>(arguments.outputs[r]) = static_cast<float>(std::accumulate(parts, parts + blocks_, 0.0));
  }
}

void LoopKernel::with_parts(FunctionRef<void(Parts&)> body) const {
  Walk walk(*this);
  Parts parts(walk);
  body(parts);
}

void LoopKernel::Parts::run(const KernelArguments& arguments, std::int64_t elements, std::span<void* const> next,
                            FunctionRef<void(std::int64_t, std::int64_t)> before) {
  walk_.aim(arguments, 0, elements);
  walk_.run(next, before);
}

void LoopKernel::run_part(const KernelArguments& arguments, std::int64_t elements) const {
  with_parts([&](Parts& parts) { parts.run(arguments, elements, {}, [](std::int64_t, std::int64_t) {}); });
}

std::variant<std::unique_ptr<LoopKernel>, Refusal> make_part_loop(const loop::Expression& expression,
                                                                  std::span<const ValueType> operands,
                                                                  std::size_t from_memory, int block) {
  if (expression.terms.size() > static_cast<std::size_t>(kMaxLoopTerms))
    return Refusal{"a loop of more than " + std::to_string(kMaxLoopTerms) + " terms"};
  for (const loop::Term& term : expression.terms) {
    if (term.kind == loop::Kind::random_uniform) return Refusal{"random numbers in an update"};  // they count elements
  }
  const Shape any{2};  // more than one: the loop has no element of its own
  std::vector<ValueType> inputs(operands.begin(), operands.end());
  for (ValueType& type : inputs) {
    if (type.shape.rank() > 0) type.shape = any;
  }
  std::vector<ValueType> results;
  for (const loop::Result& result : expression.results) {
    if (result.ending != loop::Ending::store) return Refusal{"a sum over all elements"};
    results.push_back({result.type, any});
  }
  LoopProgram program = compile_loop(expression, any, inputs, results);
  program.block = std::min(program.block, block);
  return std::make_unique<LoopKernel>(std::move(program), any.elements(), results, from_memory);
}

void LoopKernel::choose_passes() {
  std::vector<Chain> chains;  // of a straight program the last elements alone are left
  if (!straight_) chains = find_chains(program_);
  std::vector<bool> asked(from_memory_, false);
  for (Chain& c : chains) add_fetches(c, asked);
  auto chain = chains.begin();
  for (std::size_t at = 0; at < program_.code.size(); at = passes_.back().end) {
    passes_.push_back({at, at + 1, {}, {}, calls_, {}});
    if (chain == chains.end() || chain->first != at) continue;
    Pass& pass = passes_.back();
    if (calls_ + chain->steps.size() + 1 <= kMaxChainCalls) {
      pass.end = chain->end;
      pass.code = chain_code(*chain);
      pass.chain = std::move(*chain);
      calls_ += pass.code.calls.size();
    }
    ++chain;
  }
}

// After the first step that reads an operand from memory.
void LoopKernel::add_fetches(Chain& chain, std::vector<bool>& asked) const {
  std::vector<ChainStep> steps;
  const auto add = [&](std::int32_t operand) {
    const auto o = static_cast<std::size_t>(operand);
    if (o >= asked.size() || asked[o]) return;
    asked[o] = true;
    ChainStep step;
    step.kind = ChainStep::fetch;
    step.operand = operand;
    step.bytes = element_bytes({LoopSlot::operand, operand});
    steps.push_back(step);
  };
  for (const ChainStep& step : chain.steps) {
    steps.push_back(step);
    if (step.operand >= 0) add(step.operand);
    for (const LoopSlot& a : step.arguments) {
      if (a.place == LoopSlot::operand) add(a.index);
    }
  }
  chain.steps = std::move(steps);
}

void LoopKernel::find_moving() {
  for (const Pass& pass : passes_) {
    for (std::size_t k = 0; k < pass.chain.steps.size(); ++k) {
      const ChainStep& step = pass.chain.steps[k];
      const auto add = [&](const LoopSlot& slot, int argument) {
        if (slot.place != LoopSlot::operand && slot.place != LoopSlot::result) return;
        const std::int64_t bytes = program_.block * element_bytes(slot);
        moving_.push_back(
            {pass.calls_at + k, argument, slot, element_bytes(slot), bytes, step.kind == ChainStep::fetch ? bytes : 0});
      };
      if (step.operand >= 0) add({LoopSlot::operand, step.operand}, 0);
      if (step.kind == ChainStep::fetch) fetches_.push_back({pass.calls_at + k, step.operand});
      for (std::size_t a = 0; step.operand < 0 && a < step.arguments.size(); ++a) {
        add(step.arguments[a], static_cast<int>(a));
      }
      add(step.to, -1);
    }
  }
}

// Many passes work in the cache while the memory is idle: they then prefetch the streams of the next block, a piece
// each, evenly, since a core stalls on too many outstanding lines. Few passes, and chains, are limited by memory
// anyway.
void LoopKernel::choose_ahead() {
  std::vector<LoopSlot> streams;
  for (std::size_t i = 0; i < program_.operands.size(); ++i) {
    if (program_.operands[i].access == LoopOperand::direct)
      streams.push_back({LoopSlot::operand, static_cast<std::int32_t>(i)});
  }
  for (const LoopInstruction& i : program_.code) {
    if (i.to.place == LoopSlot::result && !converts_results(i.op)) streams.push_back(i.to);
  }
  std::vector<Pass*> single;
  for (Pass& pass : passes_) {
    if (pass.chain.steps.empty()) single.push_back(&pass);
  }
  const std::size_t parts = streams.empty() ? 0 : single.size() / streams.size();
  if (parts == 0) return;
  const int four_vectors = vector_isa() == Isa::neon ? 16 : vector_isa() == Isa::avx2 ? 32 : 64;
  ahead_lines_ = static_cast<int>((static_cast<std::size_t>(four_vectors) / 16 + parts - 1) / parts);
  for (std::size_t i = 0; i < parts * streams.size(); ++i) {
    const auto part = static_cast<std::int64_t>(i % parts);
    single[i]->ahead = streams[i / parts];
    single[i]->ahead_from = program_.block * part / static_cast<std::int64_t>(parts);
  }
}

void LoopKernel::read_scalars(const KernelArguments& arguments) {
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
      case loop::Kind::constant: scalars_[i] = s.value; break;
      case loop::Kind::operand:
        scalars_[i] =
            read_loop_scalar(program_.operands[static_cast<std::size_t>(s.operand)], arguments.inputs[s.operand]);
        break;
      default: scalars_[i] = loop::apply_primitive<float>(s.kind, value(s.a), value(s.b), value(s.c));
    }
  }
}

std::int64_t LoopKernel::element_bytes(const LoopSlot& slot) const {
  const auto index = static_cast<std::size_t>(slot.index);
  return slot.place == LoopSlot::operand ? static_cast<std::int64_t>(size_of(program_.operands[index].dtype))
                                         : result_bytes_[index];
}

}  // namespace ridgeline::device
