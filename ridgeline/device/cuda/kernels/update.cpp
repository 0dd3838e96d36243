#include "ridgeline/device/cuda/kernels/update.h"

#include "ridgeline/device/cuda/kernels/families.h"
#include "ridgeline/device/cuda/kernels/launches.h"
#include "ridgeline/device/cuda/kernels/with_type.h"

namespace ridgeline::cuda {

RIDGELINE_UPDATE_KERNELS(RIDGELINE_SYMBOL)

std::span<const KernelRow* const> update_rows() {
  static constexpr const KernelRow* kRows[] = {RIDGELINE_UPDATE_KERNELS(RIDGELINE_ROW)};
  return kRows;
}

namespace {

std::int64_t chunks_of(std::int64_t elements) { return divided_up(elements, kUpdateChunk); }

// The next tensors that one launch takes; `each(i, tensor)` fills in number i of it.
template <class Tensor, class Each>
Chunking chunking_of(std::span<const Tensor> tensors, const Each& each) {
  Chunking chunks{};
  chunks.tensors = static_cast<u32>(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    chunks.elements[i] = tensors[i].elements;
    chunks.first[i + 1] = chunks.first[i] + static_cast<u32>(chunks_of(tensors[i].elements));
    each(i, tensors[i]);
  }
  return chunks;
}

// launch(some tensors, chunks before them) for all tensors in turn; the number of chunks.
template <class Tensor, class F>
std::int64_t in_launches(std::span<const Tensor> tensors, const F& launch) {
  std::int64_t before = 0;
  while (!tensors.empty()) {
    const auto some = tensors.first(std::min<std::size_t>(tensors.size(), kUpdateTensors));
    launch(some, before);
    for (const Tensor& t : some) before += chunks_of(t.elements);
    tensors = tensors.subspan(some.size());
  }
  return before;
}

}  // namespace

std::size_t tensors_total_scratch(std::span<const std::int64_t> elements) {
  std::int64_t chunks = 0;
  for (std::int64_t n : elements) chunks += chunks_of(n);
  return static_cast<std::size_t>(chunks) * sizeof(double);
}

std::size_t momentum_scratch(std::span<const std::int64_t> elements) { return tensors_total_scratch(elements); }

void momentum_update(LaunchSink sink, const MomentumUpdate& update, std::span<const MomentumTensor> tensors) {
  const auto as = [&]<class Low>(Low) {
    const std::int64_t chunks = in_launches(tensors, [&](std::span<const MomentumTensor> some, std::int64_t before) {
      typename Momentum<Low>::Parameters p{};
      p.rate = update.rate;
      p.apply = update.apply;
      p.momentum = static_cast<float>(update.momentum);
      p.decay = static_cast<float>(update.weight_decay);
      p.has_momentum = update.has_momentum;
      p.has_decay = update.weight_decay != 0;
      p.nesterov = update.nesterov;
      p.wide = true;
      p.squares = update.penalty != nullptr ? out<double>(update.scratch) + before : nullptr;
      p.chunks = chunking_of(some, [&](std::size_t i, const MomentumTensor& t) {
        p.w[i] = t.w;
        p.m[i] = t.m;
        p.g[i] = t.g;
        p.new_w[i] = t.new_w;
        p.new_m[i] = t.new_m;
        p.copy[i] = out<Low>(t.copy);
        p.wide = p.wide && aligned_to(16, {t.w, t.m, t.g, t.new_w, t.new_m, t.copy});
      });
      give<Momentum<Low>>(sink, p);
    });
    if (update.penalty == nullptr) return;
    give<TotalOfDoubles>(sink, {in<double>(update.scratch), chunks, update.penalty_factor / 2, 0,
                                TotalOfDoubles::Form::sum, update.penalty, nullptr});
  };
  update.copy_type == DType::f16 ? as(float16()) : as(bfloat16());
}

void tensors_total(LaunchSink sink, TensorsTotal total, DType type, std::span<const NormTensor> tensors, double factor,
                   double limit, void* result, void* scratch) {
  using Form = TotalOfDoubles::Form;
  auto* const parts = out<double>(scratch);
  std::int64_t chunks = 0;
  with_type(type, [&]<class T>(T) {
    chunks = in_launches(tensors, [&](std::span<const NormTensor> some, std::int64_t before) {
      const auto fill = [&](auto& p) {
        p.chunks = chunking_of(some, [&](std::size_t i, const NormTensor& t) { p.x[i] = in<T>(t.x); });
      };
      if (total == TensorsTotal::all_finite) {
        typename FiniteParts<T>::Parameters p{};
        fill(p);
        p.flags = parts + before;
        give<FiniteParts<T>>(sink, p);
      } else {
        typename SquareSums<T>::Parameters p{};
        fill(p);
        p.squares = parts + before;
        give<SquareSums<T>>(sink, p);
      }
    });
  });
  Form form = Form::sum;
  if (total == TensorsTotal::norm) form = Form::root;
  if (total == TensorsTotal::clip) form = Form::clip;
  if (total == TensorsTotal::all_finite) form = Form::finite;
  const bool flag = form == Form::finite;
  give<TotalOfDoubles>(sink, {parts, chunks, flag ? 1.0 : factor, limit, form, flag ? nullptr : out<float>(result),
                              flag ? out<bool>(result) : nullptr});
}

void total_of_parts(LaunchSink sink, const double* parts, std::int64_t count, double factor, float* y) {
  give<TotalOfDoubles>(sink, {parts, count, factor, 0, TotalOfDoubles::Form::sum, y, nullptr});
}

}  // namespace ridgeline::cuda
