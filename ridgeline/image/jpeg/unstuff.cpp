#include "ridgeline/image/jpeg/unstuff.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/image/jpeg/unstuff.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ridgeline::image::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Copies up to the next marker or beyond `end`; returns where it stopped in `in`, and in `written` where in `out`.
const std::uint8_t* copy_unstuffed(const std::uint8_t* in, const std::uint8_t* end, const std::uint8_t* file_end,
                                   std::uint8_t* out, std::uint8_t*& written, const std::uint8_t* out_base,
                                   std::vector<std::uint32_t>& removed) {
  const hn::ScalableTag<std::uint8_t> d;
  const auto ff = hn::Set(d, 0xff);
  const auto lanes = static_cast<std::ptrdiff_t>(hn::Lanes(d));
  const auto drop = [&] { removed.push_back(static_cast<std::uint32_t>(out - out_base)); };
  while (in < end && file_end - in > lanes) {  // the byte behind a 0xff in the last lane is there too
    const auto v = hn::LoadU(d, in);
    hn::StoreU(v, d, out);
    const std::ptrdiff_t found = hn::FindFirstTrue(d, hn::Eq(v, ff));
    if (found < 0) {
      in += lanes;
      out += lanes;
      continue;
    }
    if (in[found + 1] != 0) {
      written = out + found;
      return in + found;
    }
    in += found + 2;
    out += found + 1;
    drop();
  }
  while (in < end) {
    *out++ = *in++;
    if (out[-1] != 0xff) continue;
    if (in == file_end || *in != 0) {
      written = out - 1;
      return in - 1;
    }
    ++in;
    drop();
  }
  written = out;
  return in;
}

}  // namespace ridgeline::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::image {

HWY_EXPORT(copy_unstuffed);

void Unstuffed::read(std::span<const std::uint8_t> file, std::size_t begin, std::size_t end, int restart) {
  end = std::min(end, file.size());
  begin = std::min(begin, end);
  constexpr std::size_t widest = 256;  // a whole vector may be stored at the end
  const std::size_t wanted = end - begin + widest + kReadSlack;
  if (wanted > capacity_) {
    bytes_ = std::make_unique_for_overwrite<std::uint8_t[]>(wanted + wanted / 4);
    capacity_ = wanted + wanted / 4;
  }
  begin_ = begin;
  segments_.assign(1, 0);
  removed_.clear();
  marker_ = 0;
  const std::uint8_t *in = file.data() + begin, *stop = file.data() + end, *file_end = file.data() + file.size();
  std::uint8_t* out = bytes_.get();
  while (true) {
    in = HWY_DYNAMIC_DISPATCH(copy_unstuffed)(in, stop, file_end, out, out, bytes_.get(), removed_);
    if (in >= stop || *in != 0xff || in + 1 == file_end) break;
    marker_ = in[1];
    if (restart < 0 || marker_ != 0xd0 + restart) break;
    restart = (restart + 1) & 7;
    marker_ = 0;
    in += 2;
    segments_.push_back(static_cast<std::size_t>(out - bytes_.get()));
  }
  size_ = static_cast<std::size_t>(out - bytes_.get());
  std::memset(out, 0, kReadSlack);
}

}  // namespace ridgeline::image
#endif  // HWY_ONCE
