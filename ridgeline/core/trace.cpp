#include "ridgeline/core/trace.h"

#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "ridgeline/core/file.h"

namespace ridgeline {

struct Trace::State {
  struct Span {
    std::string category;
    std::string name;
    int lane;
    std::int64_t begin_us;
    std::int64_t duration_us;
    Details details;
  };

  Clock::time_point start = Clock::now();
  mutable std::mutex mutex;
  std::map<std::thread::id, int> lanes;
  std::map<int, std::string> lane_names;
  std::vector<Span> spans;

  std::map<std::string, int, std::less<>> named_lanes;

  int next_lane() const { return static_cast<int>(lanes.size() + named_lanes.size()); }
  int lane() { return lanes.try_emplace(std::this_thread::get_id(), next_lane()).first->second; }
  int lane(std::string_view name) {
    const auto [it, is_new] = named_lanes.try_emplace(std::string(name), next_lane());
    if (is_new) lane_names[it->second] = name;
    return it->second;
  }
  void add(int lane, std::string_view category, std::string_view name, Clock::time_point begin, Clock::time_point end,
           Details details) {
    using std::chrono::duration_cast;
    using std::chrono::microseconds;
    spans.push_back({std::string(category), std::string(name), lane, duration_cast<microseconds>(begin - start).count(),
                     duration_cast<microseconds>(end - begin).count(), std::move(details)});
  }
};

Trace::Trace() : state_(std::make_unique<State>()) {}
Trace::~Trace() = default;

void Trace::record(std::string_view category, std::string_view name, Clock::time_point begin, Clock::time_point end,
                   Details details) {
  std::lock_guard lock(state_->mutex);
  state_->add(state_->lane(), category, name, begin, end, std::move(details));
}

void Trace::record_in(std::string_view lane, std::string_view category, std::string_view name, Clock::time_point begin,
                      Clock::time_point end, Details details) {
  std::lock_guard lock(state_->mutex);
  state_->add(state_->lane(lane), category, name, begin, end, std::move(details));
}

void Trace::name_thread(std::string_view name) {
  std::lock_guard lock(state_->mutex);
  state_->lane_names[state_->lane()] = name;
}

void Trace::write(const std::string& path) const {
  using nlohmann::json;
  json events = json::array();
  {
    std::lock_guard lock(state_->mutex);
    for (const auto& [lane, name] : state_->lane_names) {
      events.push_back({{"ph", "M"}, {"name", "thread_name"}, {"pid", 1}, {"tid", lane}, {"args", {{"name", name}}}});
    }
    for (const State::Span& s : state_->spans) {
      events.push_back({{"ph", "X"},
                        {"cat", s.category},
                        {"name", s.name},
                        {"pid", 1},
                        {"tid", s.lane},
                        {"ts", s.begin_us},
                        {"dur", s.duration_us}});
      for (const auto& [key, text] : s.details) events.back()["args"][key] = text;
    }
  }
  // A name may come from a user's file: what is not UTF-8 in it is replaced, not refused.
  write_file_atomically(path, json{{"traceEvents", events}}.dump(-1, ' ', false, json::error_handler_t::replace));
}

}  // namespace ridgeline
