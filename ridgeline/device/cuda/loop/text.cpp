#include "ridgeline/device/cuda/loop/text.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "ridgeline/core/error.h"
#include "ridgeline/core/sha256.h"
#include "ridgeline/device/cuda/loop/access.h"
#include "ridgeline/graph/op/pointwise.h"

namespace ridgeline::cuda {
namespace {

using loop::Ending;
using loop::Expression;
using loop::Kind;
using loop::Term;

constexpr std::size_t kMostTerms = 256;

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

// What is the same in all loops: their parameters, loads and stores of groups.
constexpr std::string_view kCommon = R"text(
namespace ridgeline::cuda {

// An axis of the loop and what an operand advances along it.
struct Axis {
  Divisor extent;
  i64 stride;
};

template <class T>
struct alignas(sizeof(T) * kEach > 16 ? 16 : sizeof(T) * kEach) Group {
  T at[kEach];
};

template <class T>
RIDGELINE_DEVICE void load_group(const T* from, int count, bool wide, T (&to)[kEach]) {
  if (wide && count == kEach) {
    const Group<T> group = *reinterpret_cast<const Group<T>*>(from);
    RIDGELINE_UNROLL
    for (int e = 0; e < kEach; ++e) to[e] = group.at[e];
  } else {
    RIDGELINE_UNROLL
    for (int e = 0; e < kEach; ++e) to[e] = e < count ? from[e] : T(0);
  }
}

template <class T>
RIDGELINE_DEVICE void store_group(const T (&from)[kEach], int count, bool wide, T* to) {
  if (wide && count == kEach) {
    Group<T> group;
    RIDGELINE_UNROLL
    for (int e = 0; e < kEach; ++e) group.at[e] = from[e];
    *reinterpret_cast<Group<T>*>(to) = group;
  } else {
    RIDGELINE_UNROLL
    for (int e = 0; e < kEach; ++e) {
      if (e < count) to[e] = from[e];
    }
  }
}

template <int kAxes>
RIDGELINE_DEVICE i64 offset_of(const Axis (&axes)[kAxes], u32 element) {
  i64 offset = 0;
  RIDGELINE_UNROLL
  for (int axis = 0; axis < kAxes; ++axis) offset += static_cast<i64>(axes[axis].extent.split(element)) * axes[axis].stride;
  return offset;
}
)text";

// How a loop without sums runs, on a card and on the CPU.
constexpr std::string_view kPlainRun = R"text(
RIDGELINE_DEVICE void run_thread(const Parameters& p, u32 block, int thread) {
  u32 tensor = 0;
  if (kTensors > 1) {
    u32 high = kTensors;
    while (high - tensor > 1) {
      const u32 middle = (tensor + high) / 2;
      if (p.first[middle] <= block) tensor = middle; else high = middle;
    }
  }
  const i64 element = (static_cast<i64>(block - p.first[tensor]) * kThreads + thread) * kEach;
  if (element < p.elements[tensor]) compute(p, tensor, element, nullptr);
}
}  // namespace ridgeline::cuda

#if defined(__CUDACC__)
extern "C" __global__ void __launch_bounds__(ridgeline::cuda::kThreads, 1)
    KERNEL(const __grid_constant__ ridgeline::cuda::Parameters p) {
  ridgeline::cuda::run_thread(p, blockIdx.x, static_cast<int>(threadIdx.x));
}
#else
extern "C" void KERNEL(const unsigned* grid, const unsigned*, unsigned, const void* parameters) {
  const ridgeline::cuda::FlushedDenormals flush;
  const auto& p = *static_cast<const ridgeline::cuda::Parameters*>(parameters);
  for (unsigned block = 0; block < grid[0]; ++block) {
    for (int thread = 0; thread < ridgeline::cuda::kThreads; ++thread) ridgeline::cuda::run_thread(p, block, thread);
  }
}
#endif
)text";

