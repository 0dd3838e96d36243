#include "ridgeline/device/cpu/loop/program.h"

#include <algorithm>
#include <array>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/loop/evaluate.h"
#include "ridgeline/graph/op/pointwise.h"

namespace ridgeline::device {
namespace {

using loop::Ending;
using loop::Expression;
using loop::Kind;
using loop::Term;

constexpr int kWorkingSet =
    24 * 1024;  // bytes of a block's operands, results and buffers: three quarters of a small L1

LoopOp instruction_of(Kind kind) {
  switch (kind) {
    case Kind::neg: return LoopOp::neg;
    case Kind::abs: return LoopOp::abs;
    case Kind::exp: return LoopOp::exp;
    case Kind::log: return LoopOp::log;
    case Kind::sqrt: return LoopOp::sqrt;
    case Kind::floor: return LoopOp::floor;
    case Kind::round_bf16: return LoopOp::round_bf16;
    case Kind::round_f16: return LoopOp::round_f16;
    case Kind::cos: return LoopOp::cos;
    case Kind::sin: return LoopOp::sin;
    case Kind::add: return LoopOp::add;
    case Kind::sub: return LoopOp::sub;
    case Kind::mul: return LoopOp::mul;
    case Kind::div: return LoopOp::div;
    case Kind::max: return LoopOp::max;
    case Kind::min: return LoopOp::min;
    case Kind::less: return LoopOp::less;
    case Kind::less_equal: return LoopOp::less_equal;
    case Kind::equal: return LoopOp::equal;
    case Kind::select: return LoopOp::select;
    case Kind::random_uniform: return LoopOp::uniform;
    default: RIDGELINE_CHECK(false, "no instruction of its own");
  }
}

LoopOp load_of(const LoopOperand& operand) {
  switch (operand.access) {
    case LoopOperand::bytes: return LoopOp::load_u8;
    case LoopOperand::integers: return LoopOp::load_i32;
    case LoopOperand::halves: return operand.dtype == DType::bf16 ? LoopOp::load_bf16 : LoopOp::load_f16;
    case LoopOperand::periodic: return LoopOp::load_periodic;
    default: return LoopOp::load_strided;
  }
}

LoopOp store_of(DType dtype) {
  switch (dtype) {
    case DType::bf16: return LoopOp::store_bf16;
    case DType::f16: return LoopOp::store_f16;
    default: return LoopOp::store_bool;
  }
}

LoopOperand access_of(const Expression& expression, int index, const ValueType& type, const Shape& loop) {
  LoopOperand operand;
  operand.dtype = type.dtype;
  const bool read = std::any_of(expression.terms.begin(), expression.terms.end(),
                                [&](const Term& t) { return t.kind == Kind::operand && t.operand == index; });
  if (!read) return operand;
  if (only_a_step(expression, index)) {
    operand.access = LoopOperand::step;
    return operand;
  }
  if (type.shape.elements() == 1) {
    operand.access = LoopOperand::scalar;
    return operand;
  }
  if (type.shape.elements() == loop.elements()) {
    switch (type.dtype) {
      case DType::f32: operand.access = LoopOperand::direct; break;
      case DType::i32: operand.access = LoopOperand::integers; break;
      case DType::bf16:
      case DType::f16: operand.access = LoopOperand::halves; break;
      default: operand.access = LoopOperand::bytes;
    }
    return operand;
  }
  operand.access = LoopOperand::strided;
  operand.dims = loop.dims();
  operand.strides.assign(operand.dims.size(), 0);
  std::int64_t stride = 1;
  const int lead = loop.rank() - type.shape.rank();
  for (int axis = type.shape.rank() - 1; axis >= 0; --axis) {
    if (type.shape[axis] != 1)
      operand.strides[static_cast<std::size_t>(axis) + static_cast<std::size_t>(lead)] = stride;
    stride *= type.shape[axis];
  }
  if (type.dtype != DType::f32) return operand;
  // Trailing axes complete, leading ones absent: the same run of elements is repeated.
  int axis = loop.rank() - 1;
  while (axis >= lead && type.shape[axis - lead] == loop[axis]) operand.period *= loop[axis--];
  if (operand.period == type.shape.elements()) operand.access = LoopOperand::periodic;
  return operand;
}

class Compiler {
 public:
  Compiler(const Expression& expression, bool one_element, std::span<const ValueType> results, LoopProgram& program)
      : expression_(expression),
        program_(program),
        results_(results),
        one_element_(one_element),
        terms_(expression.terms.size()) {}

  void run() {
    classify();
    merge_products();
    for (std::size_t t = 0; t < terms_.size(); ++t) emit(static_cast<std::int32_t>(t));
    end_results();
    choose_in_place();
    place();
    choose_block();
  }

