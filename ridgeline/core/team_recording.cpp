#include "ridgeline/core/team_recording.h"

#include <ctime>
#include <utility>

namespace ridgeline {
namespace {

thread_local TeamRecording* t_recording = nullptr;

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

TeamRecording::TeamRecording(Clock clock)
    : clock_(clock != nullptr ? clock : thread_seconds), outer_(std::exchange(t_recording, this)) {
  start();
}

TeamRecording::~TeamRecording() { t_recording = outer_; }

TeamRecording* TeamRecording::active() { return t_recording; }

void TeamRecording::start() {
  work_ = {};
  serial_since_ = clock_();
}

TeamWork TeamRecording::take() {
  work_.serial_seconds += clock_() - serial_since_;
  TeamWork work = std::move(work_);
  start();
  return work;
}

void TeamRecording::begin_region(TeamRegion::Dealt dealt, int threads) {
  work_.serial_seconds += clock_() - serial_since_;
  work_.regions.push_back({dealt, threads});
}

void TeamRecording::end_region() { serial_since_ = clock_(); }

void TeamRecording::begin_part() {
  t_recording = nullptr;  // regions within a part are the part's own work
  part_started_ = clock_();
}

void TeamRecording::end_part(std::int64_t size) {
  const double seconds = clock_() - part_started_;
  t_recording = this;
  TeamRegion& region = work_.regions.back();
  region.seconds.push_back(seconds);
  if (region.dealt == TeamRegion::Dealt::chunks) region.sizes.push_back(size);
}

}  // namespace ridgeline
