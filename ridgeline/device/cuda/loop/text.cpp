#include "ridgeline/device/cuda/loop/text.h"

#include <algorithm>

#include <fmt/format.h>

#include "ridgeline/core/error.h"
#include "ridgeline/core/random.h"
#include "ridgeline/device/cuda/loop/access.h"
#include "ridgeline/device/cuda/loop/terms.h"
#include "ridgeline/graph/op/pointwise.h"

namespace ridgeline::cuda {
namespace {

using loop::Ending;
using loop::Expression;
using loop::Kind;
using loop::Term;

constexpr std::size_t kMostTerms = 256;

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

class Writer {
 public:
  Writer(const Expression& expression, LoopText& loop) : expression_(expression), loop_(loop) {
    for (std::size_t i = 0; i < loop.operands.size(); ++i) operands_.push_back(term_operand(loop.operands[i], i));
  }

  void write() {
    parameters();
    line("RIDGELINE_DEVICE void compute(const Parameters& p, u32 tensor, i64 element, double* sums) {{");
    line("  const i64 left = p.elements[tensor] - element;");
    line("  const int count = left < kEach ? static_cast<int>(left) : kEach;");
    line("  const bool wide = p.wide != 0;");
    for (std::size_t i = 0; i < loop_.operands.size(); ++i) load(i);
    TermWriter terms(expression_, operands_, loop_.arithmetic);
    out_ += terms.statements();
    for (std::size_t r = 0; r < loop_.results.size(); ++r) result(r, terms.result(r));
    line("  (void)tensor, (void)count, (void)wide, (void)sums;");
    line("}}");
    const std::string body =
        fmt::format(
            "\nnamespace ridgeline::cuda {{\nusing Real = {};\nconstexpr int kEach = {}, kThreads = {}, kSums = {};\n"
            "constexpr u32 kTensors = {};\n}}\n",
            loop_.arithmetic == Arithmetic::f64 ? "double" : "float", loop_.each, kLoopThreads,
            std::max(loop_.sum_count, 1), loop_.tensors) +
        std::string(kCommon) + std::string(flush_text()) + out_ +
        std::string(loop_.sum_count > 0 ? kSumRun : kPlainRun);
    std::string text = std::string(numbers_text()) + body;
    loop_.name = fmt::format("loop_{:016x}", hash64(text));
    for (std::size_t at = text.find("KERNEL("); at != std::string::npos; at = text.find("KERNEL(", at))
      text.replace(at, 6, loop_.name);
    loop_.text = std::move(text);
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    out_ += fmt::format(format, std::forward<Args>(args)...) + "\n";
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
        out_ += TermWriter::each(fmt::format(
            "g{}[e] = e < count ? p.x{}[offset_of(p.axes{}, static_cast<u32>(element) + static_cast<u32>(e))] : {}(0);",
            i, i, i, type));
        return;
    }
  }

  static TermOperand term_operand(const LoopAccess& o, std::size_t i) {
    const bool step = o.kind == LoopAccess::step;
    const bool one = step || o.kind == LoopAccess::scalar || o.kind == LoopAccess::repeated;
    return {fmt::format("g{}{}", i, one ? "" : "[e]"), o.type, one, step};
  }

  void result(std::size_t r, const std::string& of) {
    if (loop_.sums[r] >= 0) {
      out_ += TermWriter::each(fmt::format("sums[{}] += e < count ? double({}) : 0.0;", loop_.sums[r], of));
      return;
    }
    line("  {{");
    line("    {} group[kEach];", storage_of(loop_.results[r]));
    out_ += TermWriter::each("  group[e] = " + stored(loop_.results[r], of) + ";");
    line("    store_group(group, count, wide, p.y{}[tensor] + element);", r);
    line("  }}");
  }

  const Expression& expression_;
  LoopText& loop_;
  std::vector<TermOperand> operands_;
  std::string out_;
};

}  // namespace

std::string_view flush_text() {
  return R"text(
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
}

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
