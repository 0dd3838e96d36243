// ridgeline_cuda_check [--recording] [--card=N] [--report=FILE] [STAGE...]: all stages that check, or those that
// are named.
#include <fmt/format.h>

#include <cstring>
#include <set>

#include "ridgeline/device/cuda/driver/real.h"
#include "ridgeline/device/cuda/driver/recording.h"
#include "ridgeline/device/cuda/kernel_images.h"
#include "ridgeline/device/cuda/kernels/host_kernels.h"
#include "tests/device/cuda/card/stage.h"

namespace ridgeline::cuda::check {
namespace {

constexpr const char* kUsage =
    "usage: ridgeline_cuda_check [--recording] [--card=N] [--report=FILE] [STAGE...]\nstages:\n";

struct Arguments {
  bool recording = false;
  int card = 0;
  std::string report;
  std::set<std::string, std::less<>> stages;
};

Arguments parse(int count, char** words) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "--recording") {
      arguments.recording = true;
    } else if (word.starts_with("--card=")) {
      arguments.card = std::atoi(words[i] + std::strlen("--card="));
    } else if (word.starts_with("--report=")) {
      arguments.report = word.substr(std::strlen("--report="));
    } else {
      bool known = false;
      for (const Stage& stage : stages()) known = known || stage.name == word;
      if (!known) {
        std::string text = kUsage;
        for (const Stage& stage : stages()) {
          text += fmt::format("  {:<12} {}{}\n", stage.name, stage.doc, stage.named_only ? " (by name only)" : "");
        }
        throw Error(text, ErrorKind::usage);
      }
      arguments.stages.emplace(word);
    }
  }
  return arguments;
}

std::unique_ptr<Driver> chosen_driver(const Arguments& arguments) {
  if (!arguments.recording) return open_driver();
  return RecordingDriver::make({.kernels = host_kernels()});
}

int run(const Arguments& arguments) {
  Report report(arguments.report);
  const std::shared_ptr<Calls> calls = start_driver(chosen_driver(arguments));
  auto context = std::make_shared<Context>(calls, arguments.card);
  const CardInfo& info = context->info();
  report.line(fmt::format("card: {}, compute capability {}.{}, {} multiprocessors, {} MHz, {:.1f} GB, {} free",
                          info.name, info.compute_capability / 10, info.compute_capability % 10, info.multiprocessors,
                          info.clock_khz / 1000, static_cast<double>(info.memory_bytes) * 1e-9, context->free_bytes()));
  report.line(fmt::format("driver: {}, CUDA {}.{}", calls->driver().origin(), info.driver_version / 1000,
                          info.driver_version % 1000 / 10));
  Kernels kernels(context, kernel_images());
  int failed = 0;
  for (const Stage& stage : stages()) {
    if (arguments.stages.empty() ? stage.named_only : !arguments.stages.contains(stage.name)) continue;
    const auto begin = std::chrono::steady_clock::now();
    report.line(fmt::format("== {}: {}", stage.name, stage.doc));
    std::string outcome = "passed";
    try {
      CudaStream stream(context);
      Card card{context, kernels, stream, report,
                begin + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                            std::chrono::duration<double>(stage.seconds))};
      stage.run(card);
    } catch (const std::exception& error) {
      ++failed;
      outcome = fmt::format("FAILED: {}", error.what());
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    report.line(fmt::format("== {}: {}, {:.1f} s", stage.name, outcome, taken.count()));
  }
  report.line(failed == 0 ? "all stages passed" : fmt::format("{} stages failed", failed));
  return failed == 0 ? 0 : 1;
}

}  // namespace

Report::Report(const std::string& path) {
  if (path.empty()) return;
  file_ = std::fopen(path.c_str(), "w");
  if (file_ == nullptr) throw Error("cannot write the report " + path);
}

Report::~Report() {
  if (file_ != nullptr) std::fclose(file_);
}

void Report::line(std::string_view text) {
  for (std::FILE* to : {stdout, file_}) {
    if (to == nullptr) continue;
    fmt::print(to, "{}\n", text);
    std::fflush(to);
  }
}

}  // namespace ridgeline::cuda::check

int main(int count, char** words) {
  using namespace ridgeline;
  try {
    return cuda::check::run(cuda::check::parse(count, words));
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.kind() == ErrorKind::usage ? 2 : 1;
  }
}
