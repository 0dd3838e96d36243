#include "ridgeline/image/jpeg/fast.h"

#include <algorithm>
#include <cstdlib>

#include "ridgeline/image/jpeg/colour.h"

namespace ridgeline::image {
namespace {

// libjpeg reads up to 8 bytes ahead, and the end of a file there is an error: nearer to it, libjpeg decides.
constexpr std::size_t kReadAhead = 64;
// Positions in an index are 32 bits.
constexpr std::size_t kMaxBytes = std::size_t{1} << 31;

}  // namespace

bool JpegFastDecoder::prepare(std::span<const std::uint8_t> bytes, const Box* wanted, std::int64_t max_pixels) {
  const std::optional<JpegHeader> header = parse_jpeg_header(bytes);
  if (!header || bytes.size() > kMaxBytes) return false;
  bytes_ = bytes;
  header_ = *header;
  if (static_cast<std::int64_t>(header_.height) * header_.width > max_pixels) return false;
  // Two samples of chroma or less libjpeg repeats instead of interpolating.
  if (header_.component[0].h == 2 && header_.chroma_width() <= 2) return false;
  const Box box = wanted ? *wanted : Box{0, 0, header_.height, header_.width};
  if (!inside(box, {header_.height, header_.width})) return false;  // libjpeg's path reports it
  region_ = jpeg_region(header_, box);

  std::array<EntropyStream::Block, kMaxBlocksInMcu> blocks;
  int count = 0;
  for (int c = 0; c < header_.components; ++c) {
    const JpegComponent& component = header_.component[static_cast<std::size_t>(c)];
    EntropyStream::Block block;
    block.dc = tables_.dc(header_.dc[static_cast<std::size_t>(component.dc_table)]);
    block.ac = tables_.ac(header_.ac[static_cast<std::size_t>(component.ac_table)]);
    if (!block.dc || !block.ac) return false;
    block.component = c;
    block.dc_limit = 8191 / std::max<int>(1, component.quant[0]);
    for (int i = 0; i < component.h * component.v; ++i) blocks[static_cast<std::size_t>(count++)] = block;
  }
  blocks[static_cast<std::size_t>(count - 1)].last = true;
  for (Lane& lane : lanes_) {
    lane.blocks.reset(header_, region_);
    lane.stream.plan = blocks;
    lane.stream.blocks_in_mcu = count;
    lane.stream.coefficients = lane.blocks.coefficients();
    lane.stream.last = lane.blocks.last();
    lane.active = false;
  }
  planes_.reset(header_, region_);
  const std::size_t pixels =
      static_cast<std::size_t>(box.height) * static_cast<std::size_t>(box.width) * 3 + 3 * kColourSlack;
  if (pixels > capacity_) {
    pixels_.reset();
    pixels_ = std::make_unique_for_overwrite<std::uint8_t[]>(pixels);
    capacity_ = pixels;
  }
  made_rows_ = box.top;
  index_step_ = jpeg_index_step(header_.mcu_width());
  index_columns_ = (header_.mcu_columns() + index_step_ - 1) / index_step_;
  return true;
}

bool JpegFastDecoder::fits(const JpegIndex& index) const {
  return index.known_rows_ > 0 && index.fingerprint_ == fingerprint_ && index.columns_ == index_columns_ &&
         index.known_rows_ <= header_.mcu_rows() &&
         index.entries_.size() ==
             static_cast<std::size_t>(index.known_rows_) * static_cast<std::size_t>(index_columns_) &&
         index.at(0, 0) == JpegIndex::Entry{static_cast<std::uint32_t>(header_.scan_begin), 0, {}};
}

std::optional<ImageView> JpegFastDecoder::decode(std::span<const std::uint8_t> bytes, const Box* wanted,
                                                 std::int64_t max_pixels, const JpegIndex* known, JpegIndex* made) {
  JpegIndex result;
  bool good = prepare(bytes, wanted, max_pixels);
  if (good) {
    const bool indexed = (known || made) && header_.restart_interval == 0;
    if (indexed) fingerprint_ = jpeg_fingerprint(bytes, header_.scan_begin);
    if (!indexed || !known || !fits(*known)) known = nullptr;
    // A wrong index is not used.
    if (known && known->known_rows_ >= region_.mcu_rows.end && decode_rows_in_turns(*known)) {
      if (made && made != known) result = *known;
      if (made == known) made = nullptr;
    } else {
      JpegIndex* record = made && indexed ? &result : nullptr;
      good = (known && known->known_rows_ < region_.mcu_rows.end && decode_from(known, record)) ||
             decode_from(nullptr, record);
    }
  }
  if (made) *made = good ? std::move(result) : JpegIndex();
  if (!good) return {};
  const Box& box = region_.box;
  return ImageView{pixels_.get(), box.height, box.width, 3, static_cast<std::ptrdiff_t>(box.width) * 3};
}

// Up to column `stop` of the lane's row, which is completely inside or outside the region.
void JpegFastDecoder::plan(Lane& lane, int stop) {
  EntropyStream& s = lane.stream;
  const bool stored = lane.row >= region_.mcu_rows.begin && lane.row < region_.mcu_rows.end &&
                      lane.column >= region_.mcu_columns.begin && lane.column < region_.mcu_columns.end;
  std::size_t at = 0;
  for (int c = 0; c < header_.components; ++c) {
    const JpegComponent& component = header_.component[static_cast<std::size_t>(c)];
    for (int v = 0; v < component.v; ++v) {
      for (int h = 0; h < component.h; ++h, ++at) {
        const std::ptrdiff_t block =
            lane.blocks.row(c, v) + (lane.column - region_.mcu_columns.begin) * component.h + h;
        s.plan[at].to = lane.blocks.coefficients() + (stored ? block * 64 : 0);
        s.plan[at].step = stored ? component.h * 64 : 0;
      }
    }
  }
  s.mcus_left = stop - lane.column;
  lane.stop = stop;
}

void JpegFastDecoder::make_rows(int finished_mcu_rows) {
  const int ready = planes_.ready_rows(finished_mcu_rows);
  if (ready <= made_rows_) return;
  planes_.make_rows(made_rows_, ready, pixels_.get(), static_cast<std::ptrdiff_t>(region_.box.width) * 3);
  made_rows_ = ready;
}

// Goes to the last entry before the region's columns.
bool JpegFastDecoder::begin_row(Lane& lane, int row, const JpegIndex& index) {
  const int entry_column = region_.mcu_columns.begin / index_step_;
  const int behind = (region_.mcu_columns.end + index_step_ - 1) / index_step_;
  const JpegIndex::Entry& entry = index.at(row, entry_column);
  std::size_t end = bytes_.size();
  if (behind < index_columns_) {
    end = index.at(row, behind).byte;
  } else if (row + 1 < index.known_rows_) {
    end = index.at(row + 1, 0).byte;
  }
  end += 2;  // that byte holds the last bits, and may be stuffed
  if (entry.byte < header_.scan_begin || entry.byte >= end || entry.bit > 7) return false;
  lane.data.read(bytes_, entry.byte, end, -1);
  EntropyStream& s = lane.stream;
  s.set_data(lane.data.data(), lane.data.size());
  s.seek(entry.bit);
  s.index = 0;
  s.failed = false;
  for (std::size_t c = 0; c < 3; ++c) s.dc[c] = entry.dc[c];
  lane.row = row;
  lane.column = lane.stop = entry_column * index_step_;
  lane.active = true;
  return true;
}

// The next columns of the lane's row, or its end: then the lane is no longer active.
bool JpegFastDecoder::go_on(Lane& lane, const JpegIndex& index) {
  const Range& columns = region_.mcu_columns;
  lane.column = lane.stop;
  if (lane.column < columns.end) {
    plan(lane, lane.column < columns.begin ? columns.begin : columns.end);
    begin_mcus(lane.stream);
    return !lane.stream.failed;
  }
  lane.active = false;
  const bool last = lane.row + 1 == header_.mcu_rows() && columns.end == header_.mcu_columns();
  if (last && !ends_properly(lane, 0)) return false;
  if (columns.end == header_.mcu_columns() && lane.row + 1 < index.known_rows_) {
    // The following data must match the index.
    const JpegIndex::Entry& next = index.at(lane.row + 1, 0);
    std::size_t cursor = 0;
    const std::uint64_t position = lane.stream.position();
    if (lane.data.file_position(position >> 3, cursor) != next.byte || (position & 7) != next.bit) return false;
    const auto components = static_cast<std::size_t>(header_.components);
    if (!std::equal(next.dc.begin(), next.dc.begin() + components, lane.stream.dc.begin())) return false;
  }
  return planes_.transform(lane.row, lane.blocks);
}

bool JpegFastDecoder::decode_rows_in_turns(const JpegIndex& index) {
  int next_row = region_.mcu_rows.begin, finished = next_row;
  // A lane without work takes the next row if there is room for its samples.
  const auto take = [&](Lane& lane) {
    if (lane.active || next_row >= std::min(region_.mcu_rows.end, JpegPlanes::room(finished))) return true;
    const int row = next_row++;
    return begin_row(lane, row, index) && go_on(lane, index);
  };
  auto& [first, second] = lanes_;
  while (true) {
    if (!take(first) || !take(second)) return false;
    if (!first.active && !second.active) return true;
    EntropyStream* stopped = first.active && second.active
                                 ? decode_mcus(&first.stream, &second.stream)
                                 : decode_mcus(&(first.active ? first : second).stream, nullptr);
    if (stopped->failed) return false;
    Lane& lane = stopped == &first.stream ? first : second;
    if (!go_on(lane, index)) return false;
    if (lane.active) continue;
    finished = next_row;
    for (const Lane& other : lanes_) {
      if (other.active) finished = std::min(finished, other.row);
    }
    make_rows(finished);
  }
}

// At a restart marker no complete byte may be left over, as libjpeg would warn of it.
bool JpegFastDecoder::restart(Lane& lane, std::size_t& segment) {
  const auto& begins = lane.data.segments();
  if (segment + 1 >= begins.size()) return false;
  const std::uint64_t end = std::uint64_t{begins[++segment]} * 8, position = lane.stream.position();
  if (position > end || end - position >= 8) return false;
  lane.stream.seek(end);
  lane.stream.dc = {};
  return true;
}

// After the last row of the region: with the image's last row, directly the end marker; otherwise an end marker
// somewhere, beyond which libjpeg does not read, or enough data that it would not reach the file's end.
bool JpegFastDecoder::ends_properly(const Lane& lane, std::size_t segment) const {
  const auto& begins = lane.data.segments();
  const bool last = segment + 1 == begins.size();
  const std::uint64_t end = std::uint64_t{last ? lane.data.size() : begins[segment + 1]} * 8;
  const std::uint64_t position = lane.stream.position();
  if (position > end) return false;
  const bool marked = lane.data.marker() == 0xd9;
  if (region_.mcu_rows.end < header_.mcu_rows()) return marked || position / 8 + kReadAhead <= lane.data.size();
  return last && marked && end - position < 8;
}

// A second stream, where there is enough data for two: it begins where, by the mean length of the rest, the first one
// will be when both have read equally much.
void JpegFastDecoder::look_ahead(const Lane& lane, int mcus_left) {
  constexpr int kLeast = 512;                // blocks for each: what it takes to fall into step is then a small part
  constexpr std::uint64_t kMost = 1u << 28;  // bytes: positions have 32 bits
  const int blocks = lane.stream.blocks_in_mcu, mcus = std::min(mcus_left / 2, JpegAhead::capacity(blocks));
  if (mcus * blocks < kLeast || lane.data.size() >= kMost) return;
  const std::uint64_t begin = lane.stream.position() >> 3;
  const auto to_image_end =
      static_cast<std::uint64_t>(mcus_left) + static_cast<std::uint64_t>(header_.mcu_rows() - region_.mcu_rows.end) *
                                                  static_cast<std::uint64_t>(header_.mcu_columns());
  if (begin >= lane.data.size()) return;
  const std::uint64_t ahead = (lane.data.size() - begin) * static_cast<std::uint64_t>(mcus) / to_image_end;
  ahead_.begin(lane.stream, begin + ahead, std::min(mcus + mcus / 4, mcus_left));
}

// The columns of the lane's row up to `stop`, or fewer (lane.stop tells).
bool JpegFastDecoder::decode_columns(Lane& lane, int stop) {
  EntropyStream& s = lane.stream;
  if (!taking_ && ahead_.near(s.position())) {
    taking_ = ahead_.met(s.position());
    if (!taking_) stop = lane.column + 1;
  }
  if (taking_) {
    plan(lane, std::min(stop, lane.column + ahead_.left()));
    if (!ahead_.take(s, lane.stop - lane.column)) return false;
    if (ahead_.left() == 0) {
      ahead_.end();
      taking_ = false;
    }
    return true;
  }
  plan(lane, stop);
  begin_mcus(s);
  while (!s.failed && ahead_.running()) {
    if (decode_mcus(&s, ahead_.running()) == &s) return !s.failed;
    ahead_.stopped();
  }
  if (!s.failed) decode_mcus(&s, nullptr);
  return !s.failed;
}

// From the last row before the region that the index has, or from the start.
bool JpegFastDecoder::decode_from(const JpegIndex* index, JpegIndex* made) {
  made_rows_ = region_.box.top;
  Lane& lane = lanes_[0];
  EntropyStream& s = lane.stream;
  const int interval = header_.restart_interval, columns = header_.mcu_columns();
  int row = 0, until_restart = interval;
  JpegIndex::Entry start{static_cast<std::uint32_t>(header_.scan_begin), 0, {}};
  if (index) {
    row = std::min(region_.mcu_rows.begin, index->known_rows_ - 1);
    start = index->at(row, 0);
    if (start.byte < header_.scan_begin || start.byte >= bytes_.size() || start.bit > 7) return false;
  }
  lane.data.read(bytes_, start.byte, bytes_.size(), interval > 0 ? 0 : -1);
  s.set_data(lane.data.data(), lane.data.size());
  s.seek(start.bit);
  s.index = 0;
  s.failed = false;
  for (std::size_t c = 0; c < 3; ++c) s.dc[c] = start.dc[c];
  if (made) {
    made->fingerprint_ = fingerprint_;
    made->columns_ = index_columns_;
    made->entries_.clear();
    if (index) made->entries_.assign(index->entries_.begin(), index->entries_.begin() + row * index_columns_);
  }
  ahead_.end();
  taking_ = false;
  std::size_t segment = 0, cursor = 0;
  for (; row < region_.mcu_rows.end; ++row) {
    const bool stored = row >= region_.mcu_rows.begin;
    lane.row = row;
    for (lane.column = 0; lane.column < columns; lane.column = lane.stop) {
      int stop = columns;
      if (stored && lane.column < region_.mcu_columns.end) {
        stop = lane.column < region_.mcu_columns.begin ? region_.mcu_columns.begin : region_.mcu_columns.end;
      }
      if (interval > 0) {
        if (until_restart == 0) {
          if (!restart(lane, segment)) return false;
          until_restart = interval;
        }
        stop = std::min(stop, lane.column + until_restart);
        until_restart -= stop - lane.column;
      }
      if (made) {
        if (lane.column % index_step_ == 0) {
          const std::uint64_t position = s.position();
          JpegIndex::Entry entry{static_cast<std::uint32_t>(lane.data.file_position(position >> 3, cursor)),
                                 static_cast<std::uint8_t>(position & 7),
                                 {}};
          for (std::size_t c = 0; c < 3; ++c) entry.dc[c] = static_cast<std::int16_t>(s.dc[c]);
          made->entries_.push_back(entry);
        }
        stop = std::min(stop, (lane.column / index_step_ + 1) * index_step_);
      }
      if (looks_ahead_ && interval == 0 && !ahead_.active())
        look_ahead(lane, (region_.mcu_rows.end - row) * columns - lane.column);
      if (!decode_columns(lane, stop)) return false;
    }
    if (!stored) continue;
    if (!planes_.transform(row, lane.blocks)) return false;
    make_rows(row + 1);
  }
  if (!ends_properly(lane, segment)) return false;
  if (made) made->known_rows_ = row;
  return true;
}

}  // namespace ridgeline::image
