#include "ridgeline/device/cpu/loop/chain.h"

#include <utility>

#include "ridgeline/core/error.h"
#include "ridgeline/device/cpu/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/device/cpu/loop/chain.cpp"
#include "ridgeline/device/cpu/simd_targets.h"

#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ridgeline/device/cpu/loop/primitives-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ridgeline::device::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
ChainCode make_chain_code(const Chain&) { return {}; }
#else
namespace hn = hwy::HWY_NAMESPACE;

using F8 = Floats;  // one of the eight vectors

// Eight registers are as many as the calling convention passes.
using ChainFunction = void (*)(const ChainCall*, std::size_t, F8, F8, F8, F8, F8, F8, F8, F8);

HWY_INLINE void next(const ChainCall* call, std::size_t i, F8 v0, F8 v1, F8 v2, F8 v3, F8 v4, F8 v5, F8 v6, F8 v7) {
  const auto function = reinterpret_cast<ChainFunction>(call[1].function);
  function(call + 1, i, v0, v1, v2, v3, v4, v5, v6, v7);
}

template <ChainSource kSource>
struct ChainArgument {
  const float* from;
  Floats value;
  HWY_INLINE explicit ChainArgument(const void* p) : from(static_cast<const float*>(p)), value(hn::Zero(FloatTag())) {
    if constexpr (kSource == ChainSource::scalar) value = hn::Set(FloatTag(), *from);
  }
  HWY_INLINE Floats operator()(Floats carried, std::size_t i) const {
    if constexpr (kSource == ChainSource::carried)
      return carried;
    else if constexpr (kSource == ChainSource::scalar)
      return value;
    else
      return hn::LoadU(FloatTag(), from + i);
  }
};

// Applies change(v, element) to all eight and continues.
#define RIDGELINE_CHANGE_EIGHT(change)             \
  const std::size_t lanes = hn::Lanes(FloatTag()); \
  v0 = change(v0, i);                              \
  v1 = change(v1, i + lanes);                      \
  v2 = change(v2, i + 2 * lanes);                  \
  v3 = change(v3, i + 3 * lanes);                  \
  v4 = change(v4, i + 4 * lanes);                  \
  v5 = change(v5, i + 5 * lanes);                  \
  v6 = change(v6, i + 6 * lanes);                  \
  v7 = change(v7, i + 7 * lanes);                  \
  next(call, i, v0, v1, v2, v3, v4, v5, v6, v7)

template <class F>
void chain_load(const ChainCall* call, std::size_t i, F8 v0, F8 v1, F8 v2, F8 v3, F8 v4, F8 v5, F8 v6, F8 v7) {
  const auto load = [from = call->from[0]](Floats, std::size_t at) HWY_ATTR { return F()(from, at); };
  RIDGELINE_CHANGE_EIGHT(load);
}

template <class F>
void chain_store(const ChainCall* call, std::size_t i, F8 v0, F8 v1, F8 v2, F8 v3, F8 v4, F8 v5, F8 v6, F8 v7) {
  const auto store = [to = call->to](Floats v, std::size_t at) HWY_ATTR {
    F()(v, to, at);
    return v;
  };
  RIDGELINE_CHANGE_EIGHT(store);
}

// Changes nothing: prefetches the 64-byte lines of eight vectors of elements.
template <int kBytes>
void chain_fetch(const ChainCall* call, std::size_t i, F8 v0, F8 v1, F8 v2, F8 v3, F8 v4, F8 v5, F8 v6, F8 v7) {
  const auto* const from = static_cast<const std::uint8_t*>(call->from[0]) + i * kBytes;
  for (std::size_t at = 0; at < 8 * hn::Lanes(FloatTag()) * kBytes; at += 64) hwy::Prefetch(from + at);
  next(call, i, v0, v1, v2, v3, v4, v5, v6, v7);
}

template <class F>
void chain_apply1(const ChainCall* call, std::size_t i, F8 v0, F8 v1, F8 v2, F8 v3, F8 v4, F8 v5, F8 v6, F8 v7) {
  const auto apply = [](Floats v, std::size_t) HWY_ATTR { return F()(v); };
  RIDGELINE_CHANGE_EIGHT(apply);
}

