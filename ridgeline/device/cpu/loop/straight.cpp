#include "ridgeline/device/cpu/loop/straight.h"

#include <iterator>
#include <span>
#include <utility>

#include "ridgeline/device/cpu/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/device/cpu/loop/straight.cpp"
#include "ridgeline/device/cpu/simd_targets.h"

#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef RIDGELINE_LOOP_STRAIGHT_FORMS
#define RIDGELINE_LOOP_STRAIGHT_FORMS
namespace ridgeline::device {

// The instructions of a form, behind which any number of results may be rounded to bf16. Scalars are numbered in the
// order in which they appear first.
struct StraightStep {
  LoopOp op;
  std::array<LoopSlot, 5> from;
  LoopSlot to;
};

constexpr LoopSlot straight_operand(std::int32_t i) { return {LoopSlot::operand, i}; }
constexpr LoopSlot straight_result(std::int32_t i) { return {LoopSlot::result, i}; }
constexpr LoopSlot straight_scalar(std::int32_t i) { return {LoopSlot::scalar, i}; }
constexpr LoopSlot kStraightBuffer{LoopSlot::buffer, 0};

// w - r m' and m' = f m + g.
constexpr std::array kMomentum{
    StraightStep{LoopOp::mul_add, {straight_scalar(0), straight_operand(1), straight_operand(2)}, straight_result(1)},
    StraightStep{LoopOp::sub_mul, {straight_scalar(1), straight_result(1), straight_operand(0)}, straight_result(0)},
};
// The same with m' = f m + (d w + g).
constexpr std::array kDecayedMomentum{
    StraightStep{
        LoopOp::two_mul_add,
        {straight_operand(1), straight_scalar(0), straight_operand(0), straight_scalar(1), straight_operand(2)},
        straight_result(1)},
    StraightStep{LoopOp::sub_mul, {straight_scalar(2), straight_result(1), straight_operand(0)}, straight_result(0)},
};
// w - r (f m' + t), m' = f m + t and t = d w + g: Nesterov's.
constexpr std::array kDecayedNesterov{
    StraightStep{LoopOp::mul_add, {straight_scalar(0), straight_operand(0), straight_operand(2)}, kStraightBuffer},
    StraightStep{LoopOp::mul_add, {straight_scalar(1), straight_operand(1), kStraightBuffer}, straight_result(1)},
    StraightStep{LoopOp::mul_add, {straight_scalar(1), straight_result(1), kStraightBuffer}, kStraightBuffer},
    StraightStep{LoopOp::sub_mul, {straight_scalar(2), kStraightBuffer, straight_operand(0)}, straight_result(0)},
};

constexpr std::span<const StraightStep> kStraightForms[] = {kMomentum, kDecayedMomentum, kDecayedNesterov};

using StraightFunction = std::size_t (*)(const StraightBlock&);

}  // namespace ridgeline::device
#endif  // RIDGELINE_LOOP_STRAIGHT_FORMS

#include "ridgeline/device/cpu/loop/primitives-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ridgeline::device::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
StraightFunction straight_function(std::size_t) { return nullptr; }
#else
namespace hn = hwy::HWY_NAMESPACE;

struct StraightValues {
  Floats operands[kMaxStraightOperands], results[2], buffer;

  // Written out: a constructor that the compiler makes has not the target of this namespace, which Arm's vectors ask
  // for.
  HWY_INLINE StraightValues() {}

  template <LoopSlot::Place kPlace, int kIndex>
  HWY_INLINE Floats& at() {
    if constexpr (kPlace == LoopSlot::operand)
      return operands[kIndex];
    else if constexpr (kPlace == LoopSlot::result)
      return results[kIndex];
    else
      return buffer;
  }
};

template <const auto& kForm, std::size_t kStep>
HWY_INLINE void straight_step(StraightValues& v, const Floats* scalars) {
  constexpr StraightStep s = kForm[kStep];
  const auto from = [&]<std::size_t kArgument>(std::integral_constant<std::size_t, kArgument>) HWY_ATTR {
    constexpr LoopSlot slot = s.from[kArgument];
    if constexpr (slot.place == LoopSlot::scalar)
      return scalars[slot.index];
    else
      return v.template at<slot.place, slot.index>();
  };
  const auto a = from(std::integral_constant<std::size_t, 0>());
  const auto b = from(std::integral_constant<std::size_t, 1>());
  const auto c = from(std::integral_constant<std::size_t, 2>());
  Floats& to = v.template at<s.to.place, s.to.index>();
  if constexpr (s.op == LoopOp::mul_add) {
    to = MulThenAdd()(a, b, c);
  } else if constexpr (s.op == LoopOp::sub_mul) {
    to = SubProduct()(a, b, c);
  } else {
    static_assert(s.op == LoopOp::two_mul_add);
    to = TwoMulThenAdd()(a, b, c, from(std::integral_constant<std::size_t, 3>()),
                         from(std::integral_constant<std::size_t, 4>()));
  }
}

