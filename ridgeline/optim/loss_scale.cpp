#include "ridgeline/optim/loss_scale.h"

#include <charconv>
#include <cmath>
#include <vector>

#include "ridgeline/core/error.h"

namespace ridgeline::optim {
namespace {

constexpr double kMost = 3.4e38;

[[noreturn]] void refuse_scale(const std::string& text) { throw Error(text, ErrorKind::usage); }

}  // namespace

LossScale LossScale::fixed(double scale, bool drop_overflow_update) {
  LossScale rule{.initial = scale, .skip_overflow = drop_overflow_update};
  rule.check();
  return rule;
}

LossScale LossScale::dynamic(double init, double factor, std::int64_t window) {
  if (!(factor > 1)) refuse_scale("the factor of a dynamic loss scale must be above 1");
  LossScale rule{.initial = init, .grow = factor, .grow_every = window, .shrink = 1 / factor};
  if (window < 1) refuse_scale("the window of a dynamic loss scale must be 1 or more");
  rule.check();
  return rule;
}

LossScale LossScale::exponential(double init, std::int64_t incr_every, std::int64_t decr_every, double incr_ratio,
                                 double decr_ratio) {
  LossScale rule{
      .initial = init, .grow = incr_ratio, .grow_every = incr_every, .shrink = decr_ratio, .shrink_every = decr_every};
  if (incr_every < 1) refuse_scale("incr_every_n_steps of an exponential loss scale must be 1 or more");
  rule.check();
  return rule;
}

void LossScale::check() const {
  if (!(initial >= 1)) refuse_scale("loss scale must be at least 1.");
  if (initial > kMost) refuse_scale("loss scale must be at most 3.4e38");
  if (!(grow >= 1) || !std::isfinite(grow)) refuse_scale("a loss scale grows by a ratio of 1 or more");
  if (!(shrink > 0 && shrink <= 1)) refuse_scale("a loss scale shrinks by a ratio in (0, 1]");
  if (grow_every < 0 || shrink_every < 1) refuse_scale("a loss scale counts whole steps, 1 or more");
}

loop::Expression LossScale::rule() const {
  return loop::define<5>([this](loop::Expr scale, loop::Expr clean, loop::Expr bad, loop::Expr in_a_row,
                                loop::Expr overflow) -> std::vector<loop::Expr> {
    using loop::Expr;
    const Expr shrinks = bad + 1 >= shrink_every;
    const Expr smaller = select(shrinks, max(scale * shrink, 1.0), scale);
    const Expr grows = grow_every == 0 ? scale < 0.0 : clean + 1 >= grow_every;
    const Expr larger = select(grows, min(scale * grow, kMost), scale);
    const Expr clean_steps = select(grows, 0.0 * clean, clean + 1);
    const Expr overflows = select(shrinks, 0.0 * bad, bad + 1);
    return {select(overflow, smaller, larger), select(overflow, 0.0 * clean, clean_steps),
            select(overflow, overflows, 0.0 * bad), select(overflow, in_a_row + 1, 0.0 * in_a_row)};
  });
}

LossScale parse_loss_scale(const std::string& text) {
  const std::string forms =
      "'" + text +
      "' is no loss scale (allowed: a number, dynamic, dynamic,INIT,FACTOR,WINDOW, exponential,INIT,INCR_EVERY, "
      "exponential,INIT,INCR_EVERY,DECR_EVERY,INCR_RATIO,DECR_RATIO)";
  std::vector<double> numbers;
  std::string kind;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    double value = 0;
    const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    const bool number = error == std::errc() && rest == word.data() + word.size();
    if (!number && begin > 0) refuse_scale(forms);
    if (number) {
      numbers.push_back(value);
    } else {
      kind = word;
    }
    begin = end + 1;
  }
  const auto whole = [&](std::size_t i) {
    if (numbers[i] != std::floor(numbers[i]) || std::abs(numbers[i]) > 1e15) refuse_scale(forms);
    return static_cast<std::int64_t>(numbers[i]);
  };
  if (kind.empty() && numbers.size() == 1) return LossScale::fixed(numbers[0]);
  if (kind == "dynamic" && numbers.empty()) return LossScale::dynamic();
  if (kind == "dynamic" && numbers.size() == 3) return LossScale::dynamic(numbers[0], numbers[1], whole(2));
  if (kind == "exponential" && numbers.size() == 2) return LossScale::exponential(numbers[0], whole(1));
  if (kind == "exponential" && numbers.size() == 5) {
    return LossScale::exponential(numbers[0], whole(1), whole(2), numbers[3], numbers[4]);
  }
  refuse_scale(forms);
}

}  // namespace ridgeline::optim