template <class F, ChainSource kA, ChainSource kB>
void chain_apply2(const ChainCall* call, std::size_t i, F8 v0, F8 v1, F8 v2, F8 v3, F8 v4, F8 v5, F8 v6, F8 v7) {
  const ChainArgument<kA> a(call->from[0]);
  const ChainArgument<kB> b(call->from[1]);
  const auto apply = [&](Floats v, std::size_t at) HWY_ATTR { return F()(a(v, at), b(v, at)); };
  RIDGELINE_CHANGE_EIGHT(apply);
}

template <class F, ChainSource kA, ChainSource kB, ChainSource kC>
void chain_apply3(const ChainCall* call, std::size_t i, F8 v0, F8 v1, F8 v2, F8 v3, F8 v4, F8 v5, F8 v6, F8 v7) {
  const ChainArgument<kA> a(call->from[0]);
  const ChainArgument<kB> b(call->from[1]);
  const ChainArgument<kC> c(call->from[2]);
  const auto apply = [&](Floats v, std::size_t at) HWY_ATTR { return F()(a(v, at), b(v, at), c(v, at)); };
  RIDGELINE_CHANGE_EIGHT(apply);
}

// The second and the fourth are scalars.
template <ChainSource kA, ChainSource kC, ChainSource kE>
void chain_two_mul_add(const ChainCall* call, std::size_t i, F8 v0, F8 v1, F8 v2, F8 v3, F8 v4, F8 v5, F8 v6, F8 v7) {
  const ChainArgument<kA> a(call->from[0]);
  const ChainArgument<ChainSource::scalar> b(call->from[1]);
  const ChainArgument<kC> c(call->from[2]);
  const ChainArgument<ChainSource::scalar> d(call->from[3]);
  const ChainArgument<kE> e(call->from[4]);
  const auto apply = [&](Floats v, std::size_t at)
                         HWY_ATTR { return TwoMulThenAdd()(a(v, at), b(v, at), c(v, at), d(v, at), e(v, at)); };
  RIDGELINE_CHANGE_EIGHT(apply);
}
#undef RIDGELINE_CHANGE_EIGHT

void end_chain(const ChainCall*, std::size_t, F8, F8, F8, F8, F8, F8, F8, F8) {}

constexpr ChainSource chain_source(std::size_t form, int argument) {
  for (; argument > 0; --argument) form /= 3;
  return static_cast<ChainSource>(form % 3);
}

constexpr int carried_in(std::size_t form, int arguments) {
  int count = 0;
  for (int k = 0; k < arguments; ++k) count += chain_source(form, k) == ChainSource::carried ? 1 : 0;
  return count;
}

std::size_t form_of(const ChainStep& step, std::size_t arguments) {
  std::size_t form = 0;
  for (std::size_t k = arguments; k-- > 0;) form = 3 * form + static_cast<std::size_t>(step.sources[k]);
  return form;
}

template <class F, std::size_t kForm>
constexpr ChainFunction function2() {
  if constexpr (carried_in(kForm, 2) == 0)
    return nullptr;
  else
    return chain_apply2<F, chain_source(kForm, 0), chain_source(kForm, 1)>;
}

template <class F, std::size_t kForm>
constexpr ChainFunction function3() {
  if constexpr (carried_in(kForm, 3) != 1)
    return nullptr;
  else
    return chain_apply3<F, chain_source(kForm, 0), chain_source(kForm, 1), chain_source(kForm, 2)>;
}

template <class F>
ChainFunction apply2(const ChainStep& step) {
  return []<std::size_t... kForms>(std::size_t form, std::index_sequence<kForms...>) {
    constexpr ChainFunction functions[] = {function2<F, kForms>()...};
    return functions[form];
  }(form_of(step, 2), std::make_index_sequence<9>());
}

template <class F>
ChainFunction apply3(const ChainStep& step) {
  return []<std::size_t... kForms>(std::size_t form, std::index_sequence<kForms...>) {
    constexpr ChainFunction functions[] = {function3<F, kForms>()...};
    return functions[form];
  }(form_of(step, 3), std::make_index_sequence<27>());
}

ChainFunction two_mul_add_of(const ChainStep& step) {
  using enum ChainSource;
  if (step.sources[0] == carried) return chain_two_mul_add<carried, memory, memory>;
  if (step.sources[2] == carried) return chain_two_mul_add<memory, carried, memory>;
  return chain_two_mul_add<memory, memory, carried>;
}

