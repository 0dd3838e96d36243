#include "ridgeline/device/cpu/winograd/transforms.h"

#include <cstring>
#include <limits>

#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/device/cpu/products/products.h"
#include "ridgeline/device/cpu/winograd/rules.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/device/cpu/winograd/transforms.cpp"
#include "ridgeline/device/cpu/simd_targets.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ridgeline/device/cpu/larger-inl.h"
#include "ridgeline/device/cpu/products/vectors-inl.h"
#include "ridgeline/device/cpu/storage-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ridgeline::device::winograd::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

namespace hn = hwy::HWY_NAMESPACE;
namespace storage = device::HWY_NAMESPACE;
using namespace products::HWY_NAMESPACE;

// Sum and difference of each pair of points.
template <int Points>
HWY_INLINE void butterflies(Vector* v) {
  unroll<(Points - 1) / 2>([&](auto pair) RIDGELINE_INLINE {
    constexpr int i = (Points - 1) % 2 + 2 * pair;
    const Vector sum = hn::Add(v[i], v[i + 1]);
    const Vector difference = hn::Sub(v[i], v[i + 1]);
    v[i] = sum;
    v[i + 1] = difference;
  });
}

// out = T in.
template <class T>
HWY_INLINE void apply(Vector* in, Vector* out) {
  const Tag d;
  if constexpr (!T::kExpand) butterflies<T::kPoints>(in);
  unroll<T::kRows>([&](auto i) RIDGELINE_INLINE {
    Vector sum = hn::Zero(d);
    bool started = false;
    unroll<T::kColumns>([&](auto j) RIDGELINE_INLINE {
      constexpr double factor = T::kMatrix.at[i][j];
      if constexpr (factor != 0) {
        if (!started) {
          sum = factor == 1 ? in[j] : hn::Mul(in[j], hn::Set(d, static_cast<float>(factor)));
        } else if constexpr (factor == 1) {
          sum = hn::Add(sum, in[j]);
        } else if constexpr (factor == -1) {
          sum = hn::Sub(sum, in[j]);
        } else {
          sum = hn::MulAdd(in[j], hn::Set(d, static_cast<float>(factor)), sum);
        }
        started = true;
      }
    });
    out[i] = sum;
  });
  if constexpr (T::kExpand) butterflies<T::kPoints>(out);
}

// The transform of a tile: one down its columns, one along its rows.
template <class Down, class Across>
struct TileTransform {
  static constexpr int kRows = Down::kRows;  // of the result
  static constexpr int kColumns = Across::kRows;
  static constexpr int kFromRows = Down::kColumns;  // of what is transformed
  static constexpr int kFromColumns = Across::kColumns;

  // load(i, j) gives the vectors, store(i, j, v) takes the results.
  template <class Load, class Store>
  static HWY_INLINE void run(const Load& load, const Store& store) {
    Vector half[kRows * kFromColumns];
    for (int j = 0; j < kFromColumns; ++j) {
      Vector in[kFromRows], out[kRows];
      unroll<kFromRows>([&](auto i) RIDGELINE_INLINE { in[i] = load(i, j); });
      apply<Down>(in, out);
      unroll<kRows>([&](auto i) RIDGELINE_INLINE { half[i * kFromColumns + j] = out[i]; });
    }
    for (int i = 0; i < kRows; ++i) {
      Vector in[kFromColumns], out[kColumns];
      unroll<kFromColumns>([&](auto j) RIDGELINE_INLINE { in[j] = half[i * kFromColumns + j]; });
      apply<Across>(in, out);
      unroll<kColumns>([&](auto j) RIDGELINE_INLINE { store(i, j, out[j]); });
    }
  }
};

// There are more streams than the hardware prefetches: each access prefetches its stream's next line.
template <class Element>
HWY_INLINE Vector load_stream(const Element* at) {
  __builtin_prefetch(at + 64 / sizeof(Element), 0, 3);
  return storage::load(Tag(), at);
}
HWY_INLINE void store_stream(Vector v, float* at) {
  __builtin_prefetch(at + 16, 1, 3);
  hn::StoreU(v, Tag(), at);
}