// How one with sums runs: a thread adds up each of its groups, then the threads of a block by a tree.
constexpr std::string_view kSumRun = R"text(
RIDGELINE_DEVICE void run_thread(const Parameters& p, u32 block, u32 blocks, int thread, double (&sums)[kSums]) {
  RIDGELINE_UNROLL
  for (int s = 0; s < kSums; ++s) sums[s] = 0;
  for (i64 group = static_cast<i64>(block) * kThreads + thread; group * kEach < p.elements[0];
       group += static_cast<i64>(blocks) * kThreads)
    compute(p, 0, group * kEach, sums);
}
}  // namespace ridgeline::cuda

#if defined(__CUDACC__)
extern "C" __global__ void __launch_bounds__(ridgeline::cuda::kThreads, 1)
    KERNEL(const __grid_constant__ ridgeline::cuda::Parameters p) {
  using namespace ridgeline::cuda;
  __shared__ double shared[kSums][kThreads];
  const int thread = static_cast<int>(threadIdx.x);
  double sums[kSums];
  run_thread(p, blockIdx.x, gridDim.x, thread, sums);
  RIDGELINE_UNROLL
  for (int s = 0; s < kSums; ++s) shared[s][thread] = sums[s];
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (thread < half) {
      RIDGELINE_UNROLL
      for (int s = 0; s < kSums; ++s) shared[s][thread] += shared[s][thread + half];
    }
    __syncthreads();
  }
  if (thread < kSums) p.partial[static_cast<i64>(thread) * gridDim.x + blockIdx.x] = shared[thread][0];
}
#else
extern "C" void KERNEL(const unsigned* grid, const unsigned*, unsigned, const void* parameters) {
  using namespace ridgeline::cuda;
  const FlushedDenormals flush;
  const auto& p = *static_cast<const Parameters*>(parameters);
  for (unsigned block = 0; block < grid[0]; ++block) {
    double shared[kThreads][kSums];
    for (int thread = 0; thread < kThreads; ++thread) run_thread(p, block, grid[0], thread, shared[thread]);
    for (int half = kThreads / 2; half > 0; half /= 2) {
      for (int thread = 0; thread < half; ++thread) {
        for (int s = 0; s < kSums; ++s) shared[thread][s] += shared[thread + half][s];
      }
    }
    for (int s = 0; s < kSums; ++s) p.partial[static_cast<i64>(s) * grid[0] + block] = shared[0][s];
  }
}
#endif
)text";

// For texts that g++ compiles: the effect of NVRTC's -ftz=true.
constexpr std::string_view kFlush = R"text(
#if !defined(__CUDACC__)
class FlushedDenormals {
 public:
  FlushedDenormals() : saved_(__builtin_ia32_stmxcsr()) { __builtin_ia32_ldmxcsr(saved_ | 0x8040u); }
  ~FlushedDenormals() { __builtin_ia32_ldmxcsr(saved_); }

 private:
  u32 saved_;
};
#endif
)text";

class Writer {
 public:
  Writer(const Expression& expression, LoopText& loop)
      : expression_(expression), loop_(loop), values_(expression.terms.size()), scalar_(expression.terms.size()) {}

  void write() {
    parameters();
    line("RIDGELINE_DEVICE void compute(const Parameters& p, u32 tensor, i64 element, double* sums) {{");
    line("  const i64 left = p.elements[tensor] - element;");
    line("  const int count = left < kEach ? static_cast<int>(left) : kEach;");
    line("  const bool wide = p.wide != 0;");
    for (std::size_t i = 0; i < loop_.operands.size(); ++i) load(i);
    for (std::size_t t = 0; t < expression_.terms.size(); ++t) term(t);
    for (std::size_t r = 0; r < loop_.results.size(); ++r) result(r);
    line("  (void)tensor, (void)count, (void)wide, (void)sums;");
    line("}}");
    const std::string body =
        fmt::format(
            "\nnamespace ridgeline::cuda {{\nusing Real = {};\nconstexpr int kEach = {}, kThreads = {}, kSums = {};\n"
            "constexpr u32 kTensors = {};\n}}\n",
            loop_.arithmetic == Arithmetic::f64 ? "double" : "float", loop_.each, kLoopThreads,
            std::max(loop_.sum_count, 1), loop_.tensors) +
        std::string(kCommon) + std::string(kFlush) + out_ + std::string(loop_.sum_count > 0 ? kSumRun : kPlainRun);
    std::string text = std::string(numbers_text()) + body;
    loop_.name = "loop_" + Sha256().update(text).hex().substr(0, 16);
    for (std::size_t at = text.find("KERNEL("); at != std::string::npos; at = text.find("KERNEL(", at))
      text.replace(at, 6, loop_.name);
    loop_.text = std::move(text);
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    out_ += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }
  // A line for each element of the group.
  void each(const std::string& statement) {
    line("  RIDGELINE_UNROLL\n  for (int e = 0; e < kEach; ++e) {}", statement);
  }

