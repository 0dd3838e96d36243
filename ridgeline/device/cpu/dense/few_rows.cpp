#include "ridgeline/device/cpu/dense/few_rows.h"

#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/device/cpu/refuse_empty.h"
#include "ridgeline/device/cpu/sum/column_sums.h"

namespace ridgeline::device {
namespace {

float value_at(const void* values, DType type, std::int64_t i) {
  switch (type) {
    case DType::f32: return static_cast<const float*>(values)[i];
    case DType::bf16: return to_float(static_cast<const bfloat16*>(values)[i]);
    default: return to_float(static_cast<const float16*>(values)[i]);
  }
}

void widen_values(const void* from, DType type, std::int64_t at, std::int64_t n, float* to) {
  if (type == DType::f32) {
    std::copy_n(static_cast<const float*>(from) + at, n, to);
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i] = value_at(from, type, at + i);
  }
}

void put_values(const float* from, std::int64_t n, DType type, void* to, std::int64_t at) {
  switch (type) {
    case DType::f32: std::copy_n(from, n, static_cast<float*>(to) + at); break;
    case DType::bf16: std::transform(from, from + n, static_cast<bfloat16*>(to) + at, to_bfloat16); break;
    default: std::transform(from, from + n, static_cast<float16*>(to) + at, to_float16);
  }
}

// y = x w^T, followed by a bias, another summand, relu.
class FewRowsForward final : public Kernel {
 public:
  FewRowsForward(const FewRows& f, const KernelRequest& request)
      : f_(f), x_(f.type, f.rows, f.inputs, scratch_), relu_(request.node.attributes.string("activation") == "relu") {
    if (request.inputs.size() > 2) bias_ = request.inputs[2].type.dtype;
    if (request.inputs.size() > 3) addend_ = request.inputs[3].type.dtype;
    type_ = request.outputs[0].type.dtype;
    sums_at_ = scratch_.reserve(f.rows * f.outputs);
    scratch_bytes = scratch_.bytes();
    name = own_name("dense of few rows");
  }

  void run(const KernelArguments& a) override {
    float* const sums = static_cast<float*>(a.scratch) + sums_at_;
    const RowsAt<float> x = x_.read(a.inputs[0], a.scratch);
    const WeightRows w{a.inputs[1], f_.type, f_.inputs};
    f_.for_outputs([&](std::int64_t first, std::int64_t count, int) {
      dot_few_rows(w.from(first, 0), count, x, f_.rows, f_.inputs, sums + first, f_.outputs);
      for (std::int64_t r = 0; r < f_.rows; ++r) finish(a, sums, r, first, count);
    });
  }

 private:
  void finish(const KernelArguments& a, float* sums, std::int64_t row, std::int64_t first, std::int64_t count) const {
    const std::int64_t at = row * f_.outputs + first;
    for (std::int64_t i = 0; i < count; ++i) {
      float v = sums[at + i];
      if (bias_) v += value_at(a.inputs[2], *bias_, first + i);
      if (addend_) v += value_at(a.inputs[3], *addend_, at + i);
      sums[at + i] = !relu_ || v != v || v > 0 ? v : 0.0f;  // NaN stays, -0 does not
    }
    put_values(sums + at, count, type_, a.outputs[0], at);
  }

  FewRows f_;
  Scratch scratch_;
  FewRowsOperand x_;
  bool relu_;
  std::optional<DType> bias_, addend_;
  DType type_;
  std::int64_t sums_at_;
};

// dx = dy w.
class FewRowsData final : public Kernel {
 public:
  FewRowsData(const FewRows& f, DType result)
      : f_(f),
        dy_(f.type, f.rows, f.outputs, scratch_),
        type_(result),
        sums_at_(scratch_.reserve(compute_threads() * f.rows * kPitch)) {
    scratch_bytes = scratch_.bytes();
    name = own_name("dense_bwd_data of few rows");
  }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    const RowsAt<float> dy = dy_.read(a.inputs[0], a.scratch);
    const WeightRows w{a.inputs[1], f_.type, f_.inputs};
    f_.for_inputs([&](std::int64_t first, std::int64_t count, int thread) {
      float* const sums = static_cast<float*>(a.scratch) + sums_at_ + thread * f_.rows * kPitch;
      combine_few_rows(w.from(0, first), f_.outputs, dy, f_.rows, count, sums, kPitch);
      for (std::int64_t r = 0; r < f_.rows; ++r)
        put_values(sums + r * kPitch, count, type_, a.outputs[0], r * f_.inputs + first);
    });
  }

