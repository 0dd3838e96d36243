#include "ridgeline/image/jpeg/ahead.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

namespace ridgeline::image {
namespace {

constexpr int kBlocks = 4096 + kSlackBlocks;
// Codes that are read out of sync lead to one that does not exist, or beyond a block, within some tens of blocks: a
// reader that fails later was in sync, and the file is damaged or ends there.
constexpr int kInStep = 128;

}  // namespace

void JpegAhead::begin(const EntropyStream& first, std::uint64_t from, int mcus) {
  if (!coefficients_) {
    coefficients_ = hwy::AllocateAligned<std::int16_t>(std::size_t{kBlocks} * 64);
    if (!coefficients_) throw std::bad_alloc();
    last_ = std::make_unique_for_overwrite<std::uint8_t[]>(kBlocks);
    ends_ = std::make_unique_for_overwrite<std::uint32_t[]>(kBlocks);
  }
  stream_.plan = first.plan;
  // Predictions start from zero here, so libjpeg's limit cannot be checked; take() does.
  for (EntropyStream::Block& block : stream_.plan) block.dc_limit = std::numeric_limits<int>::max() / 2;
  stream_.blocks_in_mcu = first.blocks_in_mcu;
  stream_.coefficients = coefficients_.get();
  stream_.last = last_.get();
  stream_.base = first.base;
  stream_.limit = first.limit;
  mcus_ = std::min(mcus, capacity(first.blocks_in_mcu));
  restart(from);
}

void JpegAhead::restart(std::uint64_t from) {
  stream_.ends = ends_.get();
  at_ = 0;
  active_ = running_ = false;
  if (stream_.base + from + 8 >= stream_.limit) return;
  for (int i = 0; i < stream_.blocks_in_mcu; ++i) {
    EntropyStream::Block& plan = stream_.plan[static_cast<std::size_t>(i)];
    plan.to = coefficients_.get() + std::ptrdiff_t{64} * i;
    plan.step = std::ptrdiff_t{64} * stream_.blocks_in_mcu;
  }
  stream_.mcus_left = mcus_;
  stream_.failed = false;
  stream_.dc = {};
  stream_.index = 0;
  stream_.seek(from * 8);
  begin_mcus(stream_);
  active_ = running_ = !stream_.failed;
}

void JpegAhead::stopped() {
  running_ = false;
  if (stream_.failed && count() < kInStep) restart((stream_.position() >> 3) + 1);
}

bool JpegAhead::met(std::uint64_t position) {
  while (at_ < count() && ends_[static_cast<std::size_t>(at_)] < position) ++at_;
  if (at_ < count()) {
    if (ends_[static_cast<std::size_t>(at_)] != position) return false;
    ++at_;  // what follows
    running_ = false;
    if (left() == 0) end();
    return active_;
  }
  if (!running_) end();
  return false;
}

bool JpegAhead::take(EntropyStream& first, int count) {
  const int blocks = stream_.blocks_in_mcu;
  std::array<std::int16_t, 3> before{};  // our DC coefficients before the MCU
  for (int i = 0; i < blocks; ++i) {
    const auto component = static_cast<std::size_t>(stream_.plan[static_cast<std::size_t>(i)].component);
    before[component] = block(at_ - 1, i)[0];
  }
  for (int end = at_ + count; at_ < end; ++at_) {
    for (int i = 0; i < blocks; ++i) {
      EntropyStream::Block& plan = first.plan[static_cast<std::size_t>(i)];
      const auto component = static_cast<std::size_t>(plan.component);
      const std::int16_t* from = block(at_, i);
      // A difference has 12 bits, so it is right even where our 16 bits wrapped around.
      std::int32_t& dc = first.dc[component];
      dc += static_cast<std::int16_t>(from[0] - before[component]);
      before[component] = from[0];
      if (dc > plan.dc_limit || dc < -plan.dc_limit) return false;
      std::int16_t* to = plan.to;
      if (plan.step == 0) continue;
      plan.to += plan.step;
      std::memcpy(to, from, 64 * sizeof *to);
      to[0] = static_cast<std::int16_t>(dc);
      first.last[(to - first.coefficients) >> 6] = last_[static_cast<std::size_t>(from - coefficients_.get()) >> 6];
    }
  }
  first.seek(ends_[static_cast<std::size_t>(at_ - 1)]);
  return true;
}

}  // namespace ridgeline::image