  // In the order of LoopParameters (parameters.h).
  void parameters() {
    line("struct Parameters {{");
    line("  i64 elements[kTensors];");
    line("  u32 first[kTensors + 1];");
    line("  u32 wide;");
    for (std::size_t i = 0; i < loop_.operands.size(); ++i) {
      const LoopAccess& o = loop_.operands[i];
      line("  const {}* x{}{};", storage_of(o.type), i, o.kind == LoopAccess::direct ? "[kTensors]" : "");
      if (o.strided()) line("  Axis axes{}[{}];", i, o.extents.size());
    }
    for (std::size_t r = 0; r < loop_.results.size(); ++r) {
      if (loop_.sums[r] < 0) line("  {}* y{}[kTensors];", storage_of(loop_.results[r]), r);
    }
    if (loop_.sum_count > 0) line("  double* partial;");
    line("}};");
  }

  void load(std::size_t i) {
    const LoopAccess& o = loop_.operands[i];
    const std::string_view type = storage_of(o.type);
    switch (o.kind) {
      case LoopAccess::unused: return;
      case LoopAccess::direct:
        line("  {} g{}[kEach];", type, i);
        line("  load_group(p.x{}[tensor] + element, count, wide, g{});", i, i);
        return;
      case LoopAccess::scalar:
      case LoopAccess::step: line("  const {} g{} = *p.x{};", type, i, i); return;
      case LoopAccess::run:
        line("  {} g{}[kEach];", type, i);
        line("  load_group(p.x{} + offset_of(p.axes{}, static_cast<u32>(element)), kEach, wide, g{});", i, i, i);
        return;
      case LoopAccess::repeated:
        line("  const {} g{} = p.x{}[offset_of(p.axes{}, static_cast<u32>(element))];", type, i, i, i);
        return;
      case LoopAccess::scattered:
        line("  {} g{}[kEach];", type, i);
        each(fmt::format(
            "g{}[e] = e < count ? p.x{}[offset_of(p.axes{}, static_cast<u32>(element) + static_cast<u32>(e))] : {}(0);",
            i, i, i, type));
        return;
    }
  }

  // The value of a term in the statement for element e.
  std::string value(std::int32_t t) const {
    if (t < 0) return "";
    return values_[static_cast<std::size_t>(t)];
  }
  bool is_scalar(std::int32_t t) const { return scalar_[static_cast<std::size_t>(t)]; }

  void term(std::size_t index) {
    const Term& t = expression_.terms[index];
    const std::string name = fmt::format("t{}", index);
    if (t.kind == Kind::operand) {
      const auto i = static_cast<std::size_t>(t.operand);
      const LoopAccess& o = loop_.operands[i];
      if (o.kind == LoopAccess::step) return;  // read where numbers are drawn
      const bool one = o.kind == LoopAccess::scalar || o.kind == LoopAccess::repeated;
      scalar_[index] = one;
      if (one) {
        line("  const Real {} = {};", name, loaded(o.type, fmt::format("g{}", i)));
      } else {
        line("  Real {}[kEach];", name);
        each(fmt::format("{}[e] = {};", name, loaded(o.type, fmt::format("g{}[e]", i))));
      }
    } else if (t.kind == Kind::constant) {
      scalar_[index] = true;
      line("  const Real {} = {};", name, constant(t.value, loop_.arithmetic));
    } else if (t.kind == Kind::random_uniform) {
      const std::int32_t step = expression_.terms[static_cast<std::size_t>(t.a)].operand;
      const LoopAccess& o = loop_.operands[static_cast<std::size_t>(step)];
      line("  Real {}[kEach];", name);
      line("  {{");
      const bool whole =
          o.type == DType::i64 || o.type == DType::i32 || o.type == DType::u8 || o.type == DType::boolean;
      line("    const u64 step = static_cast<u64>(static_cast<i64>({}));",
           whole ? fmt::format("g{}", step) : "double(" + loaded(o.type, fmt::format("g{}", step)) + ")");
      line("    RIDGELINE_UNROLL\n    for (int e = 0; e < kEach; e += 4) {{");
      line("      const Words words = philox({:#x}ull, step, static_cast<u64>(element + e) / 4);", t.key);
      line("      RIDGELINE_UNROLL\n      for (int k = 0; k < 4; ++k) {}[e + k] = Real(uniform_of(words.w[k]));", name);
      line("    }}\n  }}");
    } else {
      const std::int32_t arguments[] = {t.a, t.b, t.c};
      bool all = true;
      for (int k = 0; k < loop::arity(t.kind); ++k) all = all && is_scalar(arguments[k]);
      scalar_[index] = all;
      const std::string expression = primitive(t.kind, value(t.a), value(t.b), value(t.c));
      if (all) {
        line("  const Real {} = {};", name, expression);
      } else {
        line("  Real {}[kEach];", name);
        each(fmt::format("{}[e] = {};", name, expression));
      }
    }
    values_[index] = scalar_[index] ? name : name + "[e]";
  }

