// ridgeline/core/team_recording.h
//
// How work is divided among a team, recorded without that team: while a recording is alive, the calling thread does one
// after the other what the threads of a team would do at the same time, and times each piece. So the recorded team may
// have more threads than the machine, and the time of each thread is known separately. Results are those of the team.
#pragma once

#include <cstdint>
#include <vector>

namespace ridgeline {

// One parallel region: what parallel_for, parallel_items or parallel_team (core/threads.h) handed out.
struct TeamRegion {
  enum class Dealt {
    chunks,  // ranges of equal elements, at most one per thread
    items,   // in ranges, and a thread that has finished helps others
    bodies,  // one per thread
  };
  Dealt dealt = Dealt::bodies;
  int threads = 1;                       // of the team
  std::vector<double> seconds = {};      // of each chunk, item or body
  std::vector<std::int64_t> sizes = {};  // of chunks: elements
};

struct TeamWork {
  std::vector<TeamRegion> regions;
  double serial_seconds = 0;  // outside of regions
  // Whether a library with a team of its own did some of the work: how it divides that is not known. Its seconds are
  // those of the calling thread and count as serial.
  bool library = false;
};

class TeamRecording {
 public:
  using Clock = double (*)();  // seconds
  // By default the processor time of the calling thread, which other programs do not disturb.
  explicit TeamRecording(Clock clock = nullptr);
  ~TeamRecording();
  TeamRecording(const TeamRecording&) = delete;
  TeamRecording& operator=(const TeamRecording&) = delete;

  // The recording of the calling thread; null: none is alive, or the thread is inside a piece of a region.
  static TeamRecording* active();

  // What was recorded since start() or the last take().
  void start();
  TeamWork take();

  void note_library() { work_.library = true; }
  // For core/threads.cpp: a region, and its pieces, each between begin_part() and end_part(). The time that the
  // recording itself takes between two pieces counts nowhere.
  void begin_region(TeamRegion::Dealt dealt, int threads);
  void end_region();
  void begin_part();
  void end_part(std::int64_t size = 0);

 private:
  Clock clock_;
  TeamRecording* outer_;
  TeamWork work_;
  double serial_since_ = 0, part_started_ = 0;
};

}  // namespace ridgeline
