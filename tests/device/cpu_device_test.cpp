#include "ridgeline/device/cpu/cpu_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "kernel_testing.h"
#include "tests/support/error_of.h"

namespace ridgeline {
namespace {

// Sets an environment variable during its lifetime.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    had_ = std::getenv(name) != nullptr;
    setenv(name, value, 1);
  }
  ~Environment() {
    if (had_)
      setenv(name_, old_.c_str(), 1);
    else
      unsetenv(name_);
  }

 private:
  const char* name_;
  std::string old_;
  bool had_ = false;
};

TEST(KernelTable, EndsWithTheReferenceForEveryOpAndNamesItsEntriesOnce) {
  for (const OpDef& def : all_ops()) {
    const auto entries = cpu_kernels(def.name);
    if (!def.reference) continue;
    ASSERT_FALSE(entries.empty()) << def.name;
    EXPECT_EQ(entries.back().provider, Provider::reference) << def.name;
    std::set<std::string_view> names;
    for (const KernelEntry& entry : entries) {
      EXPECT_TRUE(names.insert(entry.name).second) << def.name << " " << entry.name;
      EXPECT_EQ(entry.op, def.name);
    }
    for (std::size_t i = 0; i + 1 < entries.size(); ++i)
      EXPECT_NE(entries[i].provider, Provider::reference) << def.name;
  }
  EXPECT_TRUE(cpu_kernels("no_such_op").empty());
}

// Every op of a training step has a kernel that is faster than its reference.
TEST(KernelTable, OnlyDefinitionsWithoutAKernelOfTheirOwnRestOnTheReference) {
  for (const OpDef& def : all_ops()) {
    if (def.has(kCall) || def.has(kCollective)) continue;  // the device runs exchanges itself (Device::collective)
    EXPECT_GE(cpu_kernels(def.name).size(), 2u) << def.name;
  }
}

TEST(KernelTable, AForcedProvidersEntriesComeFirst) {
  if (!has_library()) GTEST_SKIP() << "this build has one provider of kernels";
  const auto providers = [](std::string_view op, Provider forced) {
    std::vector<Provider> list;
    for (const KernelEntry& entry : cpu_kernels(op, forced)) list.push_back(entry.provider);
    return list;
  };
  using List = std::vector<Provider>;
  // The f32 kernel between conversions is ours and comes after all others.
  const Provider widened = Provider::own;
  EXPECT_EQ(providers("avg_pool", Provider::own),
            (List{Provider::own, Provider::library, widened, Provider::reference}));
  EXPECT_EQ(providers("avg_pool", Provider::library),
            (List{Provider::library, Provider::own, widened, Provider::reference}));
  EXPECT_EQ(providers("avg_pool", Provider::reference), (List{Provider::reference}));
  // The library's kernel loses NaN.
  EXPECT_EQ(providers("max_pool", Provider::library), (List{Provider::own, widened, Provider::reference}));
  const List dense = providers("dense", Provider::own);
  const auto others = std::find_if(dense.begin(), dense.end(), [](Provider p) { return p != Provider::own; });
  EXPECT_NE(others, dense.begin());
  EXPECT_EQ(List(others, dense.end()), (List{Provider::library, widened, Provider::reference}));
  // An op without an entry of the provider keeps its entries.
  EXPECT_EQ(providers("transpose", Provider::library), (List{Provider::own, Provider::reference}));
  EXPECT_EQ(providers("conv2d", Provider::reference), (List{Provider::reference}));
}

// Without the library there are no entries of it, and every op of a training step has one of ours.
TEST(KernelTable, HasTheLibrarysEntriesWhereTheBuildHasTheLibrary) {
  for (const char* op : {"conv2d", "dense_bwd_weights", "max_pool_bwd", "avg_pool", "lrn", "batch_norm_train"}) {
    const auto entries = cpu_kernels(op);
    const auto of = [&](Provider provider) {
      return std::count_if(entries.begin(), entries.end(),
                           [&](const KernelEntry& entry) { return entry.provider == provider; });
    };
    EXPECT_EQ(of(Provider::library) > 0, has_library()) << op;
    EXPECT_GE(of(Provider::own), 2) << op << ": one on f32, and conversions around it";
    for (const KernelEntry& entry : entries) EXPECT_NE(entry.factory, nullptr) << op << " " << entry.name;
  }
}

TEST(CpuDevice, ReadsTheForcedProviderFromTheEnvironment) {
  const Environment forced("RIDGELINE_KERNELS", "library");
  if (has_library()) {
    EXPECT_EQ(CpuDevice().kernels("avg_pool").front().provider, Provider::library);
  } else {
    EXPECT_EQ(error_of([] { CpuDevice(); }),
              "RIDGELINE_KERNELS is 'library', and this build has no kernel library (allowed: reference, own)");
  }
  // The constructor's argument takes precedence.
  EXPECT_EQ(CpuDevice(Provider::reference).kernels("max_pool").front().provider, Provider::reference);
}

TEST(CpuDevice, AnUnknownProviderIsAUsageErrorThatListsTheKnownOnes) {
  const Environment forced("RIDGELINE_KERNELS", "fastest");
  try {
    CpuDevice device;
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "RIDGELINE_KERNELS is 'fastest' (allowed: reference, library, own)");
    EXPECT_EQ(error.kind(), ErrorKind::usage);
  }
}

TEST(CpuDevice, GivesAlignedHostMemory) {
  CpuDevice device(std::nullopt);
  EXPECT_TRUE(device.host_memory());
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{100}, std::size_t{3} << 20}) {
    const auto memory = device.allocate(bytes);
    EXPECT_EQ(memory->bytes(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory->address()) % 64, 0u);
    std::memset(memory->address(), 1, bytes);
  }
}

TEST(CpuDevice, TheStreamFlushesDenormalsAndLeavesTheCallersSettingAlone) {
  struct Halve : Kernel {
    void run(const KernelArguments& a) override {
      *static_cast<float*>(a.outputs[0]) = *static_cast<volatile float*>(a.inputs[0]) * 0.5f;
    }
  };
  CpuDevice device(std::nullopt);
  Halve kernel;
  volatile float smallest = std::numeric_limits<float>::min();
  float result = 1;
  void* inputs[] = {const_cast<float*>(&smallest)};
  void* outputs[] = {&result};
  device.stream().run(kernel, {inputs, outputs, nullptr});
  EXPECT_EQ(result, 0.0f);
  EXPECT_GT(smallest * 0.5f, 0.0f);
}

TEST(CpuDevice, AKernelsErrorReachesTheCallerAtOnce) {
  struct Failing : Kernel {
    void run(const KernelArguments&) override { throw Error("no"); }
  };
  CpuDevice device(std::nullopt);
  Failing kernel;
  EXPECT_THROW(device.stream().run(kernel, {nullptr, nullptr, nullptr}), Error);
}

}  // namespace
}  // namespace ridgeline
