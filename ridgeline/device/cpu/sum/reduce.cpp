#include <bit>
#include <cmath>
#include <limits>

#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/common.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/device/cpu/sum/reduce.cpp"
#include "ridgeline/device/cpu/simd_targets.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ridgeline/device/cpu/virtual_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ridgeline::device::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows are summed in f32 over this many, then in double: the error stays near 64 roundings of f32 whatever the length.
constexpr std::int64_t kBlockRows = 64;

// partial[c] = sum of x[row*inner + c] over `rows` rows.
void sum_rows(const float* HWY_RESTRICT x, std::int64_t rows, std::int64_t inner, double* HWY_RESTRICT partial) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  HWY_ALIGN float sums[4 * HWY_LANES(float)];
  for (std::int64_t c = 0; c < inner; ++c) partial[c] = 0;
  for (std::int64_t block = 0; block < rows; block += kBlockRows) {
    const std::int64_t last = std::min(rows, block + kBlockRows);
    std::int64_t c = 0;
    for (; c + 4 * lanes <= inner; c += 4 * lanes) {
      auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
      for (std::int64_t row = block; row < last; ++row) {
        const float* at = x + row * inner + c;
        s0 = hn::Add(s0, hn::LoadU(d, at));
        s1 = hn::Add(s1, hn::LoadU(d, at + lanes));
        s2 = hn::Add(s2, hn::LoadU(d, at + 2 * lanes));
        s3 = hn::Add(s3, hn::LoadU(d, at + 3 * lanes));
      }
      hn::Store(s0, d, sums);
      hn::Store(s1, d, sums + lanes);
      hn::Store(s2, d, sums + 2 * lanes);
      hn::Store(s3, d, sums + 3 * lanes);
      for (std::int64_t i = 0; i < 4 * lanes; ++i) partial[c + i] += static_cast<double>(sums[i]);
    }
    for (; c + lanes <= inner; c += lanes) {
      auto s = hn::Zero(d);
      for (std::int64_t row = block; row < last; ++row) s = hn::Add(s, hn::LoadU(d, x + row * inner + c));
      hn::Store(s, d, sums);
      for (std::int64_t i = 0; i < lanes; ++i) partial[c + i] += static_cast<double>(sums[i]);
    }
    for (; c < inner; ++c) {
      float s = 0;
      for (std::int64_t row = block; row < last; ++row) s += x[row * inner + c];
      partial[c] += static_cast<double>(s);
    }
  }
}

// Larger of the two; a NaN on either side wins, and the first one stays.
template <class D, class V>
HWY_INLINE V max_or_nan(D /*d*/, V best, V v) {
  return hn::IfThenElse(hn::AndNot(hn::Le(v, best), hn::Eq(best, best)), v, best);
}

void max_rows(const float* HWY_RESTRICT x, std::int64_t rows, std::int64_t inner, double* HWY_RESTRICT partial) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  HWY_ALIGN float best[HWY_LANES(float)];
  std::int64_t c = 0;
  for (; c + lanes <= inner; c += lanes) {
    auto m = hn::LoadU(d, x + c);
    for (std::int64_t row = 1; row < rows; ++row) m = max_or_nan(d, m, hn::LoadU(d, x + row * inner + c));
    hn::Store(m, d, best);
    for (std::int64_t i = 0; i < lanes; ++i) partial[c + i] = static_cast<double>(best[i]);
  }
  for (; c < inner; ++c) {
    float m = x[c];
    for (std::int64_t row = 1; row < rows; ++row) {
      const float v = x[row * inner + c];
      if (!(v <= m) && m == m) m = v;
    }
    partial[c] = static_cast<double>(m);
  }
}

double sum_contiguous(const float* HWY_RESTRICT x, std::int64_t n) {
  return sum_in_virtual_lanes(
      x, n, [](auto sum, auto v) HWY_ATTR { return hn::Add(sum, v); }, [](float v) { return static_cast<double>(v); });
}

double max_contiguous(const float* HWY_RESTRICT x, std::int64_t n) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  float best = x[0];
  std::int64_t i = 0;
  if (n >= lanes) {
    auto m = hn::LoadU(d, x);
    for (i = lanes; i + lanes <= n; i += lanes) m = max_or_nan(d, m, hn::LoadU(d, x + i));
    HWY_ALIGN float values[HWY_LANES(float)];
    hn::Store(m, d, values);
    best = values[0];
    for (std::int64_t lane = 1; lane < lanes; ++lane) {
      if (!(values[lane] <= best) && best == best) best = values[lane];
    }
  }
  for (; i < n; ++i) {
    if (!(x[i] <= best) && best == best) best = x[i];
  }
  return static_cast<double>(best);
}

}  // namespace ridgeline::device::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::device {

HWY_EXPORT(sum_rows);
HWY_EXPORT(max_rows);
HWY_EXPORT(sum_contiguous);
HWY_EXPORT(max_contiguous);