template <class Float>
HWY_INLINE std::int64_t place(const StreamsOf<Float>& streams, std::int64_t channel) {
  return channel / kPanel * streams.panel_stride + channel % kPanel;
}

// One vector of channels: pixels at `channel` after their pointers, streams at `to`.
template <class T, bool kSum, class Pixel>
HWY_INLINE void expand_vector(const Pixel* const* pixels, std::int64_t channel, float* HWY_RESTRICT to,
                              std::int64_t distance, float* sums) {
  const Tag d;
  Vector sum = hn::Zero(d);
  T::run(
      [&](int i, int j) RIDGELINE_INLINE {
        const Vector v = load_stream(pixels[i * T::kFromColumns + j] + channel);
        if constexpr (kSum) sum = hn::Add(sum, v);
        return v;
      },
      [&](int i, int j, Vector v) RIDGELINE_INLINE { store_stream(v, to + (i * T::kColumns + j) * distance); });
  if constexpr (kSum) hn::StoreU(hn::Add(hn::LoadU(d, sums), sum), d, sums);
}

template <class T, bool kSum, class Pixel>
void expand(const Pixel* const* pixels, std::int64_t channels, const Streams& to, float* sums) {
  std::int64_t c = 0;
  for (; c + kLanes <= channels; c += kLanes) {
    expand_vector<T, kSum, Pixel>(pixels, c, to.base + place(to, c), to.distance, kSum ? sums + c : nullptr);
  }
  if (c == channels) return;
  // The last channels, padded with zeros.
  constexpr int kPixels = T::kFromRows * T::kFromColumns;
  HWY_ALIGN Pixel tail[kPixels * kLanes] = {};
  const Pixel* tails[kPixels];
  for (int i = 0; i < kPixels; ++i) {
    tails[i] = tail + i * kLanes;
    std::memcpy(tail + i * kLanes, pixels[i] + c, static_cast<std::size_t>(channels - c) * sizeof(Pixel));
  }
  expand_vector<T, kSum, Pixel>(tails, 0, to.base + place(to, c), to.distance, kSum ? sums + c : nullptr);
}

template <class T, class Pixel>
HWY_INLINE void contract_vector(const float* HWY_RESTRICT from, std::int64_t distance, Pixel* const* pixels,
                                const Pixel* const* addend, const Pixel* const* gate, std::int64_t channel, Vector bias,
                                Vector low) {
  const Tag d;
  T::run([&](int i, int j) RIDGELINE_INLINE { return load_stream(from + (i * T::kFromColumns + j) * distance); },
         [&](int i, int j, Vector v) RIDGELINE_INLINE {
           const int pixel = i * T::kColumns + j;
           Vector sum = hn::Add(v, bias);
           if (addend != nullptr) sum = hn::Add(sum, storage::load(d, addend[pixel] + channel));
           Vector result = storage::larger(low, sum);  // in this order a NaN stays
           if (gate != nullptr) {
             const Vector open = load_stream(gate[pixel] + channel);
             result = hn::IfThenZeroElse(hn::Le(open, hn::Zero(d)), result);
           }
           storage::store(result, d, pixels[pixel] + channel);
         });
}

