// ridgeline/device/kernel.h
//
// A kernel computes one node of the graph. For every op a device has a list of kernel entries, each of which tells how
// fast it would be; compilation takes the fastest that accepts (ranked_entries.h). An entry that cannot take the node
// says why (a Refusal).
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

// What equal bits are promised for. Each level includes those before it.
enum class Reproducibility {
  fast,           // the same machine, team and plan
  deterministic,  // any size of the team
  portable,       // any machine that the project runs on
};
// "fast", "deterministic", "portable"
std::string_view name_of(Reproducibility level);
// The inverse; an unknown name is an Error (usage) with the three.
Reproducibility reproducibility_named(std::string_view name);

// What a kernel must promise beside its results.
struct KernelPromise {
  Reproducibility bits = Reproducibility::fast;
  bool high_precision = false;  // no algorithm that trades accuracy for fewer multiplications
  // How convolutions and dense layers multiply f32 values where they do not in f32: a name of the device's own
  // (DeviceEntry::fp32_computes), in memory that stays. Of a request: they may. Of an entry: it does.
  std::string_view fp32_compute = {};
};

struct KernelOperand {
  ValueType type;
  // The layout that the value has (inputs) or that its readers wish (outputs).
  Layout layout;
  // Inputs: true when nobody has fixed the layout of this parameter yet, so the kernel may choose it.
  // Outputs: true when any layout will do.
  bool free = false;
};

struct KernelRequest {
  const OpDef& def;
  const Node& node;  // attributes complete
  std::vector<KernelOperand> inputs;
  std::vector<KernelOperand> outputs;
  KernelPromise promise = {};
  Device* device = nullptr;  // that the kernel is for, whose list the entry is of
};

struct KernelArguments {
  void* const* inputs;
  void* const* outputs;
  void* scratch;             // scratch_bytes of 64-byte aligned memory, contents undefined
  Stream* stream = nullptr;  // that it runs on, of its device (Stream::run); null: at once, on host addresses
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  // Computes, where memory is the host's; on other devices launches on the stream, with these addresses. What the
  // launch reads beside them stays as it is for as long as the kernel lives: a recorded one is done again without this
  // call.
  virtual void run(const KernelArguments& arguments) = 0;

  // For reports: "onednn conv jit:avx512_core", "own max_pool avx3".
  std::string name;
  // The layouts that run() expects and produces, one an operand and result. Where an input differs from the layout that
  // the value has, compilation puts a conversion in front, shared by all that want the same (of a parameter: once for
  // each of its versions). An input may be wanted in a one-way layout (layout.h). Empty vectors mean all plain.
  std::vector<Layout> input_layouts;
  std::vector<Layout> output_layouts;
  std::size_t scratch_bytes = 0;
  // Of the FLOPs that the op's formula counts, the share that the kernel does: below 1 where an algorithm needs fewer
  // multiplications, above where it computes what nobody reads.
  double flops_share = 1;
  // The type of the values that it multiplies, at the device's rate for those, whatever it reads.
  DType products = DType::f32;
  // True where bf16 or f16 values are converted around a kernel of another type: exact, and slower than a kernel of
  // their own would be.
  bool emulates = false;
  // What the log says of all such kernels of a program together, behind their number; empty: nothing. Static.
  std::string_view remark;
  // False where each run needs the host: a program with such a launch is not recorded (Device::record).
  bool replays = true;
  // That it was made for; null: any whose memory is the host's.
  const Device* device = nullptr;
  // in_place[i] = j: result i may be written over operand j's memory if that is not needed afterwards. -1: it may not.
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
  Arithmetic arithmetic = Arithmetic::f32;  // the widest that it computes in
  // What it can promise: its bits, where a request asks for them, and whether it keeps the accuracy of plain sums.
  // Asked for less, its sums may be cut for the team.
  KernelPromise promise = {Reproducibility::fast, true};
  // How many times as fast as the device's rates on f32 say of the op's multiply-adds and bytes: coarse, by
  // measurement, for the order among the entries of an op. `share`: what is left of it at these shapes and types; null:
  // all.
  double speed = 1;
  double (*share)(const KernelRequest& request) = nullptr;
  bool asked_for = false;  // by the user: in front of all that are not

  double speed_at(const KernelRequest& request) const { return share == nullptr ? speed : speed * share(request); }
  // A kernel, or the refusal of these types or of what is promised; what the factory sees has passed this check.
  KernelChoice make(const KernelRequest& request) const;
};

}  // namespace ridgeline
