// ridgeline/format/record/event_file.h
//
// TensorBoard event files: TFRecords of tensorflow.Event messages (core/util/event.proto,
// core/framework/summary.proto); here their scalars.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/format/wire/append_file.h"

namespace ridgeline {

struct ScalarEvent {
  double wall_time = 0;  // seconds since 1970
  std::int64_t step = 0;
  std::string tag;
  float value = 0;
  friend bool operator==(const ScalarEvent&, const ScalarEvent&) = default;
};

// Appends scalars; every call is in the file when it returns. TensorBoard finds files whose name contains "tfevents":
// event_file_name() builds the usual one. One thread.
class EventFileWriter {
 public:
  // A new file starts with the version record, stamped `wall_time`. An existing one is continued; a record that a
  // killed process left torn at its end is cut off, and a file damaged elsewhere is an Error: what followed the damage
  // would be read by nobody.
  EventFileWriter(const std::string& path, double wall_time);

  struct Scalar {
    std::string_view tag;
    float value = 0;
  };
  // One event a call: all scalars of one step, as TensorBoard's own writers may do.
  void add(std::int64_t step, double wall_time, std::span<const Scalar> scalars);
  void add(std::int64_t step, double wall_time, std::string_view tag, float value);
  // A run goes on at `step`: whoever reads drops what came before of this step and of later ones.
  void start(std::int64_t step, double wall_time);
  void sync() { file_.sync(); }

 private:
  void begin(double wall_time);
  AppendFile file_;
};

// Goes on with the newest event file of `directory`; without one, or if that one cannot be continued, which `warn` is
// told, begins a new one of that time and host.
EventFileWriter continue_events(const std::string& directory, double wall_time, std::string_view host,
                                const std::function<void(const std::string&)>& warn);

// "events.out.tfevents.<seconds>.<host>"
std::string event_file_name(std::int64_t seconds, std::string_view host);

struct EventFileContent {
  std::string file_version;
  double file_time = 0;  // of the version record
  std::vector<ScalarEvent> scalars;
  std::optional<std::string> damage;  // a torn or damaged end, as the reader's message
};

// Reads simple values and the rank-0 float and double tensors that TensorFlow 2 writes; other summaries are passed
// over. A run that started anew in the middle drops the scalars of the steps that it did again, as TensorBoard does.
EventFileContent read_event_file(const std::string& path);

}  // namespace ridgeline