  void result(std::size_t r) {
    const std::string of = value(expression_.results[r].term);
    if (loop_.sums[r] >= 0) {
      each(fmt::format("sums[{}] += e < count ? double({}) : 0.0;", loop_.sums[r], of));
      return;
    }
    line("  {{");
    line("    {} group[kEach];", storage_of(loop_.results[r]));
    each("  group[e] = " + stored(loop_.results[r], of) + ";");
    line("    store_group(group, count, wide, p.y{}[tensor] + element);", r);
    line("  }}");
  }

  const Expression& expression_;
  LoopText& loop_;
  std::string out_;
  std::vector<std::string> values_;  // by term
  std::vector<bool> scalar_;         // by term: one value for all elements of a group
};

}  // namespace

std::variant<LoopText, Refusal> loop_text(const Expression& given, Arithmetic arithmetic, const Shape& shape,
                                          std::span<const ValueType> operands, std::span<const DType> results,
                                          int tensors) {
  const Expression expression = loop::canonical(given);
  if (expression.terms.size() > kMostTerms) return Refusal{fmt::format("a loop of more than {} terms", kMostTerms)};
  LoopText loop;
  loop.arithmetic = arithmetic;
  loop.tensors = tensors;
  loop.results.assign(results.begin(), results.end());
  for (const loop::Result& r : expression.results) loop.sums.push_back(r.ending == Ending::sum ? loop.sum_count++ : -1);
  if (tensors > 1) {
    if (loop.sum_count > 0) return Refusal{"a sum over all elements of many tensors"};
    for (const Term& t : expression.terms) {
      if (t.kind == Kind::random_uniform) return Refusal{"random numbers in an update"};  // they count elements
    }
  }
  // Eight elements to a group where nothing is wider than two bytes.
  bool narrow = arithmetic == Arithmetic::f32;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const bool array = operands[i].shape.elements() != 1 || shape.elements() == 1;
    if (array && reads_operand(expression, static_cast<int>(i))) narrow = narrow && size_of(operands[i].dtype) <= 2;
  }
  for (std::size_t r = 0; r < results.size(); ++r) narrow = narrow && (loop.sums[r] >= 0 || size_of(results[r]) <= 2);
  loop.each = narrow ? 8 : 4;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    LoopAccess access = loop_access(expression, static_cast<int>(i), operands[i], shape, loop.each, tensors);
    if (access.extents.size() > kLoopAxes)
      return Refusal{fmt::format("operand {} is broadcast along more than {} axes", i, kLoopAxes)};
    if (access.strided() && shape.elements() > (std::int64_t{1} << 31) - 1)
      return Refusal{"a broadcast over more than 2^31 elements"};
    if (tensors > 1 && access.strided()) return Refusal{"a broadcast over many tensors"};
    loop.operands.push_back(std::move(access));
  }
  Writer(expression, loop).write();
  return loop;
}

}  // namespace ridgeline::cuda