 private:
  struct TermState {
    bool scalar = false;  // the same for every element
    bool merged = false;  // computed inside its only reader
    int readers = 0;
    std::int32_t scalar_index = -1;
    LoopSlot slot;       // where its elements are
    int made_by = -1;    // instruction
    int last_read = -1;  // instruction
  };
  // An instruction with terms instead of slots.
  struct Draft {
    LoopInstruction instruction;
    std::int32_t reads[5] = {-1, -1, -1, -1, -1};
    std::int32_t makes = -1;
    int result = -1;  // that it stores
  };

  const Term& term(std::int32_t t) const { return expression_.terms[static_cast<std::size_t>(t)]; }
  TermState& state(std::int32_t t) { return terms_[static_cast<std::size_t>(t)]; }

  void classify() {
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      const Term& t = expression_.terms[i];
      const std::int32_t arguments[] = {t.a, t.b, t.c};
      TermState& s = terms_[i];
      if (t.kind == Kind::operand) {
        s.scalar = program_.operands[static_cast<std::size_t>(t.operand)].access == LoopOperand::scalar;
      } else if (t.kind == Kind::random_uniform) {
        continue;  // its step is no read of a term
      } else {
        s.scalar = true;
        for (int k = 0; k < arity(t.kind); ++k) s.scalar = s.scalar && state(arguments[k]).scalar;
      }
      if (!s.scalar) {
        for (int k = 0; k < arity(t.kind); ++k) ++state(arguments[k]).readers;
        continue;
      }
      LoopScalar scalar;
      scalar.kind = t.kind;
      scalar.operand = t.operand;
      scalar.value = static_cast<float>(t.value);
      std::int32_t* const places[] = {&scalar.a, &scalar.b, &scalar.c};
      for (int k = 0; k < arity(t.kind); ++k) *places[k] = state(arguments[k]).scalar_index;
      s.scalar_index = static_cast<std::int32_t>(program_.scalars.size());
      s.slot = {LoopSlot::scalar, s.scalar_index};
      program_.scalars.push_back(scalar);
    }
    for (const loop::Result& r : expression_.results) ++state(r.term).readers;
  }

  bool mergeable(std::int32_t t) {
    return term(t).kind == Kind::mul && !state(t).scalar && !state(t).merged && state(t).readers == 1;
  }

  void merge_products() {
    merged_.assign(terms_.size(), -1);
    nested_.assign(terms_.size(), -1);
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      const Term& t = expression_.terms[i];
      if (terms_[i].scalar || (t.kind != Kind::add && t.kind != Kind::sub)) continue;
      const std::int32_t product = mergeable(t.a) ? t.a : mergeable(t.b) ? t.b : -1;
      if (product < 0) continue;
      state(product).merged = true;
      merged_[i] = product;
      const std::int32_t other = product == t.a ? t.b : t.a;
      if (t.kind == Kind::add && scaled(product) && nestable(other)) {
        state(other).merged = true;
        nested_[i] = other;
      }
    }
  }

  // An array times a scalar.
  bool scaled(std::int32_t product) { return state(term(product).a).scalar != state(term(product).b).scalar; }

  // c * d + e with one reader, d a scalar and e none.
  bool nestable(std::int32_t t) {
    const std::int32_t product = merged_[static_cast<std::size_t>(t)];
    if (product < 0 || term(t).kind != Kind::add || state(t).readers != 1 || nested_[static_cast<std::size_t>(t)] >= 0)
      return false;
    return scaled(product) && !state(addend(t)).scalar;
  }

  // What a merged product is added to.
  std::int32_t addend(std::int32_t t) const {
    return merged_[static_cast<std::size_t>(t)] == term(t).a ? term(t).b : term(t).a;
  }

  // The factors of a scaled product, the array first.
  void read_scaled(std::int32_t product, std::int32_t* reads) {
    reads[0] = term(product).a;
    reads[1] = term(product).b;
    if (state(reads[0]).scalar) std::swap(reads[0], reads[1]);
  }

