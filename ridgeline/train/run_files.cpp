#include "ridgeline/train/run_files.h"

#include <algorithm>
#include <array>

#include "ridgeline/format/record/event_file.h"

namespace ridgeline::train {

bool is_file_of_runs(std::string_view name) {
  if (name.starts_with(kCheckpointPrefix) || name.starts_with(kEventFilePrefix)) return true;
  if (name.ends_with(".old") && name.substr(0, name.size() - 4) == kMetricsFile) return true;
  constexpr std::array<std::string_view, 5> kNames = {kMetricsFile, kStepTimesFile, kNewestCheckpointFile,
                                                      kBestCheckpointFile, kLockFile};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

}  // namespace ridgeline::train
