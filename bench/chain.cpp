// bench/chain.cpp
//
// Measures the cost of the block interpreter: a chain of ten pointwise ops, compiled to one loop, against a loop
// written by hand. Prints the shortest time of both for each size and their ratio, which docs/loop.md limits to 1.15
// for 16 Mi elements and to 2 for 64 Ki. Exits with 1 if a ratio is larger or the results differ.
//
//   build/bench_chain [repetitions, 40]
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "ridgeline/compile/compile.h"
#include "ridgeline/core/random.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/graph/ir/builder.h"

namespace {

using namespace ridgeline;

// The ten ops on one element, each rounded.
#define RIDGELINE_TEN_OPS(x, y) \
  float t = (x) * 1.5f;         \
  t = t + 0.25f;                \
  t = t > 0.0f ? t : 0.0f;      \
  t = t * (y);                  \
  t = t - 0.5f;                 \
  t = __builtin_fabsf(t);       \
  t = t + (x);                  \
  t = t < 4.0f ? t : 4.0f;      \
  t = t * 0.75f;                \
  t = -t

__attribute__((target("avx512f,prefer-vector-width=512"), optimize("O3"))) void ten_ops_avx512(
    const float* __restrict x, const float* __restrict y, float* __restrict z, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    RIDGELINE_TEN_OPS(x[i], y[i]);
    z[i] = t;
  }
}

__attribute__((target("avx2"), optimize("O3"))) void ten_ops_avx2(const float* __restrict x, const float* __restrict y,
                                                                  float* __restrict z, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    RIDGELINE_TEN_OPS(x[i], y[i]);
    z[i] = t;
  }
}

Graph chain(std::int64_t n) {
  GraphBuilder b("chain");
  const Value x = b.input("x", {DType::f32, {n}});
  const Value y = b.input("y", {DType::f32, {n}});
  Value t = x * 1.5;
  t = t + 0.25;
  t = b.apply("relu", {t});
  t = t * y;
  t = t - 0.5;
  t = b.apply("abs", {t});
  t = t + x;
  t = b.apply("minimum", {t, b.constant(4)});
  t = t * 0.75;
  b.returns("z", b.apply("neg", {t}));
  return b.finish();
}

Tensor random_tensor(std::int64_t n, std::uint64_t seed) {
  Tensor t(DType::f32, {n});
  SampleRandom random(philox_key(seed, "chain"), 0, 0);
  for (std::int64_t i = 0; i < n; ++i) t.data<float>()[i] = 4 * uniform_float(random.bits()) - 2;
  return t;
}

// False if the ratio is above `most` or the results differ.
bool measure(std::int64_t n, int repetitions, double most) {
  Session session;
  const auto program = compile(chain(n), session);
  const Tensor x = random_tensor(n, 1), y = random_tensor(n, 2);
  Tensor z = Tensor::zeros(DType::f32, {n});
  program->bind("x", x);
  program->bind("y", y);
  const auto hand = device::active_isa() == device::Isa::avx2 ? ten_ops_avx2 : ten_ops_avx512;
  const auto by_hand = [&] {
    const ComputeScope team(session.compute_threads());
    parallel_for(n, 16384, [&](std::int64_t begin, std::int64_t end) {
      hand(x.data<float>() + begin, y.data<float>() + begin, z.data<float>() + begin, end - begin);
    });
  };
  double fused = 1e30, written = 1e30;
  const auto time = [](double& best, auto&& body) {
    const auto begin = std::chrono::steady_clock::now();
    body();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  };
  for (int i = 0; i < repetitions; ++i) {  // alternately
    time(fused, [&] { program->run(); });
    time(written, by_hand);
  }
  const bool same = std::memcmp(program->output("z").raw(), z.raw(), z.byte_size()) == 0;
  const double ratio = fused / written;
  std::printf("%9lld elements: %zu launch, %8.1f us, by hand %8.1f us, ratio %.2f (at most %.2f), %s\n",
              static_cast<long long>(n), program->counts().launches, fused * 1e6, written * 1e6, ratio, most,
              same ? "same bits" : "OTHER RESULTS");
  return same && ratio <= most;
}

}  // namespace

int main(int argc, char** argv) {
  const int repetitions = argc > 1 ? std::atoi(argv[1]) : 40;
  if (repetitions < 1) {
    std::fprintf(stderr, "usage: bench_chain [repetitions, at least 1]\n");
    return 2;
  }
  const bool large = measure(std::int64_t{16} << 20, repetitions, 1.15);
  const bool small = measure(std::int64_t{64} << 10, 50 * repetitions, 2);
  return large && small ? 0 : 1;
}