  void emit(std::int32_t index) {
    const Term& t = term(index);
    TermState& s = state(index);
    if (s.scalar || s.merged) return;
    Draft draft;
    draft.makes = index;
    if (t.kind == Kind::operand) {
      const LoopOperand& operand = program_.operands[static_cast<std::size_t>(t.operand)];
      if (operand.access == LoopOperand::step) return;
      if (operand.access == LoopOperand::direct) {
        s.slot = {LoopSlot::operand, t.operand};
        return;
      }
      draft.instruction.op = load_of(operand);
      draft.instruction.operand = t.operand;
    } else if (t.kind == Kind::random_uniform) {
      draft.instruction.op = LoopOp::uniform;
      draft.instruction.key = t.key;
      draft.instruction.operand = term(t.a).operand;
    } else if (const std::int32_t inner = nested_[static_cast<std::size_t>(index)]; inner >= 0) {
      draft.instruction.op = LoopOp::two_mul_add;
      read_scaled(merged_[static_cast<std::size_t>(index)], draft.reads);
      read_scaled(merged_[static_cast<std::size_t>(inner)], draft.reads + 2);
      draft.reads[4] = addend(inner);
    } else if (const std::int32_t product = merged_[static_cast<std::size_t>(index)]; product >= 0) {
      draft.instruction.op = t.kind == Kind::add ? LoopOp::mul_add : product == t.a ? LoopOp::mul_sub : LoopOp::sub_mul;
      draft.reads[0] = term(product).a;
      draft.reads[1] = term(product).b;
      draft.reads[2] = product == t.a ? t.b : t.a;
    } else {
      draft.instruction.op = instruction_of(t.kind);
      draft.reads[0] = t.a;
      draft.reads[1] = t.b;
      draft.reads[2] = t.c;
    }
    add(draft);
  }

  void add(const Draft& draft) {
    const int at = static_cast<int>(drafts_.size());
    for (std::int32_t t : draft.reads) {
      if (t >= 0) state(t).last_read = at;
    }
    if (draft.makes >= 0) state(draft.makes).made_by = at;
    drafts_.push_back(draft);
  }

  // Sums and conversions first: a copy may overwrite an operand that they read.
  void end_results() {
    int sums = 0;
    for (std::size_t r = 0; r < expression_.results.size(); ++r) {
      Draft draft;
      draft.reads[0] = expression_.results[r].term;
      const bool sum = expression_.results[r].ending == Ending::sum;
      program_.sums.push_back(sum ? sums++ : -1);
      if (!sum && results_[r].dtype == DType::f32) continue;
      draft.instruction.op = sum ? LoopOp::sum : store_of(results_[r].dtype);
      draft.instruction.sum = program_.sums.back();
      if (!sum) draft.result = static_cast<int>(r);
      add(draft);
    }
  }

  bool is_store(std::size_t r) const {
    return expression_.results[r].ending == Ending::store && results_[r].dtype == DType::f32;
  }

  // Numbers, one a loop element.
  bool is_array(std::size_t r) const {
    return expression_.results[r].ending == Ending::store && loop::kLoopStorage.contains(results_[r].dtype);
  }

  // Result i over operand i where both fit (an update writes over what it replaces), else over the first free one.
  // Conversions follow all loads, so a bf16 or f16 result may overwrite any operand of its type.
  void choose_in_place() {
    std::vector<int>& in_place = program_.in_place;
    in_place.assign(results_.size(), -1);
    for (std::size_t r = 0; r < results_.size(); ++r) {
      // A result that is an operand's copy could be overwritten before it is computed: such rare loops get separate
      // memory.
      if (is_store(r) && state(expression_.results[r].term).slot.place == LoopSlot::operand) return;
    }
    std::vector<bool> taken(program_.operands.size(), false);
    const auto fits = [&](std::size_t r, std::size_t operand) {
      if (operand >= taken.size() || taken[operand]) return false;
      const LoopOperand& o = program_.operands[operand];
      if (o.dtype != results_[r].dtype) return false;
      return o.access == LoopOperand::direct || o.access == LoopOperand::halves ||
             (o.access == LoopOperand::scalar && one_element_);
    };
    const auto take = [&](std::size_t r, std::size_t operand) {
      in_place[r] = static_cast<int>(operand);
      taken[operand] = true;
    };
    for (std::size_t r = 0; r < results_.size(); ++r) {
      if (is_array(r) && fits(r, r)) take(r, r);
    }
    for (std::size_t r = 0; r < results_.size(); ++r) {
      for (std::size_t o = 0; is_array(r) && in_place[r] < 0 && o < taken.size(); ++o) {
        if (fits(r, o)) take(r, o);
      }
    }
  }

  // True when an instruction after `made` reads the operand whose memory result r may take.
  bool overwrites_too_early(std::size_t r, int made) {
    const int operand = program_.in_place[r];
    if (operand < 0) return false;
    for (const TermState& term : terms_) {
      if (term.slot.place == LoopSlot::operand && term.slot.index == operand && term.last_read > made) return true;
    }
    return false;
  }

