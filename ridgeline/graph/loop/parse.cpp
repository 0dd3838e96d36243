// The other direction of text.h: recursive descent over the grammar given there.
#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <optional>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/loop/builder.h"
#include "ridgeline/graph/loop/text.h"

namespace ridgeline::loop {
namespace {

constexpr int kMaxDepth = 256;  // of nesting: a bound on the parser's stack

const std::map<std::string_view, Kind>& functions() {
  static const std::map<std::string_view, Kind> table = {
      {"abs", Kind::abs},     {"exp", Kind::exp},         {"log", Kind::log},       {"sqrt", Kind::sqrt},
      {"floor", Kind::floor}, {"bf16", Kind::round_bf16}, {"f16", Kind::round_f16}, {"cos", Kind::cos},
      {"sin", Kind::sin},     {"max", Kind::max},         {"min", Kind::min},       {"select", Kind::select}};
  return table;
}

class Parser {
 public:
  Parser(std::string_view text, int operands) : text_(text), operands_(operands) {}

  Expression parse() {
    do {
      result_or_binding();
    } while (take(";"));
    skip_space();
    if (at_ != text_.size()) fail("expected ';' or the end");
    if (results_ == 0) fail("expected a result");
    return builder_.finish(operands_ >= 0 ? operands_ : seen_operands_);
  }

 private:
  void result_or_binding() {
    const std::size_t start = at_;
    const std::string_view name = word();
    if (!name.empty() && take("=") && !(at_ < text_.size() && text_[at_] == '=')) {
      if (name[0] != 't' || !all_digits(name.substr(1))) fail("only t0, t1, ... can be bound");
      if (!bound_.emplace(std::string(name), comparison()).second) fail(std::string(name) + " is bound twice");
      return;
    }
    at_ = start;
    ++results_;
    if (word() == "sum" && take("(")) {
      builder_.sum(comparison());
      expect(")");
      return;
    }
    at_ = start;
    const Expr value = comparison();
    builder_.store(value, take(":") ? storage_type() : DType::f32);
  }

  DType storage_type() {
    const std::size_t start = at_;
    const std::optional<DType> type = parse_dtype(word());
    if (type && kLoopStorage.contains(*type)) return *type;
    at_ = start;
    fail("expected one of " + kLoopStorage.to_string());
  }

  Expr comparison() {
    if (++depth_ > kMaxDepth) fail("nested too deeply");
    Expr left = sum_of_products();
    if (take("<="))
      left = left <= sum_of_products();
    else if (take("<"))
      left = left < sum_of_products();
    else if (take("=="))
      left = left == sum_of_products();
    --depth_;
    return left;
  }

  Expr sum_of_products() {
    Expr left = product();
    while (true) {
      if (take("+"))
        left = left + product();
      else if (take("-"))
        left = left - product();
      else
        return left;
    }
  }

  Expr product() {
    Expr left = signed_value();
    while (true) {
      if (take("*"))
        left = left * signed_value();
      else if (take("/"))
        left = left / signed_value();
      else
        return left;
    }
  }

  Expr signed_value() {
    if (!take("-")) return primary();
    if (number_ahead()) return builder_.constant(-number());
    if (++depth_ > kMaxDepth) fail("nested too deeply");
    const Expr value = -signed_value();
    --depth_;
    return value;
  }

  Expr primary() {
    if (take("(")) {
      const Expr inside = comparison();
      expect(")");
      return inside;
    }
    if (number_ahead()) return builder_.constant(number());
    const std::size_t start = at_;
    const std::string_view name = word();
    if (name.empty()) fail("expected a value");
    if (name == "uniform") return random_uniform();
    if (const auto function = functions().find(name); function != functions().end()) return call(function->second);
    if (name[0] == 'x' && all_digits(name.substr(1))) return operand(name.substr(1));
    if (const auto bound = bound_.find(name); bound != bound_.end()) return bound->second;
    at_ = start;
    std::vector<std::string> known = {"uniform", "sum"};
    for (const auto& [text, kind] : functions()) known.emplace_back(text);
    const std::string near = nearest_name(name, known);
    fail("unknown name '" + std::string(name) + "'" + (near.empty() ? "" : " (did you mean " + near + "?)"));
  }

  Expr call(Kind kind) {
    expect("(");
    const Expr a = comparison();
    if (arity(kind) == 1) {
      expect(")");
      return apply(kind, a);
    }
    expect(",");
    const Expr b = comparison();
    if (arity(kind) == 2) {
      expect(")");
      return apply(kind, a, b);
    }
    expect(",");
    const Expr c = comparison();
    expect(")");
    return apply(kind, a, b, c);
  }

  Expr random_uniform() {
    expect("(");
    skip_space();
    const std::string_view name = word();
    if (name.size() < 2 || name[0] != 'x' || !all_digits(name.substr(1)))
      fail("the step of uniform must be an operand");
    const Expr step = operand(name.substr(1));
    expect(",");
    skip_space();
    const bool hex = text_.substr(at_).starts_with("0x");
    if (hex) at_ += 2;
    std::uint64_t key = 0;
    const auto end = std::from_chars(text_.data() + at_, text_.data() + text_.size(), key, hex ? 16 : 10);
    if (end.ec != std::errc()) fail("expected the key of uniform, an unsigned 64-bit integer");
    at_ = static_cast<std::size_t>(end.ptr - text_.data());
    expect(")");
    return uniform(step, key);
  }

  Expr operand(std::string_view digits) {
    int index = 0;
    const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (end.ec != std::errc() || index > 1 << 20) fail("operand number out of range");
    if (operands_ >= 0 && index >= operands_) {
      fail("x" + std::to_string(index) + " is outside the " + std::to_string(operands_) + " operands");
    }
    seen_operands_ = std::max(seen_operands_, index + 1);
    return builder_.operand(index);
  }

  bool number_ahead() {
    skip_space();
    const std::string_view rest = text_.substr(at_);
    if (rest.empty()) return false;
    if ((rest[0] >= '0' && rest[0] <= '9') || rest[0] == '.') return true;
    return rest.starts_with("inf") || rest.starts_with("nan");
  }

  double number() {
    double value = 0;
    const auto end = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (end.ec != std::errc()) fail("expected a number");
    at_ = static_cast<std::size_t>(end.ptr - text_.data());
    return value;
  }

  std::string_view word() {
    skip_space();
    const std::size_t start = at_;
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    while (at_ < text_.size() && (letter(text_[at_]) || (at_ > start && text_[at_] >= '0' && text_[at_] <= '9'))) ++at_;
    return text_.substr(start, at_ - start);
  }

  static bool all_digits(std::string_view s) {
    return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }

  bool take(std::string_view token) {
    skip_space();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  void expect(std::string_view token) {
    if (!take(token)) fail("expected '" + std::string(token) + "'");
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error("[loop] " + what + " at character " + std::to_string(at_ + 1) + " of '" + std::string(text_) + "'");
  }

  std::string_view text_;
  int operands_;
  std::size_t at_ = 0;
  int depth_ = 0;
  int seen_operands_ = 0;
  int results_ = 0;
  Builder builder_;
  std::map<std::string, Expr, std::less<>> bound_;
};

}  // namespace

Expression parse(std::string_view text, int operands) { return Parser(text, operands).parse(); }

}  // namespace ridgeline::loop
