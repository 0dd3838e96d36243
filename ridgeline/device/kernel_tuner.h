// ridgeline/device/kernel_tuner.h
//
// Chooses kernels by time instead of by their order: of the entries that take an op, the one that is fastest on this
// machine. Times are kept in a file, by machine, versions of the kernels, team, op, shapes and layouts, so that each is
// measured once. Owned by its device, used by whichever thread compiles, one at a time.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ridgeline/device/device.h"
#include "ridgeline/device/ranked_entries.h"

namespace ridgeline {

class KernelTuner {
 public:
  // `machine`: what times depend on beside team and op: the processor, and which kernels these are. The file is read if
  // it is there; one of another version counts as empty, and one that is something else is an Error. `milliseconds`
  // tells the time since any moment, and is the clock by which kernels are timed.
  KernelTuner(std::string file, std::string machine, std::function<double()> milliseconds = steady_milliseconds);
  static double steady_milliseconds();

  struct Time {
    std::string entry;
    double milliseconds = 0;
  };
  struct Fastest {
    std::unique_ptr<Kernel> kernel;
    Provider provider = Provider::own;
    std::string reason;  // "measured: amx 1.20 ms, onednn 1.31 ms"; "known: ..." where the file told
    std::string choice;  // the op, its attributes, shapes and layouts, and the entry: nothing of machine, team or time
  };
  // Nothing where the choice is none: fewer than two entries take the op, or it is too small to matter. References and
  // kernels between conversions are not tried. Entries that take the op and whose times the file lacks are measured;
  // then it is written.
  std::optional<Fastest> choose(const KernelRequest& request, Device& device);

  // A hash of what was chosen for a program, in any order; empty where nothing was.
  static std::string plan_of(std::vector<std::string> choices);

  // "auto": a file among the user's caches.
  static std::string file_named(const std::string& name);

 private:
  struct Candidate;
  static std::vector<Candidate> candidates_of(const KernelRequest& request, std::span<const RankedEntry> entries);
  // One a candidate. What the line of the file lacks is measured and added to it.
  std::vector<Time> times_of(std::span<const Candidate> candidates, const KernelRequest& request, Device& device,
                             std::vector<Time>& line) const;
  void read();
  void write() const;

  std::string file_, machine_;
  std::function<double()> milliseconds_;
  std::map<std::string, std::vector<Time>> times_;
};

}  // namespace ridgeline
