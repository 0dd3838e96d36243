// ridgeline/device/kernel_tuner.h
//
// Chooses kernels by time instead of by their order: of the entries that take an op, the one that is fastest on this
// machine. Times are kept in a file, by machine, team, op, shapes and layouts, so that each is measured once. Owned by
// its device, used by whichever thread compiles, one at a time.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ridgeline/device/device.h"

namespace ridgeline {

class KernelTuner {
 public:
  // `machine`: what times depend on beside team and op. The file is read if it is there; one of another version counts
  // as empty, and one that is something else is an Error.
  KernelTuner(std::string file, std::string machine);

  struct Time {
    std::string entry;
    double milliseconds = 0;
  };
  struct Fastest {
    std::unique_ptr<Kernel> kernel;
    Provider provider = Provider::own;
    std::string reason;  // "measured: amx 1.20 ms, onednn 1.31 ms"; "known: ..." where the file told
  };
  // Nothing where the choice is none: fewer than two entries take the op, or it is too small to matter. References and
  // kernels between conversions are not tried. Writes the file when something was measured.
  std::optional<Fastest> choose(const KernelRequest& request, Device& device);

  // "auto": a file among the user's caches.
  static std::string file_named(const std::string& name);

 private:
  std::vector<Time> measure(const KernelRequest& request, std::span<const KernelEntry> entries, Device& device) const;
  void read();
  void write() const;

  std::string file_, machine_;
  std::map<std::string, std::vector<Time>> times_;
};

}  // namespace ridgeline