ChainFunction load_function(const ChainStep& step) {
  switch (step.op) {
    case LoopOp::load_u8: return chain_load<LoadU8>;
    case LoopOp::load_i32: return chain_load<LoadI32>;
    case LoopOp::load_bf16: return chain_load<LoadBf16>;
    case LoopOp::load_f16: return chain_load<LoadF16>;
    default: return chain_load<LoadF32>;
  }
}

ChainFunction store_function(const ChainStep& step) {
  switch (step.op) {
    case LoopOp::store_bool: return chain_store<StoreBool>;
    case LoopOp::store_bf16: return chain_store<StoreBf16>;
    case LoopOp::store_f16: return chain_store<StoreF16>;
    default: return chain_store<StoreF32>;
  }
}

ChainFunction fetch_function(const ChainStep& step) {
  return step.bytes == 1 ? chain_fetch<1> : step.bytes == 2 ? chain_fetch<2> : chain_fetch<4>;
}

ChainFunction apply_function(const ChainStep& step) {
  switch (step.op) {
    case LoopOp::copy: return chain_apply1<Copy>;
    case LoopOp::neg: return chain_apply1<Neg>;
    case LoopOp::abs: return chain_apply1<Abs>;
    case LoopOp::exp: return chain_apply1<Exp>;
    case LoopOp::log: return chain_apply1<Log>;
    case LoopOp::sqrt: return chain_apply1<Sqrt>;
    case LoopOp::floor: return chain_apply1<Floor>;
    case LoopOp::round_bf16: return chain_apply1<RoundBf16>;
    case LoopOp::round_f16: return chain_apply1<RoundF16>;
    case LoopOp::add: return apply2<Add>(step);
    case LoopOp::sub: return apply2<Sub>(step);
    case LoopOp::mul: return apply2<Mul>(step);
    case LoopOp::div: return apply2<Div>(step);
    case LoopOp::max: return apply2<Max>(step);
    case LoopOp::min: return apply2<Min>(step);
    case LoopOp::less: return apply2<Less>(step);
    case LoopOp::less_equal: return apply2<LessEqual>(step);
    case LoopOp::equal: return apply2<Equal>(step);
    case LoopOp::select: return apply3<Select>(step);
    case LoopOp::mul_add: return apply3<MulThenAdd>(step);
    case LoopOp::mul_sub: return apply3<MulThenSub>(step);
    case LoopOp::sub_mul: return apply3<SubProduct>(step);
    case LoopOp::two_mul_add: return two_mul_add_of(step);
    default: return nullptr;
  }
}

std::size_t run_calls(const ChainCall* calls, std::size_t count) {
  const FloatTag d;
  const auto first = reinterpret_cast<ChainFunction>(calls->function);
  const auto v = hn::Zero(d);
  const std::size_t eight = 8 * hn::Lanes(d);
  std::size_t i = 0;
  for (; i + eight <= count; i += eight) first(calls, i, v, v, v, v, v, v, v, v);
    // The compiler takes the vectors that go from step to step for arguments of the next function and clears nothing.
    // SSE code after this would depend on their upper halves.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2  // later versions of Highway have SSE2 as their baseline
  _mm256_zeroupper();
#endif
  return i;
}

ChainCode make_chain_code(const Chain& chain) {
  ChainCode code;
  code.run = run_calls;
  const auto add = [&](ChainFunction function) {
    RIDGELINE_CHECK(function != nullptr, "no function for this step of a chain");
    code.calls.push_back({reinterpret_cast<void (*)()>(function), {}, nullptr});
  };
  for (const ChainStep& step : chain.steps) {
    add(step.kind == ChainStep::load    ? load_function(step)
        : step.kind == ChainStep::store ? store_function(step)
        : step.kind == ChainStep::fetch ? fetch_function(step)
                                        : apply_function(step));
  }
  add(end_chain);
  return code;
}

#endif  // a vector target
}  // namespace ridgeline::device::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::device {
namespace {
HWY_EXPORT(make_chain_code);
}  // namespace

ChainCode chain_code(const Chain& chain) {
  active_isa();  // limits the dispatch at the first use
  return HWY_DYNAMIC_DISPATCH(make_chain_code)(chain);
}

}  // namespace ridgeline::device
#endif  // HWY_ONCE
