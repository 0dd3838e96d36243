#include "ridgeline/device/cuda/kernels/pool.h"

#include "ridgeline/device/cuda/kernels/families.h"
#include "ridgeline/device/cuda/kernels/launches.h"
#include "ridgeline/device/cuda/kernels/with_type.h"

namespace ridgeline::cuda {

RIDGELINE_POOL_KERNELS(RIDGELINE_SYMBOL)

std::span<const KernelRow* const> pool_rows() {
  static constexpr const KernelRow* kRows[] = {RIDGELINE_POOL_KERNELS(RIDGELINE_ROW)};
  return kRows;
}

namespace {

PoolShape shape_of(const Pool& p) {
  const auto i = [](std::int64_t v) { return static_cast<i32>(v); };
  return {i(p.n), i(p.h), i(p.w), i(p.c), i(p.oh), i(p.ow), i(p.kh), i(p.kw), i(p.sh), i(p.sw), i(p.top), i(p.left)};
}

// run(V, threads) over the pooled image, or over the image.
template <class T, class Run>
void with_threads(const Pool& p, bool pooled, std::initializer_list<const void*> images, const Run& run) {
  const auto threads = [&](int width) {
    return PixelThreads(p.n, pooled ? p.oh : p.h, pooled ? p.ow : p.w, p.c, width);
  };
  if (p.c % kWide<T> == 0 && aligned_to(16, images))
    run(std::integral_constant<int, kWide<T>>(), threads(kWide<T>));
  else
    run(std::integral_constant<int, 1>(), threads(1));
}

}  // namespace

void max_pool(LaunchSink sink, const Pool& pool, const void* x, void* y, void* index) {
  with_type(pool.type, [&]<class T>(T) {
    with_threads<T>(pool, true, {x, y, index}, [&](auto width, const PixelThreads& threads) {
      constexpr int V = decltype(width)::value;
      const auto give_as = [&]<class Body>() {
        give<Body>(sink, {in<T>(x), out<T>(y), out<u8>(index), shape_of(pool), threads});
      };
      if constexpr (V > 1) {
        if (pool.kh == 2 && pool.kw == 2) return give_as.template operator()<MaxPool<T, V, 2>>();
        if (pool.kh == 3 && pool.kw == 3) return give_as.template operator()<MaxPool<T, V, 3>>();
      }
      give_as.template operator()<MaxPool<T, V, 0>>();
    });
  });
}

void max_pool_gradient(LaunchSink sink, const Pool& pool, const void* dy, const void* index, const void* gate,
                       void* dx) {
  with_type(pool.type, [&]<class T>(T) {
    with_threads<T>(pool, false, {dy, index, gate, dx}, [&](auto width, const PixelThreads& threads) {
      constexpr int V = decltype(width)::value;
      const auto give_over = [&]<class Body>(const PixelThreads& over) {
        give<Body>(sink, {in<T>(dy), in<u8>(index), in<T>(gate), out<T>(dx), shape_of(pool), over});
      };
      if constexpr (V > 1) {
        if (pool.sh == 2 && pool.sw == 2) {
          const PixelThreads tiles(pool.n, divided_up(pool.h + pool.top, 2), divided_up(pool.w + pool.left, 2), pool.c,
                                   V);
          if (pool.kh == 3 && pool.kw == 3) return give_over.template operator()<MaxPoolTileGradient<T, V, 3>>(tiles);
          return give_over.template operator()<MaxPoolTileGradient<T, V, 0>>(tiles);
        }
      }
      give_over.template operator()<MaxPoolGradient<T, V>>(threads);
    });
  });
}

void average_pool(LaunchSink sink, const Pool& pool, bool count_padding, const void* x, void* y) {
  with_type(pool.type, [&]<class T>(T) {
    with_threads<T>(pool, true, {x, y}, [&](auto width, const PixelThreads& threads) {
      give<AveragePool<T, decltype(width)::value>>(sink, {in<T>(x), out<T>(y), count_padding, shape_of(pool), threads});
    });
  });
}

void average_pool_gradient(LaunchSink sink, const Pool& pool, bool count_padding, const void* dy, void* dx) {
  with_type(pool.type, [&]<class T>(T) {
    with_threads<T>(pool, false, {dy, dx}, [&](auto width, const PixelThreads& threads) {
      give<AveragePoolGradient<T, decltype(width)::value>>(
          sink, {in<T>(dy), out<T>(dx), count_padding, shape_of(pool), threads});
    });
  });
}

}  // namespace ridgeline::cuda
