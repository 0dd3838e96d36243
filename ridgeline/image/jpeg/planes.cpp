#include "ridgeline/image/jpeg/planes.h"

#include <algorithm>
#include <new>

#include "ridgeline/image/jpeg/colour.h"
#include "ridgeline/image/jpeg/entropy.h"
#include "ridgeline/image/jpeg/idct.h"

namespace ridgeline::image {
namespace {

constexpr std::ptrdiff_t kMargin = 64;  // bytes before a row of samples

int factor(const JpegHeader& header, int component, bool across) {
  const JpegComponent& c = header.component[static_cast<std::size_t>(component)];
  return across ? c.h : c.v;
}

}  // namespace

JpegRegion jpeg_region(const JpegHeader& header, const Box& box) {
  JpegRegion region;
  region.box = box;
  const int h = header.component[0].h, v = header.component[0].v;
  // In samples of chroma, which are 8 to an MCU; one more on each side where they are interpolated.
  const auto mcus = [](int begin, int end, int scale, int limit) {
    const int margin = scale > 1 ? 1 : 0;
    const int low = std::max(0, begin / scale - margin), high = std::min(limit, (end - 1) / scale + 1 + margin);
    return Range{low / 8, (high - 1) / 8 + 1};
  };
  region.mcu_rows = mcus(box.top, box.top + box.height, v, header.chroma_height());
  region.mcu_columns = mcus(box.left, box.left + box.width, h, header.chroma_width());
  return region;
}

void JpegRowBlocks::reset(const JpegHeader& header, const JpegRegion& region) {
  const int mcus = region.mcu_columns.end - region.mcu_columns.begin;
  std::ptrdiff_t blocks = 1 + kSlackBlocks;  // the scratch block
  for (int c = 0; c < header.components; ++c) {
    for (int v = 0; v < factor(header, c, false); ++v) {
      row_[static_cast<std::size_t>(c)][static_cast<std::size_t>(v)] = blocks;
      blocks += mcus * factor(header, c, true) + kSlackBlocks;
    }
  }
  if (blocks > capacity_) {
    coefficients_ = hwy::AllocateAligned<std::int16_t>(static_cast<std::size_t>(blocks) * 64);
    if (!coefficients_) throw std::bad_alloc();
    last_ = std::make_unique_for_overwrite<std::uint8_t[]>(static_cast<std::size_t>(blocks));
    capacity_ = blocks;
  }
  for (int c = 0; c < header.components; ++c) {
    for (int v = 0; v < factor(header, c, false); ++v) {
      const std::ptrdiff_t slack = row(c, v) + mcus * factor(header, c, true);
      std::fill_n(coefficients_.get() + slack * 64, kSlackBlocks * 64, std::int16_t{0});
      std::fill_n(last_.get() + slack, kSlackBlocks, std::uint8_t{0});
    }
  }
}

void JpegPlanes::reset(const JpegHeader& header, const JpegRegion& region) {
  header_ = &header;
  region_ = region;
  const int rows = std::min(kMcuRows, region.mcu_rows.end - region.mcu_rows.begin);
  const int columns = region.mcu_columns.end - region.mcu_columns.begin;
  for (int c = 0; c < header.components; ++c) {
    Plane& plane = plane_[static_cast<std::size_t>(c)];
    plane.stride = (kMargin + columns * 8 * factor(header, c, true) + 32 + 63) / 64 * 64;
    plane.rows = rows * 8 * factor(header, c, false);
    const std::size_t bytes =
        static_cast<std::size_t>(plane.stride) * static_cast<std::size_t>(plane.rows) + kColourSlack;
    if (bytes > plane.capacity) {
      plane.memory.reset();
      plane.memory = hwy::AllocateAligned<std::uint8_t>(bytes);
      if (!plane.memory) throw std::bad_alloc();
      plane.capacity = bytes;
    }
    plane.first = plane.memory.get() + kMargin;
  }
  const int h = header.component[0].h;
  chroma_columns_ = {region.box.left / h, (region.box.left + region.box.width - 1) / h + 1};
  const std::size_t wide =
      2 * (static_cast<std::size_t>(chroma_columns_.end - chroma_columns_.begin) * 2 + kColourSlack);
  if (wide > wide_capacity_) {
    wide_ = std::make_unique_for_overwrite<std::uint8_t[]>(wide);
    wide_capacity_ = wide;
  }
}

bool JpegPlanes::transform(int mcu_row, JpegRowBlocks& blocks) {
  const JpegHeader& header = *header_;
  const int mcus = region_.mcu_columns.end - region_.mcu_columns.begin;
  for (int c = 0; c < header.components; ++c) {
    Plane& plane = plane_[static_cast<std::size_t>(c)];
    const int h = factor(header, c, true), v = factor(header, c, false);
    // Of luma only the blocks under the box; chroma is also needed beside it.
    Range columns{0, mcus * h};
    if (c == 0) {
      const int origin = region_.mcu_columns.begin * h;
      columns = {region_.box.left / 8 - origin, (region_.box.left + region_.box.width - 1) / 8 + 1 - origin};
    }
    for (int k = 0; k < v; ++k) {
      const std::ptrdiff_t first = blocks.row(c, k) + columns.begin;
      std::uint8_t* out = plane.row(((mcu_row - region_.mcu_rows.begin) * v + k) * 8);
      const IdctRow row{blocks.coefficients() + first * 64,
                        blocks.last() + first,
                        header.component[static_cast<std::size_t>(c)].quant.data(),
                        columns.end - columns.begin,
                        out + 8 * columns.begin,
                        plane.stride};
      if (!inverse_dct(row)) return false;
      if (c == 0 || header.component[0].h == 1) continue;
      // Interpolation reads one sample beyond the image's borders.
      const int right = header.chroma_width() - region_.mcu_columns.begin * 8;
      for (int i = 0; i < 8; ++i, out += plane.stride) {
        if (region_.mcu_columns.begin == 0) out[-1] = out[0];
        if (right <= mcus * 8) out[right] = out[right - 1];
      }
    }
  }
  return true;
}

int JpegPlanes::ready_rows(int mcu_row) const {
  const int bottom = region_.box.top + region_.box.height;
  if (mcu_row >= region_.mcu_rows.end) return bottom;
  const int rows = mcu_row * header_->mcu_height() - (header_->component[0].v > 1 ? 1 : 0);
  return std::clamp(rows, region_.box.top, bottom);
}

const std::uint8_t* JpegPlanes::chroma(int component, int row, int column) const {
  const Plane& plane = plane_[static_cast<std::size_t>(component)];
  row = std::clamp(row, 0, header_->chroma_height() - 1);
  return plane.row(row - region_.mcu_rows.begin * 8) + (column - region_.mcu_columns.begin * 8);
}

// Chroma under row y, from the column of the box's left side, or the one before where that is odd.
void JpegPlanes::make_chroma(int component, int y, std::uint8_t* out) const {
  const bool across = header_->component[0].h > 1, down = header_->component[0].v > 1;
  const int row = down ? y / 2 : y, other = y % 2 == 0 ? row - 1 : row + 1;
  const auto n = static_cast<std::size_t>(chroma_columns_.end - chroma_columns_.begin);
  const std::uint8_t* near = chroma(component, row, chroma_columns_.begin);
  if (!down) return upsample_across(near, n, out);
  const std::uint8_t* far = chroma(component, other, chroma_columns_.begin);
  if (across) return upsample_both(near, far, n, out);
  upsample_down(near, far, n, y % 2 == 0 ? 1 : 2, out);
}

void JpegPlanes::make_rows(int begin, int end, std::uint8_t* out, std::ptrdiff_t stride) {
  const JpegHeader& header = *header_;
  const int h = header.component[0].h, v = header.component[0].v;
  const Plane& luma = plane_[0];
  const auto n = static_cast<std::size_t>(region_.box.width);
  for (int y = begin; y < end; ++y) {
    const std::uint8_t* light = luma.row(y - region_.mcu_rows.begin * header.mcu_height()) +
                                (region_.box.left - region_.mcu_columns.begin * header.mcu_width());
    std::uint8_t* rgb = out + (y - region_.box.top) * stride;
    if (header.components == 1) {
      grey_to_rgb(light, n, rgb);
    } else if (h == 1 && v == 1) {
      ycc_to_rgb(light, chroma(1, y, region_.box.left), chroma(2, y, region_.box.left), n, rgb);
    } else {
      std::uint8_t *blue = wide_.get(), *red = wide_.get() + wide_capacity_ / 2;
      make_chroma(1, y, blue);
      make_chroma(2, y, red);
      const int skip = h > 1 ? region_.box.left % 2 : 0;
      ycc_to_rgb(light, blue + skip, red + skip, n, rgb);
    }
  }
}

}  // namespace ridgeline::image
