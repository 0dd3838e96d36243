// ridgeline/data/runtime/rows/row_scan.h
//
// Reads the rows of one epoch from the first on, as far as they are needed, and delivers what it finds in their order.
// A thread that needs more reads some rows itself, and threads that have nothing else to do help(), so that expensive
// tests run on all of them. Any thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "ridgeline/data/runtime/rows/rows.h"

namespace ridgeline::data {

template <class Answer>
class RowScan {
 public:
  // `cheap`: see Scratch. `ahead` false: no row is read before it is needed.
  RowScan(RowsPtr rows, std::uint64_t epoch, int places, bool cheap, bool ahead)
      : rows_(std::move(rows)), epoch_(epoch), places_(places), cheap_(cheap), ahead_(ahead) {}
  virtual ~RowScan() = default;
  RowScan(const RowScan&) = delete;
  RowScan& operator=(const RowScan&) = delete;

  // Reads a few rows that will be needed soon. False if there is nothing to do.
  bool help() {
    std::unique_lock lock(mutex_);
    if (!ahead_ || ended_ || next_ >= needed_ + kAhead) return false;
    Part* part = claim();
    if (part) work(*part, lock);
    return part != nullptr;
  }

 protected:
  const Rows& rows() const { return *rows_; }
  // What is found in a row. Called by several threads at once, without the lock.
  virtual Answer look(RowAddress row, Scratch& scratch) const = 0;
  // Gets the answers in the order of the rows, under the lock.
  virtual void take(std::uint64_t position, Answer answer) = 0;
  // After the last row, under the lock, once.
  virtual void end() {}

  // Reads rows until enough() or until there are no more; then returns read(). Both run under the lock.
  template <class Enough, class Read>
  auto after(Enough enough, Read read) {
    std::unique_lock lock(mutex_);
    while (!ended_ && !enough()) {
      needed_ = std::max(needed_, parts_.empty() ? next_ : parts_.front()->begin);
      if (Part* part = claim())
        work(*part, lock);
      else
        changed_.wait(lock);
    }
    return read();
  }

 private:
  // Rows that one thread reads.
  struct Part {
    enum class State { open, working, done };
    std::uint64_t begin = 0, end = 0;
    State state = State::open;
    bool last = false;  // the rows end in this part, or before it
    std::vector<Answer> answers;
  };

  // The first part that no thread works on; null if the limit of parts that wait for an earlier one is reached.
  Part* claim() {
    for (const auto& part : parts_) {
      if (part->state == Part::State::open) return part.get();  // its thread failed
    }
    if (parts_.size() == (ahead_ ? kMostParts : 1)) return nullptr;
    parts_.push_back(std::make_unique<Part>());
    parts_.back()->begin = next_;
    parts_.back()->end = next_ += rows_at_once_;
    return parts_.back().get();
  }

  void work(Part& part, std::unique_lock<std::mutex>& lock) {
    part.state = Part::State::working;
    std::unique_ptr<Scratch> scratch = lend_scratch();
    lock.unlock();
    const auto begin = std::chrono::steady_clock::now();
    try {
      look_at(part, *scratch);
    } catch (...) {
      lock.lock();
      part.state = Part::State::open;
      part.answers.clear();
      changed_.notify_all();
      throw;
    }
    const auto time = std::chrono::steady_clock::now() - begin;
    lock.lock();
    free_.push_back(std::move(scratch));
    part.state = Part::State::done;
    // Parts start small, since the first rows are due soon and expensive rows are best distributed one by one.
    if (time < kShort && ahead_) rows_at_once_ = std::min(2 * rows_at_once_, kMostRows);
    if (time > 4 * kShort) rows_at_once_ = std::max<std::uint64_t>(1, rows_at_once_ / 2);
    hand_over();
    changed_.notify_all();
  }

  void look_at(Part& part, Scratch& scratch) const {
    while (part.end > part.begin && !rows_->has({epoch_, part.end - 1})) --part.end, part.last = true;
    try {
      for (std::uint64_t i = part.begin; i < part.end; ++i) rows_->prefetch({epoch_, i}, scratch);
    } catch (const Error&) {  // thrown again when the row is made
    }
    part.answers.reserve(part.end - part.begin);
    for (std::uint64_t i = part.begin; i < part.end; ++i) {
      scratch.begin();
      part.answers.push_back(look({epoch_, i}, scratch));
    }
  }

  void hand_over() {
    while (!parts_.empty() && parts_.front()->state == Part::State::done) {
      const std::unique_ptr<Part> part = std::move(parts_.front());
      parts_.pop_front();
      if (ended_) continue;
      for (std::uint64_t i = part->begin; i < part->end; ++i) take(i, std::move(part->answers[i - part->begin]));
      if (!part->last) continue;
      ended_ = true;
      end();
    }
  }

  std::unique_ptr<Scratch> lend_scratch() {
    if (free_.empty()) {
      auto scratch = std::make_unique<Scratch>(places_);
      scratch->cheap = cheap_;
      return scratch;
    }
    std::unique_ptr<Scratch> scratch = std::move(free_.back());
    free_.pop_back();
    return scratch;
  }

  static constexpr std::uint64_t kMostRows = 64;
  static constexpr std::size_t kMostParts = 64;
  static constexpr std::uint64_t kAhead = 1024;  // rows beyond the needed one that help() reads
  static constexpr std::chrono::microseconds kShort{50};

  RowsPtr rows_;
  std::uint64_t epoch_;
  int places_;
  bool cheap_, ahead_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Part>> parts_;  // in the order of the rows; the first is not done
  std::vector<std::unique_ptr<Scratch>> free_;
  std::uint64_t next_ = 0;    // first row that was not read
  std::uint64_t needed_ = 0;  // the last row that was waited for
  std::uint64_t rows_at_once_ = 1;
  bool ended_ = false;
};

}  // namespace ridgeline::data
