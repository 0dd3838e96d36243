#include "ridgeline/graph/loop/evaluate.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <type_traits>

#include "ridgeline/core/error.h"
#include "ridgeline/core/random.h"
#include "ridgeline/core/threads.h"

namespace ridgeline::loop {
namespace {

constexpr std::int64_t kBlock = 256;  // elements a term is evaluated over at once

// Calls f with a pointer to the elements, typed.
template <class Data, class F>
void visit_elements(DType dtype, Data* data, const F& f) {
  const auto as = [&]<class T>(std::type_identity<T>) {
    using Element = std::conditional_t<std::is_const_v<Data>, const T, T>;
    f(static_cast<Element*>(data));
  };
  switch (dtype) {
    case DType::f64: return as(std::type_identity<double>());
    case DType::f32: return as(std::type_identity<float>());
    case DType::bf16: return as(std::type_identity<bfloat16>());
    case DType::f16: return as(std::type_identity<float16>());
    case DType::u8: return as(std::type_identity<std::uint8_t>());
    case DType::i32: return as(std::type_identity<std::int32_t>());
    case DType::i64: return as(std::type_identity<std::int64_t>());
    case DType::boolean: return as(std::type_identity<bool>());
    case DType::bytes: break;
  }
  RIDGELINE_CHECK(false, "byte strings have no arithmetic");
}

template <class Real, class T>
Real load(T x) {
  if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>)
    return static_cast<Real>(to_float(x));
  else
    return static_cast<Real>(x);
}

template <class T, class Real>
T store(Real x) {
  if constexpr (std::is_same_v<T, bool>)
    return x != 0;
  else if constexpr (std::is_same_v<T, bfloat16>)
    return to_bfloat16(static_cast<float>(x));
  else if constexpr (std::is_same_v<T, float16>)
    return to_float16(static_cast<float>(x));
  else if constexpr (std::is_integral_v<T>) {
    const double value = static_cast<double>(x);
    if (value != value) return 0;
    // The largest i64 is no double: compare with the next power of two.
    constexpr T half = std::numeric_limits<T>::max() / 2 + 1;
    constexpr double above = static_cast<double>(half) * 2.0;
    if (value >= above) return std::numeric_limits<T>::max();
    if (value <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    return static_cast<T>(value);
  } else
    return static_cast<T>(x);
}

// Walks an operand in the row-major order of the loop.
class Walker {
 public:
  Walker(const Shape& operand, const Shape& loop)
      : dims_(loop.dims()), strides_(dims_.size(), 0), at_(dims_.size(), 0) {
    std::int64_t stride = 1;
    const int lead = loop.rank() - operand.rank();
    for (int axis = operand.rank() - 1; axis >= 0; --axis) {
      const std::int64_t extent = operand[axis];
      RIDGELINE_CHECK(extent == 1 || extent == loop[axis + lead], "an operand does not broadcast to the loop");
      if (extent != 1) strides_[static_cast<std::size_t>(axis + lead)] = stride;
      stride *= extent;
    }
  }
  std::int64_t next() {
    const std::int64_t offset = offset_;
    for (std::size_t axis = dims_.size(); axis-- > 0;) {
      offset_ += strides_[axis];
      if (++at_[axis] < dims_[axis]) break;
      offset_ -= strides_[axis] * dims_[axis];
      at_[axis] = 0;
    }
    return offset;
  }

 private:
  std::vector<std::int64_t> dims_, strides_, at_;
  std::int64_t offset_ = 0;
};

template <class Real>
class Evaluator {
 public:
  Evaluator(const Expression& expression, const Shape& shape, std::span<const Tensor> operands,
            std::span<Tensor> results)
      : expression_(expression),
        operands_(operands),
        results_(results),
        values_(expression.terms.size()),
        sums_(expression.results.size(), 0.0) {
    for (const Tensor& operand : operands) {
      walkers_.push_back(operand.shape() == shape ? std::nullopt
                                                  : std::optional<Walker>(Walker(operand.shape(), shape)));
    }
  }

  void run(std::int64_t elements) {
    for (std::int64_t begin = 0; begin < elements; begin += kBlock) {
      const std::int64_t count = std::min(kBlock, elements - begin);
      for (std::size_t t = 0; t < expression_.terms.size(); ++t) term(t, begin, count);
      for (std::size_t r = 0; r < results_.size(); ++r) result(r, begin, count);
    }
    for (std::size_t r = 0; r < results_.size(); ++r) {
      if (expression_.results[r].ending == Ending::sum) results_[r].set(0, sums_[r]);
    }
  }

 private:
  using Block = std::array<Real, kBlock>;
  const Real* block(std::int32_t index) const {
    return index < 0 ? zeros_.data() : values_[static_cast<std::size_t>(index)].data();
  }

  void term(std::size_t index, std::int64_t begin, std::int64_t count) {
    const Term& t = expression_.terms[index];
    Real* out = values_[index].data();
    if (t.kind == Kind::operand) return load_operand(static_cast<std::size_t>(t.operand), begin, count, out);
    if (t.kind == Kind::constant) {
      std::fill_n(out, count, static_cast<Real>(t.value));
      return;
    }
    if (t.kind == Kind::random_uniform) {
      const std::int32_t operand = expression_.terms[static_cast<std::size_t>(t.a)].operand;
      const auto step = step_value(operands_[static_cast<std::size_t>(operand)]);
      const PhiloxKey key{static_cast<std::uint32_t>(t.key), static_cast<std::uint32_t>(t.key >> 32)};
      for (std::int64_t i = 0; i < count; ++i) {
        out[i] = uniform_float(philox_element(key, step, static_cast<std::uint64_t>(begin + i)));
      }
      return;
    }
    const Real* a = block(t.a);
    const Real* b = block(t.b);
    const Real* c = block(t.c);
    for (std::int64_t i = 0; i < count; ++i) out[i] = apply_primitive<Real>(t.kind, a[i], b[i], c[i]);
  }

  static std::uint64_t step_value(const Tensor& step) {
    std::int64_t value = 0;
    visit_elements(step.dtype(), step.raw(), [&](const auto* p) {
      if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(*p)>>)
        value = static_cast<std::int64_t>(*p);
      else
        value = static_cast<std::int64_t>(load<double>(*p));
    });
    return static_cast<std::uint64_t>(value);
  }

  void load_operand(std::size_t operand, std::int64_t begin, std::int64_t count, Real* out) {
    visit_elements(operands_[operand].dtype(), operands_[operand].raw(), [&](const auto* p) {
      if (auto& walker = walkers_[operand]) {
        for (std::int64_t i = 0; i < count; ++i) out[i] = load<Real>(p[walker->next()]);
      } else {
        for (std::int64_t i = 0; i < count; ++i) out[i] = load<Real>(p[begin + i]);
      }
    });
  }

  void result(std::size_t index, std::int64_t begin, std::int64_t count) {
    const Real* values = block(expression_.results[index].term);
    if (expression_.results[index].ending == Ending::sum) {
      for (std::int64_t i = 0; i < count; ++i) sums_[index] += static_cast<double>(values[i]);
      return;
    }
    visit_elements(results_[index].dtype(), results_[index].raw(), [&](auto* p) {
      using T = std::remove_pointer_t<decltype(p)>;
      for (std::int64_t i = 0; i < count; ++i) p[begin + i] = store<T>(values[i]);
    });
  }

  const Expression& expression_;
  std::span<const Tensor> operands_;
  std::span<Tensor> results_;
  std::vector<Block> values_;
  Block zeros_{};
  std::vector<double> sums_;
  std::vector<std::optional<Walker>> walkers_;
};

}  // namespace

