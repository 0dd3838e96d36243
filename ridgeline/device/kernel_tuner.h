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
  // `machine`: what times depend on in addition to team and op: the processor and the version of the kernels. The file
  // is read if it exists; one of another version counts as empty, and a file of another kind is an Error.
  // `milliseconds` is the clock for timing kernels, with any starting point.
  KernelTuner(std::string file, std::string machine, std::function<double()> milliseconds = steady_milliseconds);
  static double steady_milliseconds();

  struct Time {
    std::string entry;
    double milliseconds = 0;
  };
  struct Fastest {
    std::unique_ptr<Kernel> kernel;
    Provider provider = Provider::own;
    std::string reason;  // "measured: amx 1.20 ms, onednn 1.31 ms"; "known: ..." from the file
    std::string choice;  // the op, its attributes, shapes and layouts, and the entry, without machine, team or time
  };
  // nullopt if there is nothing to choose: fewer than two entries take the op, or it is too small to matter. References
  // and kernels between conversions are not tried. Entries that take the op and whose times are not in the file are
  // measured and added to it.
  std::optional<Fastest> choose(const KernelRequest& request, Device& device);

  // A hash of the choices for a program, in any order; empty if there were none.
  static std::string plan_of(std::vector<std::string> choices);

  // "auto": a file in the user's cache.
  static std::string file_named(const std::string& name);

 private:
  struct Candidate;
  static std::vector<Candidate> candidates_of(const KernelRequest& request, std::span<const RankedEntry> entries);
  // One time for each candidate. Those missing in the file's line are measured and added to it.
  std::vector<Time> times_of(std::span<const Candidate> candidates, const KernelRequest& request, Device& device,
                             std::vector<Time>& line) const;
  void read();
  void write() const;

  std::string file_, machine_;
  std::function<double()> milliseconds_;
  std::map<std::string, std::vector<Time>> times_;
};

}  // namespace ridgeline
