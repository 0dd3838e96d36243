#include "ridgeline/device/cuda/loop/terms.h"

#include <bit>

#include <fmt/format.h>

#include "ridgeline/core/error.h"

namespace ridgeline::cuda {
namespace {

using loop::Kind;
using loop::Term;

// Bits as a number of the arithmetic.
std::string constant(double value, Arithmetic arithmetic) {
  if (arithmetic == Arithmetic::f64) return fmt::format("double_of({:#x}ull)", std::bit_cast<std::uint64_t>(value));
  return fmt::format("float_of({:#x}u)", std::bit_cast<std::uint32_t>(static_cast<float>(value)));
}

std::string loaded(DType type, const std::string& x) {
  switch (type) {
    case DType::bf16: return "Real(bf16_to_float(" + x + "))";
    case DType::f16: return "Real(f16_to_float(" + x + "))";
    default: return "Real(" + x + ")";
  }
}

// The term's value from those of its arguments.
std::string primitive(Kind kind, const std::string& a, const std::string& b, const std::string& c) {
  switch (kind) {
    case Kind::neg: return "negated(" + a + ")";
    case Kind::abs: return "absolute(" + a + ")";
    case Kind::exp: return "exp_of(" + a + ")";
    case Kind::log: return "log_of(" + a + ")";
    case Kind::sqrt: return "root(" + a + ")";
    case Kind::floor: return "integer_below(" + a + ")";
    case Kind::round_bf16: return "Real(bf16_to_float(float_to_bf16(float(" + a + "))))";
    case Kind::round_f16: return "Real(f16_to_float(float_to_f16(float(" + a + "))))";
    case Kind::cos: return "Real(cosine_of(double(" + a + ")))";
    case Kind::sin: return "Real(sine_of(double(" + a + ")))";
    case Kind::add: return a + " + " + b;
    case Kind::sub: return a + " - " + b;
    case Kind::mul: return a + " * " + b;
    case Kind::div: return a + " / " + b;
    case Kind::max: return "larger(" + a + ", " + b + ")";
    case Kind::min: return "smaller(" + a + ", " + b + ")";
    case Kind::less: return a + " < " + b + " ? Real(1) : Real(0)";
    case Kind::less_equal: return a + " <= " + b + " ? Real(1) : Real(0)";
    case Kind::equal: return a + " == " + b + " ? Real(1) : Real(0)";
    case Kind::select: return a + " != Real(0) ? " + b + " : " + c;
    default: RIDGELINE_CHECK(false, "no primitive");
  }
}

}  // namespace

std::string_view storage_of(DType type) {
  switch (type) {
    case DType::f64: return "double";
    case DType::f32: return "float";
    case DType::bf16:
    case DType::f16: return "u16";
    case DType::i32: return "i32";
    case DType::i64: return "i64";
    default: return "u8";  // u8 and bool
  }
}

std::string stored(DType type, const std::string& x) {
  switch (type) {
    case DType::f64: return "double(" + x + ")";
    case DType::f32: return "float(" + x + ")";
    case DType::bf16: return "float_to_bf16(float(" + x + "))";
    case DType::f16: return "float_to_f16(float(" + x + "))";
    case DType::u8: return "to_u8(double(" + x + "))";
    case DType::i32: return "to_i32(double(" + x + "))";
    case DType::i64: return "to_i64(double(" + x + "))";
    default: return "u8(" + x + " != Real(0) ? 1 : 0)";
  }
}

std::string TermWriter::statements() {
  for (std::size_t t = 0; t < expression_.terms.size(); ++t) term(t);
  return std::move(out_);
}

void TermWriter::define(std::size_t index, bool one, const std::string& value) {
  const std::string name = fmt::format("t{}", index);
  one_[index] = one;
  if (one) {
    line(fmt::format("  const Real {} = {};", name, value));
  } else {
    line(fmt::format("  Real {}[kEach];", name));
    out_ += each(fmt::format("{}[e] = {};", name, value));
  }
  values_[index] = one ? name : name + "[e]";
}

void TermWriter::draw(std::size_t index, const Term& t) {
  const auto step = static_cast<std::size_t>(expression_.terms[static_cast<std::size_t>(t.a)].operand);
  const TermOperand& o = operands_[step];
  const std::string name = fmt::format("t{}", index);
  line(fmt::format("  Real {}[kEach];", name));
  line("  {");
  const bool whole = o.type == DType::i64 || o.type == DType::i32 || o.type == DType::u8 || o.type == DType::boolean;
  line(fmt::format("    const u64 step = static_cast<u64>(static_cast<i64>({}));",
                   whole ? o.value : "double(" + loaded(o.type, o.value) + ")"));
  line("    RIDGELINE_UNROLL\n    for (int e = 0; e < kEach; e += 4) {");
  line(fmt::format("      const Words words = philox({:#x}ull, step, static_cast<u64>(element + e) / 4);", t.key));
  line(fmt::format(
      "      RIDGELINE_UNROLL\n      for (int k = 0; k < 4; ++k) {}[e + k] = Real(uniform_of(words.w[k]));", name));
  line("    }\n  }");
  values_[index] = name + "[e]";
}

void TermWriter::term(std::size_t index) {
  const Term& t = expression_.terms[index];
  if (t.kind == Kind::operand) {
    const TermOperand& o = operands_[static_cast<std::size_t>(t.operand)];
    if (!o.step) define(index, o.one, loaded(o.type, o.value));
    return;
  }
  if (t.kind == Kind::constant) return define(index, true, constant(t.value, arithmetic_));
  if (t.kind == Kind::random_uniform) return draw(index, t);
  const std::int32_t arguments[] = {t.a, t.b, t.c};
  std::string given[3];
  bool one = true;
  for (int k = 0; k < loop::arity(t.kind); ++k) {
    given[k] = value(arguments[k]);
    one = one && one_[static_cast<std::size_t>(arguments[k])];
  }
  define(index, one, primitive(t.kind, given[0], given[1], given[2]));
}

}  // namespace ridgeline::cuda