void evaluate(const Expression& given, Arithmetic arithmetic, const Shape& shape, std::span<const Tensor> operands,
              std::span<Tensor> results) {
  const Expression expression = canonical(given);  // one term an operand: each is walked once
  RIDGELINE_CHECK(results.size() == expression.results.size(), "result count of a loop");
  RIDGELINE_CHECK(operands.size() >= static_cast<std::size_t>(expression.operands), "operand count of a loop");
  if (arithmetic == Arithmetic::f32) {
    FlushDenormals flush;
    Evaluator<float>(expression, shape, operands, results).run(shape.elements());
  } else {
    Evaluator<double>(expression, shape, operands, results).run(shape.elements());
  }
}

std::vector<double> evaluate(const Expression& expression, std::span<const double> operands) {
  RIDGELINE_CHECK(operands.size() == static_cast<std::size_t>(expression.operands), "operand count of an expression");
  std::vector<double> values;
  values.reserve(expression.terms.size());
  const auto at = [&](std::int32_t term) { return term < 0 ? 0.0 : values[static_cast<std::size_t>(term)]; };
  for (const Term& term : expression.terms) {
    RIDGELINE_CHECK(term.kind != Kind::random_uniform, "random numbers belong to the elements of a tensor");
    if (term.kind == Kind::operand)
      values.push_back(operands[static_cast<std::size_t>(term.operand)]);
    else if (term.kind == Kind::constant)
      values.push_back(term.value);
    else
      values.push_back(apply_primitive<double>(term.kind, at(term.a), at(term.b), at(term.c)));
  }
  std::vector<double> results;
  for (const Result& result : expression.results) results.push_back(at(result.term));
  return results;
}

}  // namespace ridgeline::loop
