// How often a training step converts its parameters to the forms that kernels read: once for each form.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string_view>

#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/device/cpu/kernel_table.h"
#include "ridgeline/device/cpu/library.h"
#include "tests/compile/small_step.h"

namespace ridgeline {
namespace {

constexpr SmallStep kModels[] = {{"alexnet_torchvision", 64}, {"resnet18", 32}};

TEST(ParameterForms, AStepMakesEachAtMostOnce) {
  constexpr int kRuns = 2;
  for (const SmallStep& c : kModels) {
    for (const char* precision : {"must_keep_origin_dtype", "allow_mix_precision_bf16"}) {
      SCOPED_TRACE(std::string(c.model) + " " + precision);
      CompiledStep compiled(c, precision);
      Program& program = compiled.program();
      std::map<std::string, std::int64_t> ranks;
      for (const nn::ParameterSpec& spec : compiled.step().parameters) ranks[spec.name] = spec.shape.rank();
      for (int run = 0; run < kRuns; ++run) ASSERT_TRUE(program.run());
      std::map<std::string, std::set<std::string>> forms;  // by parameter
      for (const LaunchReport& launch : program.launches()) {
        if (launch.parameter.empty()) continue;
        EXPECT_LE(launch.runs, kRuns) << launch.parameter;
        EXPECT_TRUE(forms[launch.parameter].insert(launch.kernel).second)
            << launch.parameter << " is made twice a step: " << launch.kernel;
      }
      // Our kernels of f32 read parameters as they are, the library's do not.
      const bool library = !device::library_kernels().empty() && forced_provider() != Provider::own;
      if (library || precision == std::string_view("allow_mix_precision_bf16")) {
        EXPECT_FALSE(forms.empty());
      }
      for (const auto& [name, made] : forms) {
        // Filters may have one form for the forward pass and one for the gradient of the image; dense weights in blocks
        // for tiles are converted to rows and cast for kernels of few rows, which is one form made by two launches.
        const bool blocks = device::active_isa() == device::Isa::amx;
        EXPECT_LE(made.size(), ranks.at(name) == 4 || blocks ? 2u : 1u)
            << name << ": " << ::testing::PrintToString(made);
      }
    }
  }
}

}  // namespace
}  // namespace ridgeline