namespace {

// A reduction over adjacent axes: [outer, reduce, inner] -> [outer, inner].
struct Reduction {
  std::int64_t outer = 1;
  std::int64_t reduce = 1;
  std::int64_t inner = 1;
  bool maximum = false;
  double factor = 1;
};

// Runs of reduced axes one after the other, the last run first: each stage reads the results of the one before.
std::vector<Reduction> stages_of(const Shape& shape, const std::vector<std::int64_t>& axes) {
  struct Run {
    std::int64_t extent;
    bool reduced;
  };
  std::vector<bool> reduced(static_cast<std::size_t>(shape.rank()), axes.empty());
  for (std::int64_t axis : axes) reduced[static_cast<std::size_t>(axis)] = true;
  std::vector<Run> runs;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 1) continue;
    const bool own = reduced[static_cast<std::size_t>(axis)];
    if (runs.empty() || runs.back().reduced != own) runs.push_back({1, own});
    runs.back().extent *= shape[axis];
  }
  std::vector<Reduction> stages;
  std::int64_t inner = 1;
  for (std::size_t i = runs.size(); i-- > 0;) {
    if (!runs[i].reduced) {
      inner *= runs[i].extent;
      continue;
    }
    Reduction stage{.outer = 1, .reduce = runs[i].extent, .inner = inner};
    for (std::size_t before = 0; before < i; ++before) stage.outer *= runs[before].extent;
    stages.push_back(stage);
  }
  if (stages.empty()) stages.push_back({.outer = inner});
  return stages;
}

// Each (outer index, chunk of the reduced axis) writes `inner` partial results; a second pass combines them in order.
class Reducer {
 public:
  Reducer(const Reduction& shape, const Chunks& chunks) : shape_(shape), chunks_(chunks) {}

  void operator()(const KernelArguments& a) const {
    const auto* x = input<float>(a, 0);
    auto* y = output<float>(a, 0);
    auto* partial = static_cast<double*>(a.scratch);
    parallel_for(shape_.outer * chunks_.count, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) reduce_chunk(x, task, partial + task * shape_.inner);
    });
    parallel_for(shape_.outer * shape_.inner, 4096, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) y[i] = combine(partial, i / shape_.inner, i % shape_.inner);
    });
  }

 private:
  void reduce_chunk(const float* x, std::int64_t task, double* partial) const {
    const std::int64_t outer = task / chunks_.count;
    const std::int64_t first = chunks_.begin(task % chunks_.count);
    const std::int64_t rows = chunks_.end(task % chunks_.count) - first;
    const float* at = x + (outer * shape_.reduce + first) * shape_.inner;
    if (shape_.inner == 1) {
      *partial = shape_.maximum ? HWY_DYNAMIC_DISPATCH(max_contiguous)(at, rows)
                                : HWY_DYNAMIC_DISPATCH(sum_contiguous)(at, rows);
    } else if (shape_.maximum) {
      HWY_DYNAMIC_DISPATCH(max_rows)(at, rows, shape_.inner, partial);
    } else {
      HWY_DYNAMIC_DISPATCH(sum_rows)(at, rows, shape_.inner, partial);
    }
  }

  float combine(const double* partial, std::int64_t outer, std::int64_t c) const {
    const double* at = partial + outer * chunks_.count * shape_.inner + c;
    double value = at[0];
    for (std::int64_t chunk = 1; chunk < chunks_.count; ++chunk) {
      const double next = at[chunk * shape_.inner];
      if (!shape_.maximum) {
        value += next;
      } else if (!(next <= value) && value == value) {
        value = next;
      }
    }
    return static_cast<float>(shape_.maximum ? value : value * shape_.factor);
  }

  Reduction shape_;
  Chunks chunks_;
};

}  // namespace

KernelChoice make_own_reduce(const KernelRequest& request) {
  const std::vector<Reduction> shapes =
      stages_of(request.inputs[0].type.shape, request.node.attributes.integers("axes"));
  std::vector<Reducer> stages;
  std::vector<std::size_t> results;  // floats of what lies between stages
  std::size_t partial = 0;
  for (Reduction shape : shapes) {
    if (shape.reduce == 0) return Refusal{"an empty axis is reduced"};
    shape.maximum = request.def.name == "reduce_max";
    if (request.def.name == "reduce_mean") shape.factor = 1.0 / static_cast<double>(shape.reduce);
    // With enough outer rows the team is busy without dividing the reduced axis.
    const std::int64_t grain = shape.inner == 1 ? 16 * 1024 : 256;
    const Chunks chunks(shape.reduce, grain, shape.outer >= 32 ? 1 : 64);
    stages.emplace_back(shape, chunks);
    partial = std::max(partial, static_cast<std::size_t>(shape.outer * chunks.count * shape.inner) * sizeof(double));
    results.push_back(static_cast<std::size_t>(shape.outer * shape.inner));
  }
  results.pop_back();
  auto kernel = make_body_kernel(own_name(request.def.name), [stages, results, partial](const KernelArguments& a) {
    auto* between = reinterpret_cast<float*>(static_cast<char*>(a.scratch) + partial);
    void* from = a.inputs[0];
    for (std::size_t i = 0; i < stages.size(); ++i) {
      void* const to = i < results.size() ? static_cast<void*>(between) : a.outputs[0];
      stages[i]({.inputs = &from, .outputs = &to, .scratch = a.scratch});
      from = to;
      if (i < results.size()) between += results[i];
    }
  });
  kernel->scratch_bytes = partial;
  for (const std::size_t floats : results) kernel->scratch_bytes += floats * sizeof(float);
  return kernel;
}

}  // namespace ridgeline::device
#endif  // HWY_ONCE