 private:
  static constexpr std::int64_t kPitch = few_rows_pitch(FewRows::kMostInputs);

  int threads_ = compute_threads();
  FewRows f_;
  Scratch scratch_;
  FewRowsOperand dy_;
  DType type_;
  std::int64_t sums_at_;
};

// dw = dy^T x, in f32.
class FewRowsWeights final : public Kernel {
 public:
  FewRowsWeights(const FewRows& f, bool bias)
      : f_(f),
        x_(f.type, f.rows, f.inputs, scratch_),
        dy_(f.type, f.rows, f.outputs, scratch_),
        bias_(bias),
        past_caches_(f.inputs * f.outputs >= kPastCaches) {
    scratch_bytes = scratch_.bytes();
    name = own_name("dense_bwd_weights of few rows");
  }

  void run(const KernelArguments& a) override {
    const RowsAt<float> x = x_.read(a.inputs[0], a.scratch);
    const RowsAt<float> dy = dy_.read(a.inputs[1], a.scratch);
    if (bias_) sum_columns(dy.at, dy.step, f_.rows, f_.outputs, output<float>(a, 1));
    f_.for_outputs([&](std::int64_t first, std::int64_t count, int) {
      multiply_few_rows(dy.from(0, first), x, f_.rows, count, f_.inputs, output<float>(a, 0) + first * f_.inputs,
                        f_.inputs, past_caches_);
    });
  }

 private:
  static constexpr std::int64_t kPastCaches = 1 << 20;  // values of a gradient that the second caches do not hold

  FewRows f_;
  Scratch scratch_;
  FewRowsOperand x_, dy_;
  bool bias_, past_caches_;
};

}  // namespace

std::int64_t most_few_rows(DType type) {
  constexpr std::int64_t kBesideTiles = 2;  // which multiply many rows as fast as one
  switch (type) {
    case DType::bf16: return active_isa() == Isa::amx ? kBesideTiles : kFewRowsAtMost;
    case DType::f32:
    case DType::f16: return kFewRowsAtMost;
    default: return 0;
  }
}

std::optional<Refusal> FewRows::refusal(const KernelRequest& request,
                                        std::initializer_list<const KernelOperand*> w) const {
  if (auto refusal = refuse_empty(request)) return refusal;
  if (rows > most_few_rows(type)) {
    return Refusal{std::to_string(rows) + " rows of " + std::string(name_of(type)) + ": this kernel takes up to " +
                   std::to_string(most_few_rows(type))};
  }
  for (const KernelOperand* operand : w) {
    if (!operand->free && !operand->layout.plain()) return Refusal{"weights lie in " + operand->layout.name()};
  }
  return std::nullopt;
}

RowsAt<float> FewRowsOperand::read(const void* operand, void* scratch) const {
  if (at_ < 0) return {static_cast<const float*>(operand), length_};
  const std::int64_t pitch = few_rows_pitch(length_);
  float* const to = static_cast<float*>(scratch) + at_;
  constexpr std::int64_t kGrain = 1 << 15;
  parallel_for(rows_ * length_, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end;) {
      const std::int64_t row = i / length_, first = i % length_, count = std::min(end - i, length_ - first);
      widen_values(operand, type_, i, count, to + row * pitch + first);
      i += count;
    }
  });
  return {to, pitch};
}

KernelChoice make_few_rows_dense(const KernelRequest& request) {
  const FewRows f(request.inputs[0].type, request.inputs[1].type);
  if (auto refusal = f.refusal(request, {&request.inputs[1]})) return *refusal;
  return std::make_unique<FewRowsForward>(f, request);
}

KernelChoice make_few_rows_dense_bwd_data(const KernelRequest& request) {
  FewRows f(request.outputs[0].type, request.inputs[1].type);
  f.type = request.inputs[0].type.dtype;
  if (auto refusal = f.refusal(request, {&request.inputs[1]})) return *refusal;
  return std::make_unique<FewRowsData>(f, request.outputs[0].type.dtype);
}

KernelChoice make_few_rows_dense_bwd_weights(const KernelRequest& request) {
  const FewRows f(request.inputs[0].type, request.outputs[0].type);
  if (auto refusal = f.refusal(request, {&request.outputs[0]})) return *refusal;
  for (const KernelOperand& result : request.outputs) {
    if (result.type.dtype != DType::f32)
      return Refusal{"a gradient of weights in " + std::string(name_of(result.type.dtype))};
  }
  return std::make_unique<FewRowsWeights>(f, request.outputs.size() == 2);
}

}  // namespace ridgeline::device
