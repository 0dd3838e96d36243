// ridgeline/device/cuda/plans/plan_folder.h
//
// Plans of NVIDIA's libraries between runs, one file each, in a folder for one card, driver and version of the library:
// the second start neither asks heuristics nor compiles. Files are replaced whole, so that several processes may share
// the folder. What is damaged, or stands under another key, counts as not there.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace ridgeline::cuda {

struct StoredPlan {
  std::string name;    // for reports
  bool timed = false;  // whether it was the fastest of several, or the heuristics' first
  std::string plan;    // as the library writes it
};

class PlanFolder {
 public:
  // Made when the first plan is written. "": keeps nothing. `warn` gets a line for each damaged file, and one where the
  // folder cannot be written.
  PlanFolder(std::string folder, std::function<void(const std::string& line)> warn);

  // <cache of the user>/cuda/<card>, driver <version>, cuDNN <version>; "" where there is no cache.
  static std::string folder_of(std::string_view card, int driver_version, std::string_view library);

  // `key`: all that decides about a plan. Any text.
  std::optional<StoredPlan> read(const std::string& key) const;
  void write(const std::string& key, const StoredPlan& plan);
  std::string file_of(const std::string& key) const;
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
  std::function<void(const std::string&)> warn_;
  bool writable_ = true;
};

}  // namespace ridgeline::cuda
