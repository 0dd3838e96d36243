#include "ridgeline/device/kernel_tuner.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/random.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/core/user_cache.h"

namespace ridgeline {
namespace {

constexpr std::string_view kTitle = "ridgeline kernel times ";
constexpr std::string_view kVersion = "2";

// Of the work that takes as long as handing it out: below, kernels differ by less than their launches take.
constexpr double kLeastTimes = 5;

constexpr double kUnknown = 1e300;  // ms

bool matters(const KernelRequest& request, const DeviceRates& rates) {
  std::vector<ValueType> inputs, outputs;
  for (const KernelOperand& operand : request.inputs) inputs.push_back(operand.type);
  for (const KernelOperand& operand : request.outputs) outputs.push_back(operand.type);
  // Random numbers are no indices.
  const auto real = [](const ValueType& type) { return is_floating(type.dtype); };
  if (!request.def.cost || !std::all_of(inputs.begin(), inputs.end(), real)) return false;
  return request.def.cost({inputs, request.node.attributes, request.node.name}, outputs).flops >=
         kLeastTimes * rates.barrier_seconds * rates.f32_flops;
}

void add_operands(const std::vector<KernelOperand>& operands, std::string& key) {
  for (const KernelOperand& operand : operands) {
    key += " " + std::string(name_of(operand.type.dtype)) + operand.type.shape.to_string();
    key += operand.free ? " any" : " " + operand.layout.name();
  }
}

// What is asked for, whatever computes it.
std::string operation_of(const KernelRequest& request) {
  std::string key(request.def.name);
  for (const auto& [name, value] : request.node.attributes) key += " " + name + "=" + to_string(value);
  add_operands(request.inputs, key);
  key += " ->";
  add_operands(request.outputs, key);
  if (request.promise.high_precision) key += " high_precision";
  if (!request.promise.fp32_compute.empty()) key += " " + std::string(request.promise.fp32_compute);
  return key;
}

std::string line_key(const std::string& machine, const std::string& operation) {
  std::string key = machine + ", " + std::to_string(compute_threads()) + " threads: " + operation;
  std::replace_if(key.begin(), key.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return key;
}

std::string text_of(const std::vector<KernelTuner::Time>& times) {
  std::string text;
  for (const KernelTuner::Time& time : times) {
    char milliseconds[32];
    std::snprintf(milliseconds, sizeof milliseconds, " %.2f ms", time.milliseconds);
    text += (text.empty() ? "" : ", ") + time.entry + milliseconds;
  }
  return text;
}

// Uniform between -1 and 1: some processors are faster on zeros.
void fill(Tensor& values) {
  parallel_for(values.elements(), 4096, [&](std::int64_t begin, std::int64_t end) {
    SampleRandom random(philox_key(1, "kernel times"), 0, static_cast<std::uint64_t>(begin));
    for (std::int64_t i = begin; i < end; ++i) values.set(i, random.uniform(-1, 1));
  });
}

// A kernel with memory of its own to run on.
class Trial {
 public:
  Trial(Kernel& kernel, const KernelRequest& request, Device& device, const std::function<double()>& clock)
      : kernel_(kernel), device_(device), clock_(clock) {
    for (std::size_t i = 0; i < request.inputs.size(); ++i) {
      const ValueType& type = request.inputs[i].type;
      void* plain = room(type.bytes());
      Tensor values(type.dtype, type.shape);
      fill(values);
      device_.stream().copy_from_host(plain, values.raw(), type.bytes());
      device_.stream().synchronize();
      const Layout layout = kernel.input_layouts.empty() ? Layout() : kernel.input_layouts[i];
      inputs_.push_back(layout.plain() ? plain : converted(type, layout, plain));
    }
    for (std::size_t i = 0; i < request.outputs.size(); ++i) {
      const Layout layout = kernel.output_layouts.empty() ? Layout() : kernel.output_layouts[i];
      outputs_.push_back(room(layout.bytes(request.outputs[i].type)));
    }
    scratch_ = room(kernel.scratch_bytes);
  }

  double milliseconds() {
    const double begin = clock_();
    device_.stream().run(kernel_, {inputs_.data(), outputs_.data(), scratch_});
    device_.stream().synchronize();
    return clock_() - begin;
  }

 private:
  void* room(std::size_t bytes) {
    memory_.push_back(device_.allocate(bytes));
    return memory_.back()->address();
  }
  void* converted(const ValueType& type, const Layout& layout, void* plain) {
    const auto conversion = device_.conversion(type, Layout(), layout);
    RIDGELINE_CHECK(conversion != nullptr, "who names a layout converts into it");
    void* to = room(layout.bytes(type));
    device_.stream().run(*conversion, {&plain, &to, room(conversion->scratch_bytes)});
    device_.stream().synchronize();
    return to;
  }

  Kernel& kernel_;
  Device& device_;
  const std::function<double()>& clock_;  // in milliseconds
  std::vector<std::unique_ptr<DeviceMemory>> memory_;
  std::vector<void*> inputs_, outputs_;
  void* scratch_;
};

// As the file will tell it, so that the next process chooses the same.
double as_written(double milliseconds) {
  constexpr double kDigits = 1e4;
  return std::max(std::round(milliseconds * kDigits), 1.0) / kDigits;
}

// The best of some runs behind one that touches the memory. What is far behind the best of others is run once.
double best_time(Trial& trial, double others) {
  constexpr double kFar = 3;
  constexpr int kLeastRuns = 3, kMostRuns = 20;
  constexpr double kEnough = 20;  // ms
  double best = trial.milliseconds(), sum = 0;
  if (best > kFar * others + 1) return best;
  for (int run = 0; run < kMostRuns && (run < kLeastRuns || sum < kEnough); ++run) {
    const double time = trial.milliseconds();
    best = std::min(best, time);
    sum += time;
  }
  return best;
}

}  // namespace

// An entry that takes the op, and its kernel.
struct KernelTuner::Candidate {
  std::string entry;
  Provider provider;
  std::unique_ptr<Kernel> kernel;
};

KernelTuner::KernelTuner(std::string file, std::string machine, std::function<double()> milliseconds)
    : file_(std::move(file)), machine_(std::move(machine)), milliseconds_(std::move(milliseconds)) {
  read();
}

double KernelTuner::steady_milliseconds() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string KernelTuner::file_named(const std::string& name) {
  if (name != "auto") return name;
  const std::string directory = user_cache_directory();
  if (directory.empty()) throw Error("kernel times have no file: neither XDG_CACHE_HOME nor HOME is set");
  return directory + "/kernel_times.txt";
}

std::string KernelTuner::plan_of(std::vector<std::string> choices) {
  if (choices.empty()) return "";
  std::sort(choices.begin(), choices.end());
  choices.erase(std::unique(choices.begin(), choices.end()), choices.end());
  std::string all;
  for (const std::string& choice : choices) all += choice + "\n";
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash64(all)));
  return text;
}

