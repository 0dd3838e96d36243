#include "ridgeline/graph/loop/text.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "ridgeline/core/error.h"

namespace ridgeline::loop {
namespace {

// How tightly a printed piece binds; a looser piece inside a tighter one is put in parentheses.
enum Level { kCompare = 1, kAdd = 2, kMultiply = 3, kNegate = 4, kPrimary = 5 };

const char* function_name(Kind kind) {
  switch (kind) {
    case Kind::abs: return "abs";
    case Kind::exp: return "exp";
    case Kind::log: return "log";
    case Kind::sqrt: return "sqrt";
    case Kind::floor: return "floor";
    case Kind::round_bf16: return "bf16";
    case Kind::round_f16: return "f16";
    case Kind::cos: return "cos";
    case Kind::sin: return "sin";
    case Kind::max: return "max";
    case Kind::min: return "min";
    case Kind::select: return "select";
    default: return nullptr;
  }
}

struct Operator {
  const char* text;
  Level level;
};

Operator operator_of(Kind kind) {
  switch (kind) {
    case Kind::add: return {" + ", kAdd};
    case Kind::sub: return {" - ", kAdd};
    case Kind::mul: return {" * ", kMultiply};
    case Kind::div: return {" / ", kMultiply};
    case Kind::less: return {" < ", kCompare};
    case Kind::less_equal: return {" <= ", kCompare};
    case Kind::equal: return {" == ", kCompare};
    default: RIDGELINE_CHECK(false, "no operator");
  }
}

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, end.ptr};
}

std::string key_text(std::uint64_t key) {
  char buffer[20];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, key, 16);
  return "0x" + std::string(buffer, end.ptr);
}

class Printer {
 public:
  Printer(const Expression& expression, const std::vector<std::string>& names)
      : expression_(expression), names_(names), readers_(expression.terms.size(), 0), bound_(expression.terms.size()) {
    for (const Term& term : expression.terms) {
      const std::int32_t arguments[] = {term.a, term.b, term.c};
      for (int i = 0; i < arity(term.kind); ++i) ++readers_[static_cast<std::size_t>(arguments[i])];
    }
    for (const Result& result : expression.results) ++readers_[static_cast<std::size_t>(result.term)];
  }

  std::string print() {
    std::string text;
    int bindings = 0;
    for (std::size_t i = 0; i < expression_.terms.size(); ++i) {
      if (readers_[i] < 2 || arity(expression_.terms[i].kind) == 0) continue;
      const std::string name = "t" + std::to_string(bindings++);
      text += name + " = " + piece(static_cast<std::int32_t>(i), kCompare) + "; ";
      bound_[i] = name;
    }
    for (std::size_t i = 0; i < expression_.results.size(); ++i) {
      const Result& result = expression_.results[i];
      if (i > 0) text += "; ";
      const std::string value = piece(result.term, kCompare);
      text += result.ending == Ending::sum ? "sum(" + value + ")" : value;
      if (result.type != DType::f32) text += " : " + std::string(name_of(result.type));
    }
    return text;
  }

 private:
  std::string piece(std::int32_t index, int level) const {
    const Term& term = expression_.terms[static_cast<std::size_t>(index)];
    if (const std::string& name = bound_[static_cast<std::size_t>(index)]; !name.empty()) return name;
    std::string text;
    int own = kPrimary;
    switch (term.kind) {
      case Kind::operand:
        if (static_cast<std::size_t>(term.operand) < names_.size())
          return names_[static_cast<std::size_t>(term.operand)];
        return "x" + std::to_string(term.operand);
      case Kind::constant:
        text = number_text(term.value);
        if (text[0] == '-') own = kNegate;
        break;
      case Kind::neg: {
        // -(2) is the negation of a constant, -2 a constant.
        const bool number = expression_.terms[static_cast<std::size_t>(term.a)].kind == Kind::constant;
        text = number ? "-(" + piece(term.a, kCompare) + ")" : "-" + piece(term.a, kPrimary);
        own = kNegate;
        break;
      }
      case Kind::random_uniform: return "uniform(" + piece(term.a, kCompare) + ", " + key_text(term.key) + ")";
      default:
        if (const char* function = function_name(term.kind)) {
          text = std::string(function) + "(" + piece(term.a, kCompare);
          if (arity(term.kind) > 1) text += ", " + piece(term.b, kCompare);
          if (arity(term.kind) > 2) text += ", " + piece(term.c, kCompare);
          return text + ")";
        }
        const Operator op = operator_of(term.kind);
        own = op.level;
        // Left-associative; comparisons do not chain.
        text = piece(term.a, own == kCompare ? own + 1 : own) + op.text + piece(term.b, own + 1);
    }
    return own < level ? "(" + text + ")" : text;
  }

  const Expression& expression_;
  const std::vector<std::string>& names_;
  std::vector<int> readers_;
  std::vector<std::string> bound_;
};

}  // namespace

std::string to_string(const Expression& expression) { return to_string(expression, {}); }

std::string to_string(const Expression& expression, const std::vector<std::string>& operand_names) {
  check(expression);
  return Printer(expression, operand_names).print();
}

}  // namespace ridgeline::loop
