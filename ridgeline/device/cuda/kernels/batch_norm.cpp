#include "ridgeline/device/cuda/kernels/batch_norm.h"

#include "ridgeline/device/cuda/kernels/families.h"
#include "ridgeline/device/cuda/kernels/launches.h"
#include "ridgeline/device/cuda/kernels/with_type.h"

namespace ridgeline::cuda {

RIDGELINE_BATCH_NORM_KERNELS(RIDGELINE_SYMBOL)

std::span<const KernelRow* const> batch_norm_rows() {
  static constexpr const KernelRow* kRows[] = {RIDGELINE_BATCH_NORM_KERNELS(RIDGELINE_ROW)};
  return kRows;
}

namespace {

// Of the pass that sums, whose blocks all run at once, and of the pass that writes.
RowTiles sum_tiles(const BatchNorm& norm, int width) { return {norm.rows, norm.channels, width, kOneWave, 8}; }
RowTiles pass_tiles(const BatchNorm& norm, int width) { return {norm.rows, norm.channels, width, 16 * kFullCard, 4}; }

// run(V): channels of a thread and an access. Of four, factors and a few rows of all images fit into 64 registers.
inline constexpr int kChannels = 4;
template <class T, class Run>
void with_width(const BatchNorm& norm, std::initializer_list<const void*> images, const Run& run) {
  if (norm.channels % kChannels == 0 && aligned_to(sizeof(T) * kChannels, images))
    run(std::integral_constant<int, kChannels>());
  else
    run(std::integral_constant<int, 1>());
}

// Partial sums of the widest division into chunks, then the factors of channels.
struct Scratch {
  float* partial;
  float* factors[3];
  Scratch(const BatchNorm& norm, void* scratch) {
    factors[0] = static_cast<float*>(scratch);
    factors[1] = factors[0] + norm.channels;
    factors[2] = factors[1] + norm.channels;
    partial = factors[2] + norm.channels;
  }
};

// run(form): a compiled form where channels are read by wide accesses.
template <int V, class Run>
void with_form(Gate gate, bool adds, const Run& run) {
  const auto as = [&]<GateForm kForm>() {
    run(std::integral_constant < GateForm, V == 1 ? GateForm::told : kForm > ());
  };
  if (gate == Gate::of_x)
    adds ? as.template operator()<GateForm::added_of_x>() : as.template operator()<GateForm::of_x>();
  else if (gate == Gate::of_y)
    adds ? as.template operator()<GateForm::added_of_y>() : as.template operator()<GateForm::of_y>();
  else
    adds ? as.template operator()<GateForm::added>() : as.template operator()<GateForm::open>();
}

Gate gate_of(NormGate gate) {
  return gate == NormGate::none ? Gate::none : gate == NormGate::of_x ? Gate::of_x : Gate::of_y;
}

// The least value of the gate that the ceiling closes; NaN without a ceiling. of_x compares values before they are
// stored: those that round up to the ceiling are closed as what is stored is.
template <class T>
float closed_from(const BatchNormGradient& a) {
  if (a.ceiling == kNoCeiling) return nan_f32();
  const float stored = as_stored<T>(a.ceiling);
  if (a.gate != NormGate::of_x) return stored;
  u32 open = 0, closed = bits_of(stored);  // positive numbers are in the order of their bits
  while (closed - open > 1) {
    const u32 middle = open + (closed - open) / 2;
    (as_stored<T>(float_of(middle)) < stored ? open : closed) = middle;
  }
  return float_of(closed);
}

}  // namespace

std::size_t batch_norm_scratch(const BatchNorm& norm) {
  std::size_t chunks = 0;
  for (int width : {1, kChannels}) chunks = std::max<std::size_t>(chunks, sum_tiles(norm, width).chunks);
  return (2 * chunks + 3) * static_cast<std::size_t>(norm.channels) * sizeof(float);
}

void batch_norm_train(LaunchSink sink, const BatchNorm& norm, const BatchNormTrain& a) {
  const Scratch scratch(norm, a.scratch);
  with_type(norm.type, [&]<class T>(T) {
    with_width<T>(norm, {a.x, a.addend, a.y}, [&](auto width) {
      constexpr int V = decltype(width)::value;
      const RowTiles tiles = sum_tiles(norm, V);
      give<NormSums<T, V>>(sink, {in<T>(a.x), scratch.partial, tiles});
      give<NormStatistics<T>>(sink, {in<T>(a.x), scratch.partial, tiles.chunks, norm.rows, norm.channels, norm.epsilon,
                                     a.momentum, a.gamma, a.running_mean, a.running_var, a.mean, a.inv_std,
                                     a.new_running_mean, a.new_running_var, scratch.factors[0]});
      give<Normalise<T, V>>(sink, {in<T>(a.x), in<T>(a.addend), out<T>(a.y), a.mean, scratch.factors[0], a.beta, a.relu,
                                   a.ceiling, pass_tiles(norm, V)});
    });
  });
}

void batch_norm_eval(LaunchSink sink, const BatchNorm& norm, const BatchNormEval& a) {
  const Scratch scratch(norm, a.scratch);
  give<NormScale>(sink, {a.gamma, a.var, scratch.factors[0], norm.channels, norm.epsilon, a.var_is_inv_std});
  with_type(norm.type, [&]<class T>(T) {
    with_width<T>(norm, {a.x, a.addend, a.y}, [&](auto width) {
      constexpr int V = decltype(width)::value;
      give<Normalise<T, V>>(sink, {in<T>(a.x), in<T>(a.addend), out<T>(a.y), a.mean, scratch.factors[0], a.beta, a.relu,
                                   a.ceiling, pass_tiles(norm, V)});
    });
  });
}

void batch_norm_gradient(LaunchSink sink, const BatchNorm& norm, const BatchNormGradient& a) {
  const Scratch scratch(norm, a.scratch);
  with_type(norm.type, [&]<class T>(T) {
    with_width<T>(norm, {a.x, a.dy, a.y, a.addend, a.dx, a.g}, [&](auto width) {
      constexpr int V = decltype(width)::value;
      const RowTiles tiles = sum_tiles(norm, V);
      const Gate gate = gate_of(a.gate);
      with_form<V>(gate, a.addend != nullptr, [&](auto form) {
        give<NormGradientSums<T, V, form>>(
            sink, {{in<T>(a.x), in<T>(a.dy), in<T>(a.addend), in<T>(a.y), gate, closed_from<T>(a)},
                   a.mean,
                   a.inv_std,
                   a.gamma,
                   a.beta,
                   out<T>(a.g),
                   scratch.partial,
                   tiles});
      });
      give<NormGradientFactors>(sink, {scratch.partial, tiles.chunks, norm.rows, norm.channels, a.gamma, a.inv_std,
                                       a.dgamma, a.dbeta, scratch.factors[0], scratch.factors[1], scratch.factors[2]});
      const bool passed = a.g != nullptr;
      const Gate left = passed ? Gate::none : gate;
      with_form<V>(left, !passed && a.addend != nullptr, [&](auto form) {
        give<NormGradient<T, V, form>>(sink,
                                       {{in<T>(a.x), in<T>(passed ? a.g : a.dy), passed ? nullptr : in<T>(a.addend),
                                         passed ? nullptr : in<T>(a.y), left, closed_from<T>(a)},
                                        a.mean,
                                        scratch.factors[0],
                                        scratch.factors[1],
                                        scratch.factors[2],
                                        a.beta,
                                        out<T>(a.dx),
                                        pass_tiles(norm, V)});
      });
    });
  });
}

}  // namespace ridgeline::cuda
