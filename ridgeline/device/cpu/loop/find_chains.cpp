#include <algorithm>

#include "ridgeline/device/cpu/loop/chain.h"

namespace ridgeline::device {
namespace {

bool same(const LoopSlot& a, const LoopSlot& b) {
  return a.place == b.place && (a.place == LoopSlot::none || a.index == b.index);
}

std::array<LoopSlot, 5> arguments_of(const LoopInstruction& i) { return {i.a, i.b, i.c, i.d, i.e}; }

bool converts_operands(LoopOp op) {
  return op == LoopOp::load_u8 || op == LoopOp::load_i32 || op == LoopOp::load_bf16 || op == LoopOp::load_f16;
}

// Ops without a step: they walk over elements one by one, in other orders, or over full blocks.
bool stays_apart(LoopOp op) {
  switch (op) {
    case LoopOp::load_periodic:
    case LoopOp::load_strided:
    case LoopOp::cos:
    case LoopOp::sin:
    case LoopOp::uniform:
    case LoopOp::sum: return true;
    default: return false;
  }
}

class ChainFinder {
 public:
  explicit ChainFinder(const LoopProgram& program) : code_(program.code) {}

  std::vector<Chain> run() {
    std::vector<Chain> chains;
    for (std::size_t at = 0; at < code_.size();) {
      Chain chain = from(at);
      at = std::max(chain.end, at + 1);
      if (chain.end - chain.first >= 2) chains.push_back(std::move(chain));
    }
    return chains;
  }

 private:
  // The longest chain that begins at this instruction.
  Chain from(std::size_t first) {
    Chain chain;
    chain.first = chain.end = first;
    if (!begin(chain)) return chain;
    while (chain.end < code_.size() && go_on(chain, chain.end)) ++chain.end;
    chain.steps = with_stores(chain);
    return chain;
  }

  bool begin(Chain& chain) {
    const LoopInstruction& i = code_[chain.first];
    if (stays_apart(i.op)) return false;
    ChainStep load;
    load.kind = ChainStep::load;
    carried_ = {};
    if (converts_operands(i.op)) {
      load.op = i.op;
      load.operand = i.operand;
      load.to = carried_ = i.to;
      makers_ = {chain.first};
      chain.steps = {load};
      ++chain.end;
      return true;
    }
    // Otherwise the first argument that is an array is loaded.
    for (const LoopSlot& a : arguments_of(i)) {
      if (a.place == LoopSlot::none || a.place == LoopSlot::scalar) continue;
      load.arguments[0] = carried_ = a;
      makers_ = {kNoInstruction};
      chain.steps = {load};
      return true;
    }
    return false;
  }

  // Adds the instruction's step if it reads the carried value as an argument for which there is a function.
  bool go_on(Chain& chain, std::size_t at) {
    const LoopInstruction& i = code_[at];
    if (stays_apart(i.op) || converts_operands(i.op)) return false;
    ChainStep step;
    step.kind = converts_results(i.op) ? ChainStep::store : ChainStep::apply;
    step.op = i.op;
    step.to = i.to;
    step.arguments = arguments_of(i);
    int carried = 0, arguments = 0;
    for (std::size_t k = 0; k < step.arguments.size(); ++k) {
      const LoopSlot& a = step.arguments[k];
      if (a.place == LoopSlot::none) continue;
      ++arguments;
      if (same(a, carried_)) {
        step.sources[k] = ChainSource::carried;
        ++carried;
      } else {
        step.sources[k] = a.place == LoopSlot::scalar ? ChainSource::scalar : ChainSource::memory;
      }
    }
    // Of three or more arguments one is carried.
    if (carried == 0 || (arguments > 2 && carried > 1)) return false;
    chain.steps.push_back(step);
    makers_.push_back(at);
    if (step.kind == ChainStep::apply) carried_ = step.to;
    return true;
  }

  // After each step that makes a value: its store, where an instruction reads it from memory.
  std::vector<ChainStep> with_stores(const Chain& chain) const {
    std::vector<ChainStep> steps;
    for (std::size_t k = 0; k < chain.steps.size(); ++k) {
      const ChainStep& step = chain.steps[k];
      steps.push_back(step);
      if (step.kind == ChainStep::store || makers_[k] == kNoInstruction) continue;
      if (!read_from_memory(chain, makers_[k])) continue;
      ChainStep store;
      store.kind = ChainStep::store;
      store.to = step.to;
      steps.push_back(store);
    }
    return steps;
  }

  bool read_from_memory(const Chain& chain, std::size_t maker) const {
    const LoopSlot made = code_[maker].to;
    if (made.place == LoopSlot::result) return true;
    for (std::size_t at = maker + 1; at < code_.size(); ++at) {
      const auto arguments = arguments_of(code_[at]);
      const auto step = std::find(makers_.begin(), makers_.end(), at);
      for (std::size_t k = 0; k < arguments.size(); ++k) {
        if (!same(arguments[k], made)) continue;
        if (step == makers_.end()) return true;
        if (chain.steps[static_cast<std::size_t>(step - makers_.begin())].sources[k] != ChainSource::carried)
          return true;
      }
      if (same(code_[at].to, made)) return false;
    }
    return false;
  }

  static constexpr std::size_t kNoInstruction = ~std::size_t{0};

  const std::vector<LoopInstruction>& code_;
  LoopSlot carried_;                 // the place of what the registers hold
  std::vector<std::size_t> makers_;  // by step without stores: its instruction
};

}  // namespace

std::vector<Chain> find_chains(const LoopProgram& program) { return ChainFinder(program).run(); }

}  // namespace ridgeline::device
