#include "ridgeline/device/cuda/loop/update_text.h"

#include <fmt/format.h>

#include "ridgeline/core/random.h"
#include "ridgeline/device/cuda/loop/terms.h"
#include "ridgeline/device/cuda/loop/text.h"

namespace ridgeline::cuda {
namespace {

constexpr std::size_t kMostStates = 8, kMostUpdateTerms = 96;

class UpdateWriter {
 public:
  UpdateWriter(const loop::Expression& expression, UpdateText& update) : expression_(expression), update_(update) {
    const DenseUpdate& at = update.at;
    for (std::size_t i = 0; i < at.states; ++i)
      operands_.push_back({fmt::format("states[{}][e]", i), DType::f32, false, false});
    operands_.push_back({"gradient[e]", DType::f32, false, false});
    for (std::size_t i = 0; i < update.scalars.size(); ++i)
      operands_.push_back({fmt::format("scalars.s{}", i), update.scalars[i], true, false});
  }

  void write() {
    sizes();
    parameters();
    out_ += update_groups_text();
    next_values();
    store_next();
    out_ += update_product_text();
    std::string text = std::string(numbers_text()) + std::string(tiles_text()) + out_;
    update_.name = fmt::format("dense_update_{:016x}", hash64(text));
    const std::string_view mark = "KERNEL(";
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at))
      text.replace(at, mark.size() - 1, update_.name);
    update_.text = std::move(text);
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    out_ += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  // Registers: two blocks on a multiprocessor leave a thread 128. 32 are sums, beside which up to 32 states are on
  // their way, and as many again when the sums have left.
  void sizes() {
    const std::size_t states = update_.at.states;
    const int ahead = states <= 1 ? 8 : states <= 2 ? 4 : states <= 4 ? 2 : 1;
    const int blocks = states <= 4 && expression_.terms.size() <= 48 ? 2 : 1;
    line("\nnamespace ridgeline::cuda {{\nusing Real = float;\nconstexpr int kEach = 4;");
    out_ += flush_text();
    line("constexpr int kOutputs = {}, kInputs = {}, kThreads = {}, kBlocks = {};", kUpdateOutputs, kUpdateInputs,
         kDenseUpdateThreads, blocks);
    line("constexpr int kStates = {}, kAhead = {};  // groups whose states a thread asks for at once", states, ahead);
    line("constexpr bool kF16 = {}, kBias = {}, kSquares = {};", update_.values == DType::f16, update_.at.bias,
         update_.at.squares);
  }

  // In the order of pack_update() in update_kernel.cpp.
  void parameters() {
    line("struct Parameters {{");
    line("  const u16 *x, *dy;");
    line("  const float* state[kStates];");
    line("  float* next[kStates];");
    for (std::size_t i = 0; i < update_.scalars.size(); ++i)
      line("  const {}* s{};", storage_of(update_.scalars[i]), i);
    for (std::size_t i = 0; i < update_.copies.size(); ++i) line("  {}* copy{};", storage_of(update_.copies[i]), i);
    line("  float* bias;");
    line("  double* squares;");
    line("  u32 rows, inputs, outputs;");
    line("  u32 wide, wide_x, wide_dy;  // whether groups of weights, and eight values, are one access");
    line("}};");
    line("struct Scalars {{");
    for (std::size_t i = 0; i < update_.scalars.size(); ++i) line("  {} s{};", storage_of(update_.scalars[i]), i);
    line("}};");
    line("RIDGELINE_DEVICE Scalars scalars_of(const Parameters& p) {{");
    line("  Scalars scalars;");
    for (std::size_t i = 0; i < update_.scalars.size(); ++i) line("  scalars.s{} = *p.s{};", i, i);
    line("  (void)p;\n  return scalars;\n}}");
    line("struct Next {{");
    line("  float state[kStates][kEach];");
    for (std::size_t i = 0; i < update_.copies.size(); ++i)
      line("  {} copy{}[kEach];", storage_of(update_.copies[i]), i);
    line("}};\n}}");
  }

  void next_values() {
    line("\nnamespace ridgeline::cuda {{");
    line("RIDGELINE_DEVICE void next_values(const Scalars& scalars, const float (&states)[kStates][kEach],");
    line("                                  const float (&gradient)[kEach], Next& next) {{");
    TermWriter terms(expression_, operands_, Arithmetic::f32);
    out_ += terms.statements();
    const std::size_t states = update_.at.states;
    for (std::size_t r = 0; r < expression_.results.size(); ++r) {
      const DType type = r < states ? DType::f32 : update_.copies[r - states];
      const std::string to = r < states ? fmt::format("state[{}]", r) : fmt::format("copy{}", r - states);
      out_ += TermWriter::each(fmt::format("next.{}[e] = {};", to, stored(type, terms.result(r))));
    }
    line("  (void)scalars, (void)states, (void)gradient;\n}}");
  }

  void store_next() {
    line("RIDGELINE_DEVICE void store_next(const Parameters& p, const Place& place, bool wide, const Next& next) {{");
    line("  RIDGELINE_UNROLL\n  for (int k = 0; k < kStates; ++k) store_group(next.state[k], place, wide, p.next[k]);");
    for (std::size_t i = 0; i < update_.copies.size(); ++i)
      line("  store_group(next.copy{}, place, wide, p.copy{});", i, i);
    line("}}\n}}");
  }

  const loop::Expression& expression_;
  UpdateText& update_;
  std::vector<TermOperand> operands_;
  std::string out_;
};

}  // namespace

std::variant<UpdateText, Refusal> update_text(const loop::Expression& given, const DenseUpdate& at, DType values,
                                              std::span<const DType> scalars, std::span<const DType> copies) {
  const loop::Expression expression = loop::canonical(given);
  if (values != DType::bf16 && values != DType::f16)
    return Refusal{fmt::format("x is {}, tensor cores multiply bf16 and f16", name_of(values))};
  if (at.states > kMostStates) return Refusal{fmt::format("more than {} states", kMostStates)};
  if (expression.terms.size() > kMostUpdateTerms)
    return Refusal{fmt::format("an update of more than {} terms", kMostUpdateTerms)};
  for (const loop::Term& t : expression.terms) {
    if (t.kind == loop::Kind::random_uniform) return Refusal{"random numbers in an update"};
  }
  UpdateText update{{}, {}, at, values, {scalars.begin(), scalars.end()}, {copies.begin(), copies.end()}};
  UpdateWriter(expression, update).write();
  return update;
}

}  // namespace ridgeline::cuda
