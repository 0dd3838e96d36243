// ridgeline/image/jpeg/ahead.h
//
// A second stream in a scan whose rows nobody knows yet. It begins somewhere ahead of the first one, at a bit that is
// most likely no code's first. Huffman codes fall into step by themselves: after some blocks, nearly always, the codes
// it reads are the true ones. When the first stream comes to a place where the second one began an MCU, all that the
// second one read from there on is what the first one would read, but for what the DC coefficients count from. So no
// result depends on guesses: what is not met is not used. Private to this folder.
#pragma once

#include <cstdint>
#include <memory>

#include <hwy/aligned_allocator.h>

#include "ridgeline/image/jpeg/entropy.h"

namespace ridgeline::image {

// Owned by one thread; keeps its memory from image to image.
class JpegAhead {
 public:
  // MCUs that one run holds: as many as stay in the second-level cache.
  static constexpr int capacity(int blocks_in_mcu) { return 4096 / blocks_in_mcu; }

  // Begins at byte `from` of the data of `first`; reads up to `mcus` MCUs, at most capacity().
  void begin(const EntropyStream& first, std::uint64_t from, int mcus);
  void end() { active_ = running_ = false; }
  bool active() const { return active_; }

  // What is to be decoded in turns with the first stream; null when there is no more to do.
  EntropyStream* running() { return running_ ? &stream_ : nullptr; }
  // After running() stopped: it is full, is damaged there, or has not fallen into step and begins again.
  void stopped();

  // Whether the first stream, at the start of an MCU at this bit, may meet ours soon: it should ask at every MCU.
  bool near(std::uint64_t position) const { return active_ && count() > 0 && position >= ends_[0]; }
  // Whether they have met: what follows is take(). Gives up once the first stream is beyond all that was read.
  bool met(std::uint64_t position);
  // MCUs that take() can give.
  int left() const { return count() - at_; }
  // The next `count` MCUs, at the places and with the predictions of `first`, which stands behind them afterwards.
  // False where it would have failed.
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
  std::unique_ptr<std::uint32_t[]> ends_;  // bit behind each MCU
  int mcus_ = 0;
  int at_ = 0;  // the MCU that the first stream is looked for at, or that take() gives next
  bool active_ = false, running_ = false;
};

}  // namespace ridgeline::image
