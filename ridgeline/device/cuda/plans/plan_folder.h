// ridgeline/device/cuda/plans/plan_folder.h
//
// Keeps execution plans of NVIDIA's libraries between runs, one file each, in a folder for one card, driver and version
// of the library: the second start needs neither heuristics nor compilation. Files are replaced atomically, so that
// several processes may share the folder. A damaged file, or one with another key, counts as absent.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace ridgeline::cuda {

struct StoredPlan {
  std::string name;    // for reports
  bool timed = false;  // whether it was the fastest of several, or the heuristics' first
  std::string plan;    // in the library's format
};

class PlanFolder {
 public:
  // The folder is made when the first plan is written. "": nothing is stored. `warn` gets a line for each damaged file,
  // and one if the folder cannot be written.
  PlanFolder(std::string folder, std::function<void(const std::string& line)> warn);

  // <cache of the user>/cuda/<card>, driver <version>, cuDNN <version>; "" if there is no cache.
  static std::string folder_of(std::string_view card, int driver_version, std::string_view library);

  // `key`: any text with everything that determines a plan.
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