std::optional<KernelTuner::Fastest> KernelTuner::choose(const KernelRequest& request, Device& device) {
  if (!matters(request, device.rates())) return std::nullopt;
  std::vector<Candidate> candidates = candidates_of(request, ranked_entries(request, device));
  if (candidates.size() < 2) return std::nullopt;
  const std::string operation = operation_of(request);
  const std::string key = line_key(machine_, operation);
  const auto known = times_.find(key);
  std::vector<Time> line = known == times_.end() ? std::vector<Time>() : known->second;
  const std::size_t told = line.size();
  const std::vector<Time> times = times_of(candidates, request, device, line);
  const bool measured = line.size() > told;
  if (measured) {
    times_[key] = std::move(line);
    write();
  }
  const auto faster = [](const Time& a, const Time& b) { return a.milliseconds < b.milliseconds; };
  const auto best = std::min_element(times.begin(), times.end(), faster);
  Candidate& fastest = candidates[static_cast<std::size_t>(best - times.begin())];
  return Fastest{std::move(fastest.kernel), fastest.provider, (measured ? "measured: " : "known: ") + text_of(times),
                 operation + " by " + fastest.entry};
}

std::vector<KernelTuner::Candidate> KernelTuner::candidates_of(const KernelRequest& request,
                                                               std::span<const RankedEntry> entries) {
  std::vector<Candidate> candidates;
  for (const auto& [entry, seconds] : entries) {
    if (entry.provider == Provider::reference) continue;
    KernelChoice choice = entry.make(request);
    auto* const made = std::get_if<std::unique_ptr<Kernel>>(&choice);
    if (made == nullptr || (*made)->emulates) continue;
    candidates.push_back({std::string(entry.name), entry.provider, std::move(*made)});
  }
  return candidates;
}

std::vector<KernelTuner::Time> KernelTuner::times_of(std::span<const Candidate> candidates,
                                                     const KernelRequest& request, Device& device,
                                                     std::vector<Time>& line) const {
  const auto known = [&](const std::string& entry) {
    const auto found = std::find_if(line.begin(), line.end(), [&](const Time& time) { return time.entry == entry; });
    return found == line.end() ? kUnknown : found->milliseconds;
  };
  std::vector<Time> times;
  double best = kUnknown;
  for (const Candidate& candidate : candidates) {
    times.push_back({candidate.entry, known(candidate.entry)});
    best = std::min(best, times.back().milliseconds);
  }
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (times[i].milliseconds < kUnknown) continue;
    Trial trial(*candidates[i].kernel, request, device, milliseconds_);
    times[i].milliseconds = as_written(best_time(trial, best));
    best = std::min(best, times[i].milliseconds);
    line.push_back(times[i]);
  }
  return times;
}

void KernelTuner::read() {
  if (!std::filesystem::exists(file_)) return;
  std::istringstream text(read_file(file_));
  std::string line;
  std::getline(text, line);
  if (line.rfind(kTitle, 0) != 0) {
    throw Error(file_ + " is no file of kernel times: name another one, or one that is not there yet",
                ErrorKind::usage);
  }
  if (line.substr(kTitle.size()) != kVersion) return;
  while (std::getline(text, line)) {
    std::istringstream fields(line);
    std::string key, entry, number;
    std::getline(fields, key, '\t');
    std::vector<Time> times;
    bool whole = true;
    while (std::getline(fields, entry, '\t')) {
      std::getline(fields, number, '\t');
      Time time{entry, 0};
      const char* const end = number.data() + number.size();
      const auto parsed = std::from_chars(number.data(), end, time.milliseconds);
      whole = whole && fields && parsed.ec == std::errc{} && parsed.ptr == end && time.milliseconds > 0 &&
              time.milliseconds < kUnknown;
      times.push_back(std::move(time));
    }
    if (whole && times.size() >= 2) times_[key] = std::move(times);  // a damaged line is measured again
  }
}

void KernelTuner::write() const {
  std::string text = std::string(kTitle) + std::string(kVersion) + "\n";
  for (const auto& [key, times] : times_) {
    text += key;
    for (const Time& time : times) {
      char number[32];
      std::snprintf(number, sizeof number, "%.4f", time.milliseconds);
      text += "\t" + time.entry + "\t" + number;
    }
    text += "\n";
  }
  make_directories(std::filesystem::path(file_).parent_path().string());
  write_file_atomically(file_, text);
}

}  // namespace ridgeline
