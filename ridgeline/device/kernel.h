// ridgeline/device/kernel.h
//
// A kernel computes one node of the graph. For every op a device has a list of kernel entries, each with an estimate of
// its speed; compilation takes the fastest that accepts (ranked_entries.h). An entry that cannot take the node says why
// (a Refusal).
//
// A kernel is made once, at compile time, for fixed shapes, layouts and team size; run() allocates nothing (references
// and the kernel library's own code may), takes no lock, and may be called any number of times with other addresses.
// One kernel is run by one thread at a time and uses the compute team itself.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ridgeline/device/layout.h"
#include "ridgeline/graph/ir/dtype_set.h"
#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

class Device;
class Stream;
struct DeviceRates;

struct Refusal {
  std::string reason;
};

// For what equal bits are promised. Each level includes those before it.
enum class Reproducibility {
  fast,           // the same machine, team and plan
  deterministic,  // any size of the team
  portable,       // any machine that the project runs on
};
// "fast", "deterministic", "portable"
std::string_view name_of(Reproducibility level);
// The inverse; an unknown name is an Error (usage) with the three.
Reproducibility reproducibility_named(std::string_view name);

// What a kernel must promise in addition to its results.
struct KernelPromise {
  Reproducibility bits = Reproducibility::fast;
  bool high_precision = false;  // no algorithm that trades accuracy for fewer multiplications
  // How convolutions and dense layers multiply f32 values, if not in f32: one of the device's names
  // (DeviceEntry::fp32_computes), in memory that stays valid. In a request: kernels may. In an entry: the kernel does.
  std::string_view fp32_compute = {};
};

struct KernelOperand {
  ValueType type;
  // The layout that the value has (inputs) or that its readers prefer (outputs).
  Layout layout;
  // Inputs: true if the layout of this parameter is not fixed yet, so the kernel may choose it. Outputs: true if any
  // layout is acceptable.
  bool free = false;
};

struct KernelRequest {
  const OpDef& def;
  const Node& node;  // attributes complete
  std::vector<KernelOperand> inputs;
  std::vector<KernelOperand> outputs;
  KernelPromise promise = {};
  Device* device = nullptr;  // for which the kernel is made, whose list contains the entry
};

struct KernelArguments {
  void* const* inputs;
  void* const* outputs;
  void* scratch;             // scratch_bytes of 64-byte aligned memory, contents undefined
  Stream* stream = nullptr;  // on which it runs, of its device (Stream::run); null: immediately, on host addresses
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  // On host memory, computes; on other devices, launches on the stream with these addresses. Other data that the launch
  // reads must not change while the kernel lives: a recorded launch is replayed without this call.
  virtual void run(const KernelArguments& arguments) = 0;

  // For reports: "onednn conv jit:avx512_core", "own max_pool avx3".
  std::string name;
  // The layouts that run() expects and produces, one for each operand and result. If a value has another layout,
  // compilation inserts a conversion, shared by all kernels that need the same (for a parameter: once for each of its
  // versions). Inputs may have a one-way layout (layout.h). Empty vectors mean all plain.
  std::vector<Layout> input_layouts;
  std::vector<Layout> output_layouts;
  std::size_t scratch_bytes = 0;
  // The kernel's FLOPs as a multiple of those that the op's formula counts: below 1 if an algorithm needs fewer
  // multiplications, above if it computes values that nobody reads.
  double flops_share = 1;
  // The type of the values that it multiplies, whatever it reads; selects the device's rate.
  DType products = DType::f32;
  // True if bf16 or f16 values are converted around a kernel of another type: exact, but slower than a kernel for their
  // type.
  bool emulates = false;
  // What the log says about all such kernels of a program together, after their number; empty: nothing. Static text.
  std::string_view remark;
  // False if each run needs the host: a program with such a launch is not recorded (Device::record).
  bool replays = true;
  // For which it was made; null: any whose memory is the host's.
  const Device* device = nullptr;
  // in_place[i] = j: result i may overwrite operand j if that is not needed afterwards. -1: it may not.
  std::vector<int> in_place;
};

using KernelChoice = std::variant<std::unique_ptr<Kernel>, Refusal>;

enum class Provider { own, library, reference };
std::string_view name_of(Provider provider);

struct KernelEntry {
  std::string_view op;
  std::string_view name;  // unique among the entries of an op
  Provider provider;
  KernelChoice (*factory)(const KernelRequest& request);
  DTypeSet storage = {DType::f32};          // floating types of operands and results that it reads and writes
  Arithmetic arithmetic = Arithmetic::f32;  // the widest in which it computes
  // What it can promise: its bits, if a request asks for them, and whether it keeps the accuracy of plain sums. If less
  // is requested, it may divide sums for the team.
  KernelPromise promise = {Reproducibility::fast, true};
  // Its speed as a multiple of the device's f32 rates for the op's multiply-adds and bytes: coarse, measured, to order
  // the entries of an op. `share`: the fraction that remains at these shapes and types; null: all.
  double speed = 1;
  double (*share)(const KernelRequest& request) = nullptr;
  bool asked_for = false;  // by the user: comes before all others

  double speed_at(const KernelRequest& request) const { return share == nullptr ? speed : speed * share(request); }
  // A kernel, or a refusal of these types or of the requested promise; requests that reach the factory have passed this
  // check.
  KernelChoice make(const KernelRequest& request) const;
};

}  // namespace ridgeline