template <class T, class Pixel>
void contract(const ConstStreams& from, std::int64_t channels, Pixel* const* pixels, const Epilogue<Pixel>& epilogue) {
  const Tag d;
  const Vector low = hn::Set(d, epilogue.relu ? 0.0f : -std::numeric_limits<float>::infinity());
  std::int64_t c = 0;
  for (; c + kLanes <= channels; c += kLanes) {
    const Vector bias = epilogue.bias != nullptr ? hn::LoadU(d, epilogue.bias + c) : hn::Zero(d);
    contract_vector<T>(from.base + place(from, c), from.distance, pixels, epilogue.addend, epilogue.gate, c, bias, low);
  }
  if (c == channels) return;
  constexpr int kPixels = T::kRows * T::kColumns;
  const auto count = static_cast<std::size_t>(channels - c);
  const std::size_t bytes = count * sizeof(Pixel);
  HWY_ALIGN Pixel tail[kPixels * kLanes];
  HWY_ALIGN float bias[kLanes] = {};
  HWY_ALIGN Pixel gate_tail[kPixels * kLanes] = {};
  Pixel* tails[kPixels];
  const Pixel* gate_tails[kPixels];
  for (int i = 0; i < kPixels; ++i) tails[i] = tail + i * kLanes, gate_tails[i] = gate_tail + i * kLanes;
  if (epilogue.bias != nullptr) std::memcpy(bias, epilogue.bias + c, count * sizeof(float));
  if (epilogue.addend != nullptr) {  // read before it is written
    for (int i = 0; i < kPixels; ++i) std::memcpy(tails[i], epilogue.addend[i] + c, bytes);
  }
  if (epilogue.gate != nullptr) {
    for (int i = 0; i < kPixels; ++i) std::memcpy(gate_tail + i * kLanes, epilogue.gate[i] + c, bytes);
  }
  contract_vector<T>(from.base + place(from, c), from.distance, tails,
                     epilogue.addend == nullptr ? nullptr : static_cast<const Pixel* const*>(tails),
                     epilogue.gate == nullptr ? nullptr : gate_tails, 0, hn::Load(d, bias), low);
  for (int i = 0; i < kPixels; ++i) std::memcpy(pixels[i] + c, tails[i], bytes);
}

template <int M, int N, int R, class Pixel>
const TransformSet<Pixel>* rule_set() {
  static constexpr TransformSet<Pixel> kSet{
      expand<TileTransform<InputTransform<M, R>, InputTransform<N, R>>, false, Pixel>,
      expand<TileTransform<WeightsTransform<M, R>, WeightsTransform<N, R>>, false, Pixel>,
      expand<TileTransform<GradientTransform<M, R>, GradientTransform<N, R>>, true, Pixel>,
      contract<TileTransform<OutputTransform<M, R>, OutputTransform<N, R>>, Pixel>,
      contract<TileTransform<WeightsGradientTransform<M, R>, WeightsGradientTransform<N, R>>, Pixel>};
  return &kSet;
}

template <class Pixel>
const TransformSet<Pixel>* find(Rule rule) {
  if (rule == Rule{2, 2, 3}) return rule_set<2, 2, 3, Pixel>();
  if (rule == Rule{4, 4, 3}) return rule_set<4, 4, 3, Pixel>();
  if (rule == Rule{5, 5, 3}) return rule_set<5, 5, 3, Pixel>();
  if (rule == Rule{6, 6, 3}) return rule_set<6, 6, 3, Pixel>();
  if (rule == Rule{4, 5, 3}) return rule_set<4, 5, 3, Pixel>();
  if (rule == Rule{5, 4, 3}) return rule_set<5, 4, 3, Pixel>();
  if (rule == Rule{4, 6, 3}) return rule_set<4, 6, 3, Pixel>();
  if (rule == Rule{6, 4, 3}) return rule_set<6, 4, 3, Pixel>();
  if (rule == Rule{2, 2, 5}) return rule_set<2, 2, 5, Pixel>();
  if (rule == Rule{4, 4, 5}) return rule_set<4, 4, 5, Pixel>();
  return nullptr;
}

#else  // below AVX2 and NEON no kernel is made (isa.h), so none is compiled

template <class Pixel>
const TransformSet<Pixel>* find(Rule) {
  return nullptr;
}

#endif

const TransformSet<float>* find_transforms(Rule rule) { return find<float>(rule); }
const TransformSet<bfloat16>* find_bf16_transforms(Rule rule) { return find<bfloat16>(rule); }

}  // namespace ridgeline::device::winograd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::device::winograd {

HWY_EXPORT(find_transforms);
HWY_EXPORT(find_bf16_transforms);

template <>
const TransformSet<float>* transforms(Rule rule) {
  active_isa();
  return HWY_DYNAMIC_DISPATCH(find_transforms)(rule);
}

template <>
const TransformSet<bfloat16>* transforms(Rule rule) {
  active_isa();
  return HWY_DYNAMIC_DISPATCH(find_bf16_transforms)(rule);
}

std::int64_t lanes() { return products::product_code().lanes; }
std::int64_t panel_width() { return products::product_code().panel; }

}  // namespace ridgeline::device::winograd
#endif  // HWY_ONCE
