#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>

#include "ridgeline/cli/commands.h"
#include "ridgeline/cli/dataset_tools.h"

namespace ridgeline::cli {

using Clock = std::chrono::steady_clock;

data::Progress counter(const char* what) {
  if (!::isatty(STDERR_FILENO)) return {};
  auto next = std::make_shared<Clock::time_point>(Clock::now());
  return [what, next](std::int64_t done, std::int64_t of) {
    if (done != of && Clock::now() < *next) return;
    *next = Clock::now() + std::chrono::milliseconds(100);
    std::fprintf(stderr, "\r%s %lld/%lld%s", what, static_cast<long long>(done), static_cast<long long>(of),
                 done == of ? "\n" : "");
  };
}

int dataset_command(const Words& words) {
  Command app("make, inspect, preview and pack data sets; show and time data pipelines", "dataset");
  const std::vector<DatasetTool> tools{add_dataset_make(app),  add_dataset_inspect(app), add_dataset_preview(app),
                                       add_dataset_show(app),  add_dataset_bench(app),   add_dataset_pack(app),
                                       add_dataset_export(app)};
  if (!app.parse(words)) return 0;
  for (const DatasetTool& tool : tools) {
    if (tool.app->called()) return tool.run();
  }
  return 0;
}

}  // namespace ridgeline::cli
