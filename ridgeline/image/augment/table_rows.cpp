#define HWY_WANT_AVX3_DL  // for AVX-512 with permutations of bytes

#include "ridgeline/image/augment/table_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/image/augment/table_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ridgeline/image/pixel_rows.h"

HWY_BEFORE_NAMESPACE();
namespace ridgeline::image::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3_DL

bool by_vectors() { return true; }

class TableVectors {
 public:
  HWY_INLINE explicit TableVectors(const ByteTable& table) {
    for (int k = 0; k < 4; ++k) part_[k] = _mm512_loadu_si512(table.data() + 64 * k);
  }
  // A permutation goes by the lower seven bits, the eighth one chooses between the halves of the table.
  HWY_INLINE __m512i at(__m512i value) const {
    const __m512i lower = _mm512_permutex2var_epi8(part_[0], value, part_[1]);
    const __m512i upper = _mm512_permutex2var_epi8(part_[2], value, part_[3]);
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(value), lower, upper);
  }

 private:
  __m512i part_[4];
};

// Calls each(values, which vector of the row) and stores the results.
template <class Each>
HWY_INLINE void in_vectors_of_bytes(const std::uint8_t* in, std::size_t n, std::uint8_t* out, Each each) {
  for (std::size_t i = 0; i < n; i += 64) {
    const __mmask64 there = n - i < 64 ? (__mmask64{1} << (n - i)) - 1 : ~__mmask64{0};
    _mm512_mask_storeu_epi8(out + i, there, each(_mm512_maskz_loadu_epi8(there, in + i), i / 64));
  }
}

void look_up(const ByteTable& table, const std::uint8_t* in, std::size_t n, std::uint8_t* out) {
  const TableVectors vectors(table);
  in_vectors_of_bytes(in, n, out, [&](__m512i values, std::size_t) HWY_ATTR { return vectors.at(values); });
}

// Which bytes of the first, second and third vector of interleaved pixels are green, and which are blue.
struct Channels {
  __mmask64 green[3], blue[3];
  constexpr Channels() : green(), blue() {
    for (int at = 0; at < 3 * 64; ++at) {
      if (at % 3 == 1) green[at / 64] |= __mmask64{1} << (at % 64);
      if (at % 3 == 2) blue[at / 64] |= __mmask64{1} << (at % 64);
    }
  }
};
constexpr Channels kChannels;

void look_up_rgb(const std::array<ByteTable, 3>& tables, const std::uint8_t* in, std::size_t n, std::uint8_t* out) {
  const TableVectors red(tables[0]), green(tables[1]), blue(tables[2]);
  in_vectors_of_bytes(in, n, out, [&](__m512i values, std::size_t vector) HWY_ATTR {
    const std::size_t k = vector % 3;
    const __m512i two = _mm512_mask_blend_epi8(kChannels.green[k], red.at(values), green.at(values));
    return _mm512_mask_blend_epi8(kChannels.blue[k], two, blue.at(values));
  });
}

#else

bool by_vectors() { return false; }

void look_up(const ByteTable& table, const std::uint8_t* in, std::size_t n, std::uint8_t* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = table[in[i]];
}

void look_up_rgb(const std::array<ByteTable, 3>& tables, const std::uint8_t* in, std::size_t n, std::uint8_t* out) {
  for (std::size_t i = 0; i < n; i += 3) {
    for (std::size_t c = 0; c < 3; ++c) out[i + c] = tables[c][in[i + c]];
  }
}

#endif

}  // namespace ridgeline::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::image {

HWY_EXPORT(by_vectors);
HWY_EXPORT(look_up);
HWY_EXPORT(look_up_rgb);

bool looks_up_vectors() { return HWY_DYNAMIC_DISPATCH(by_vectors)(); }

void apply_table(const ImageView& in, const ByteTable& table, std::uint8_t* out) {
  const std::size_t bytes = row_bytes(in);
  for (int y = 0; y < in.height; ++y, out += bytes) HWY_DYNAMIC_DISPATCH(look_up)(table, in.row(y), bytes, out);
}

void apply_tables(const ImageView& in, const std::array<ByteTable, 3>& tables, std::uint8_t* out) {
  if (in.channels == 1) return apply_table(in, tables[0], out);
  const std::size_t bytes = row_bytes(in);
  for (int y = 0; y < in.height; ++y, out += bytes) HWY_DYNAMIC_DISPATCH(look_up_rgb)(tables, in.row(y), bytes, out);
}

}  // namespace ridgeline::image
#endif  // HWY_ONCE