  // Gives every term a place: the result's own memory where that is safe, else a buffer that is no longer read.
  void place() {
    for (std::size_t r = 0; r < results_.size(); ++r) {
      if (!is_store(r)) continue;
      TermState& s = state(expression_.results[r].term);
      if (s.slot.place == LoopSlot::none && !overwrites_too_early(r, s.made_by)) {
        s.slot = {LoopSlot::result, static_cast<std::int32_t>(r)};
        continue;
      }
      if (s.slot.place == LoopSlot::result && s.slot.index == static_cast<std::int32_t>(r)) continue;
      Draft draft;
      draft.reads[0] = expression_.results[r].term;
      draft.result = static_cast<int>(r);
      add(draft);
    }
    std::vector<std::int32_t> free;
    for (std::size_t at = 0; at < drafts_.size(); ++at) {
      const Draft& draft = drafts_[at];
      LoopInstruction instruction = draft.instruction;
      LoopSlot* const places[] = {&instruction.a, &instruction.b, &instruction.c, &instruction.d, &instruction.e};
      for (int k = 0; k < 5; ++k) {
        if (draft.reads[k] >= 0) *places[k] = state(draft.reads[k]).slot;
      }
      // Every instruction reads a place before it writes it, so a buffer may be reused at once.
      for (const auto read : draft.reads) {
        if (read < 0) continue;
        TermState& s = state(read);
        if (s.slot.place == LoopSlot::buffer && s.last_read == static_cast<int>(at)) {
          free.push_back(s.slot.index);
          s.last_read = -2;  // freed once, even if read twice here
        }
      }
      if (draft.result >= 0) {
        instruction.to = {LoopSlot::result, draft.result};
      } else if (draft.makes >= 0) {
        TermState& s = state(draft.makes);
        if (s.slot.place == LoopSlot::none) {
          if (free.empty()) free.push_back(program_.buffers++);
          s.slot = {LoopSlot::buffer, free.back()};
          free.pop_back();
        }
        instruction.to = s.slot;
      }
      program_.code.push_back(instruction);
    }
  }

  void choose_block() {
    int live = program_.buffers;
    for (const LoopOperand& o : program_.operands) live += o.access <= LoopOperand::strided ? 1 : 0;
    for (std::size_t r = 0; r < results_.size(); ++r) live += program_.sums[r] < 0 && program_.in_place[r] < 0 ? 1 : 0;
    // Chains take eight vectors of sixteen at a time.
    const int fitting = kWorkingSet / 4 / std::max(live, 1) / 128 * 128;
    program_.block = std::clamp(fitting, 256, 4096);
    RIDGELINE_CHECK(program_.buffers * program_.block <= kMaxLoopBufferFloats, "a loop needs too many buffers");
  }

  const Expression& expression_;
  LoopProgram& program_;
  std::span<const ValueType> results_;
  bool one_element_;
  std::vector<TermState> terms_;
  std::vector<std::int32_t> merged_;  // by term: the product computed with it
  std::vector<std::int32_t> nested_;  // by term: the sum of a product and something computed with it
  std::vector<Draft> drafts_;
};

}  // namespace

LoopProgram compile_loop(const Expression& expression, const Shape& shape, std::span<const ValueType> operands,
                         std::span<const ValueType> results) {
  RIDGELINE_CHECK(expression.terms.size() <= kMaxLoopTerms, "a loop of too many terms");
  LoopProgram program;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    program.operands.push_back(access_of(expression, static_cast<int>(i), operands[i], shape));
  }
  Compiler(expression, shape.elements() == 1, results, program).run();
  return program;
}

bool keeps_zero(const Expression& expression, const LoopProgram& program, FunctionRef<float(std::size_t)> scalar) {
  std::array<float, kMaxLoopTerms> values;  // runs ask: nothing is allocated
  const auto value = [&](std::int32_t term) { return term < 0 ? 0.0f : values[static_cast<std::size_t>(term)]; };
  for (std::size_t i = 0; i < expression.terms.size(); ++i) {
    const Term& t = expression.terms[i];
    const auto operand = static_cast<std::size_t>(t.kind == Kind::operand ? t.operand : 0);
    switch (t.kind) {
      case Kind::operand:
        values[i] = program.operands[operand].access == LoopOperand::scalar ? scalar(operand) : 0.0f;
        break;
      case Kind::constant: values[i] = static_cast<float>(t.value); break;
      case Kind::random_uniform: values[i] = 0.5f; break;
      default: values[i] = loop::apply_primitive<float>(t.kind, value(t.a), value(t.b), value(t.c));
    }
  }
  return std::all_of(expression.results.begin(), expression.results.end(),
                     [&](const loop::Result& r) { return value(r.term) == 0; });
}

}  // namespace ridgeline::device
