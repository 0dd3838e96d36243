// ridgeline/image/jpeg/ahead.h
//
// A second stream that starts ahead of the first one, in a scan whose rows have no known positions. It begins at a bit
// that is most likely not the start of a code. But Huffman codes synchronise by themselves: after a few blocks it
// nearly always reads the true codes. When the first stream reaches a position at which the second one began an MCU,
// all that the second one read from there is what the first one would read, except for the base of the DC coefficients.
// So no result depends on guesses: what the first stream does not meet is not used. Private to this folder.
#pragma once

#include <cstdint>
#include <memory>

#include <hwy/aligned_allocator.h>

#include "ridgeline/image/jpeg/entropy.h"

namespace ridgeline::image {

// Owned by one thread; keeps its memory from image to image.
class JpegAhead {
 public:
  // MCUs that one run holds: as many as fit in the second-level cache.
  static constexpr int capacity(int blocks_in_mcu) { return 4096 / blocks_in_mcu; }

  // Begins at byte `from` of the data of `first`; reads up to `mcus` MCUs, at most capacity().
  void begin(const EntropyStream& first, std::uint64_t from, int mcus);
  void end() { active_ = running_ = false; }
  bool active() const { return active_; }

  // The stream to decode in turns with the first one; null when there is nothing more to do.
  EntropyStream* running() { return running_ ? &stream_ : nullptr; }
  // Call when running() has stopped: it is full, met damage, or has not synchronised and starts anew.
  void stopped();

  // Whether the first stream, at an MCU that starts at this bit, may meet this one soon: ask before every MCU.
  bool near(std::uint64_t position) const { return active_ && count() > 0 && position >= ends_[0]; }
  // Whether they have met: then call take(). Gives up once the first stream is beyond all that was read.
  bool met(std::uint64_t position);
  // MCUs that take() can give.
  int left() const { return count() - at_; }
  // The next `count` MCUs, with the places and predictions of `first`, which is positioned after them. False if the
  // first stream would have failed.
  bool take(EntropyStream& first, int count);

 private:
  int count() const { return static_cast<int>(stream_.ends - ends_.get()); }
  void restart(std::uint64_t from);
  const std::int16_t* block(int mcu, int index) const {
    return coefficients_.get() + 64 * static_cast<std::ptrdiff_t>(mcu * stream_.blocks_in_mcu + index);
  }

  EntropyStream stream_;
  hwy::AlignedFreeUniquePtr<std::int16_t[]> coefficients_;
  std::unique_ptr<std::uint8_t[]> last_;
  std::unique_ptr<std::uint32_t[]> ends_;  // the bit after each MCU
  int mcus_ = 0;
  int at_ = 0;  // the MCU that the first stream may meet, or that take() gives next
  bool active_ = false, running_ = false;
};

}  // namespace ridgeline::image