template <const auto& kForm>
std::size_t run_straight(const StraightBlock& block) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  Floats scalars[kMaxStraightScalars];
  for (std::size_t k = 0; k < kMaxStraightScalars; ++k) scalars[k] = hn::Set(d, block.scalars[k]);
  const float *const a = block.operands[0], *const b = block.operands[1], *const c = block.operands[2];
  // What is in the cache already where nothing is asked for: cheaper than to look each time.
  const float* const ahead_a = block.ahead[0] != nullptr ? block.ahead[0] : a;
  const float* const ahead_b = block.ahead[1] != nullptr ? block.ahead[1] : b;
  auto *const first = static_cast<float*>(block.results[0]), *const second = static_cast<float*>(block.results[1]);
  void *const copy = block.results[2], *const other_copy = block.results[3];
  std::size_t i = 0;
  for (; i + lanes <= block.count; i += lanes) {
    hwy::Prefetch(ahead_a + i);
    hwy::Prefetch(ahead_b + i);
    StraightValues v;
    v.operands[0] = hn::LoadU(d, a + i);
    v.operands[1] = hn::LoadU(d, b + i);
    v.operands[2] = hn::LoadU(d, c + i);
    [&]<std::size_t... kSteps>(std::index_sequence<kSteps...>)
        HWY_ATTR { (straight_step<kForm, kSteps>(v, scalars), ...); }(std::make_index_sequence<kForm.size()>());
    hn::StoreU(v.results[1], d, second + i);
    hn::StoreU(v.results[0], d, first + i);
    if (copy != nullptr) StoreBf16()(v.results[0], copy, i);
    if (other_copy != nullptr) StoreBf16()(v.results[0], other_copy, i);
  }
  return i;
}

// In the order of kStraightForms.
StraightFunction straight_function(std::size_t form) {
  constexpr StraightFunction functions[] = {run_straight<kMomentum>, run_straight<kDecayedMomentum>,
                                            run_straight<kDecayedNesterov>};
  static_assert(std::size(functions) == std::size(kStraightForms));
  return functions[form];
}

#endif  // a vector target
}  // namespace ridgeline::device::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::device {
namespace {

HWY_EXPORT(straight_function);

bool same_place(const LoopSlot& a, const LoopSlot& b) {
  return a.place == b.place && (a.place == LoopSlot::none || a.index == b.index);
}

// Whether the program is of this form; its scalars go to `code`.
bool has_form(const LoopProgram& program, std::span<const StraightStep> form, StraightCode& code) {
  if (program.code.size() < form.size()) return false;
  std::size_t bound = 0;
  for (std::size_t k = 0; k < form.size(); ++k) {
    const LoopInstruction& i = program.code[k];
    if (i.op != form[k].op || !same_place(i.to, form[k].to)) return false;
    const std::array<LoopSlot, 5> from{i.a, i.b, i.c, i.d, i.e};
    for (std::size_t a = 0; a < from.size(); ++a) {
      const LoopSlot& wanted = form[k].from[a];
      if (wanted.place != LoopSlot::scalar) {
        if (!same_place(from[a], wanted)) return false;
        continue;
      }
      if (from[a].place != LoopSlot::scalar) return false;
      const auto number = static_cast<std::size_t>(wanted.index);
      if (number == bound) code.scalars[bound++] = from[a].index;
      if (code.scalars[number] != from[a].index) return false;
    }
  }
  // Rounded copies of the first result.
  code.results = 2;
  for (std::size_t k = form.size(); k < program.code.size(); ++k, ++code.results) {
    const LoopInstruction& i = program.code[k];
    const auto result = static_cast<std::int32_t>(code.results);
    if (i.op != LoopOp::store_bf16 || code.results == kMaxStraightResults || !same_place(i.a, straight_result(0)) ||
        !same_place(i.to, straight_result(result)))
      return false;
  }
  code.operands = kMaxStraightOperands;
  return true;
}

}  // namespace

std::optional<StraightCode> straight_code(const LoopProgram& program) {
  active_isa();  // limits the dispatch at the first use
  for (std::size_t form = 0; form < std::size(kStraightForms); ++form) {
    StraightCode code;
    if (!has_form(program, kStraightForms[form], code)) continue;
    code.run = HWY_DYNAMIC_DISPATCH(straight_function)(form);
    return code;
  }
  return std::nullopt;
}

}  // namespace ridgeline::device
#endif  // HWY_ONCE
