#include "tests/device/cuda/loop_texts.h"

#include <dlfcn.h>
#include <elf.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "ridgeline/graph/loop/text.h"
#include "ridgeline/graph/op/pointwise.h"

namespace ridgeline::cuda::testing {
namespace {

constexpr DType kLoopTypes[] = {DType::f32, DType::f32, DType::bf16, DType::f16, DType::u8, DType::i32, DType::boolean};

// An expression in the text format, of depth up to `depth`.
std::string random_expression(Values& values, int operands, int depth, const std::string& step) {
  const auto pick = [&](int below) { return static_cast<int>(values.random()() % static_cast<unsigned>(below)); };
  if (depth == 0 || pick(8) == 0) {
    if (pick(5) == 0) return std::to_string(static_cast<double>(pick(2000) - 1000) / 64);
    return "x" + std::to_string(pick(operands));
  }
  const auto sub = [&] { return "(" + random_expression(values, operands, depth - 1, step) + ")"; };
  const int kind = pick(22);
  const char* const functions[] = {"abs", "exp", "log", "sqrt", "floor", "bf16", "f16", "cos", "sin"};
  if (kind < 7) return std::string(functions[kind]) + sub();
  if (kind == 7) return std::string(functions[7 + pick(2)]) + sub();
  const char* const binary[] = {" + ", " - ", " * ", " / ", " + ", " - ", " * ", " < ", " <= ", " == "};
  if (kind < 18) return sub() + binary[kind - 8] + sub();
  if (kind == 18) return "max(" + sub() + ", " + sub() + ")";
  if (kind == 19) return "min(" + sub() + ", " + sub() + ")";
  if (kind == 20) return "select(" + sub() + ", " + sub() + ", " + sub() + ")";
  if (!step.empty()) return "uniform(" + step + ", " + std::to_string(values.random()()) + ")";
  return "-" + sub();
}

}  // namespace

LoopCase random_loop(unsigned seed) {
  Values values(seed + 1000);
  LoopCase c;
  const Shape shapes[] = {{1}, {7}, {256}, {1029}, {3, 8}, {5, 7, 16}, {2, 3, 4, 24}, {4, 1, 9}, {33, 64}};
  const Shape shape = shapes[values.random()() % std::size(shapes)];
  const int operands = 1 + static_cast<int>(values.random()() % 4);
  for (int i = 0; i < operands; ++i) {
    std::vector<std::int64_t> dims(shape.dims());
    if (i > 0 && values.coin()) {
      // Broadcast: leading axes absent, or any axes of one element.
      const unsigned way = values.random()() % 4;
      if (way == 0) dims.clear();
      if (way == 1) dims.erase(dims.begin());
      for (std::int64_t& d : dims) {
        if (way > 1 && values.coin()) d = 1;
      }
    }
    const DType type = kLoopTypes[values.random()() % std::size(kLoopTypes)];
    if (is_floating(type))
      c.operands.push_back(values.coin() ? values.special(type, Shape(dims))
                                         : values.uniform(type, Shape(dims), -3, 3));
    else if (type == DType::i32)
      c.operands.push_back(values.integers(type, Shape(dims), 1 << 30));
    else
      c.operands.push_back(values.integers(type, Shape(dims), type == DType::u8 ? 256 : 2));
  }
  std::string step;
  if (values.random()() % 3 == 0) {
    step = "x" + std::to_string(c.operands.size());
    c.operands.push_back(Tensor::scalar<std::int64_t>(static_cast<std::int64_t>(values.random()())));
  }
  const int results = 1 + static_cast<int>(values.random()() % 3);
  const char* const storage[] = {"", "", " : bf16", " : f16"};
  for (int r = 0; r < results; ++r) {
    if (r > 0) c.expression += "; ";
    const std::string value = random_expression(values, operands, 4, step);
    // Sums are of few sizes: where they cancel, the order of their terms shows.
    c.expression += values.random()() % 5 == 0 ? "sum(abs(x0))" : value + storage[values.random()() % 4];
  }
  // Every operand is read, so that the loop has its shape.
  for (int i = 0; i < operands; ++i) c.expression += "; x" + std::to_string(i) + " * 0.5";
  if (!step.empty()) c.expression += "; select(uniform(" + step + ", 77) < 0.6, x0, 0)";
  c.expression = loop::to_string(loop::parse(c.expression, static_cast<int>(c.operands.size())));
  std::vector<ValueType> inputs;
  for (const Tensor& t : c.operands) inputs.push_back({t.dtype(), t.shape()});
  c.results = infer_types(op_def("loop"), inputs, {{"expression", c.expression}}, "loop");
  return c;
}

std::unique_ptr<LoopKernel> kernel_of(const LoopCase& c) {
  std::vector<ValueType> inputs;
  for (const Tensor& t : c.operands) inputs.push_back({t.dtype(), t.shape()});
  std::vector<DType> types;
  for (const ValueType& r : c.results) types.push_back(r.dtype);
  const Shape shape = broadcast_shape("loop", inputs);
  auto made =
      loop_text(loop::parse(c.expression, static_cast<int>(c.operands.size())), Arithmetic::f32, shape, inputs, types);
  if (const auto* refusal = std::get_if<Refusal>(&made)) throw Error(c.expression + ": " + refusal->reason);
  return std::make_unique<LoopKernel>(std::get<LoopText>(std::move(made)), shape);
}

CompiledTexts::CompiledTexts(const std::vector<std::string>& texts) {
  static int count = 0;
  folder_ =
      (std::filesystem::temp_directory_path() / ("loops_" + std::to_string(::getpid()) + "_" + std::to_string(count++)))
          .string();
  std::filesystem::create_directories(folder_);
  const char* const given = std::getenv("CXX");
  const std::string compiler = given != nullptr ? given : "g++";
  // The functions of all texts in one source: numbers.h once, each text's own namespace members in a namespace of its
  // own. One compiler run for many texts.
  constexpr std::size_t kTogether = 25;
  for (std::size_t begin = 0; begin < texts.size(); begin += kTogether) {
    const std::string name = folder_ + "/part" + std::to_string(begin);
    std::ofstream source(name + ".cpp");
    std::set<std::string> written;
    for (std::size_t i = begin; i < std::min(texts.size(), begin + kTogether); ++i) {
      if (!written.insert(texts[i]).second) continue;
      source << "namespace text" << i << " {\n";
      source << texts[i] << "\n}\n";
    }
    source.close();
    const std::string command = compiler + " -std=c++20 -O0 -ffp-contract=off -shared -fPIC -w -o " + name + ".so " +
                                name + ".cpp -lm > " + name + ".log 2>&1";
    if (std::system(command.c_str()) != 0) {
      std::ifstream log(name + ".log");
      throw Error(command + "\n" + std::string(std::istreambuf_iterator<char>(log), {}).substr(0, 2000));
    }
    libraries_.push_back(dlopen((name + ".so").c_str(), RTLD_NOW | RTLD_LOCAL));
    if (libraries_.back() == nullptr) throw Error(dlerror());
  }
}

CompiledTexts::~CompiledTexts() {
  for (void* library : libraries_) dlclose(library);
  std::filesystem::remove_all(folder_);
}

void CompiledTexts::run(const KernelLaunch& launch) const {
  if (launch.kernel.host != nullptr) return run_on_host(launch);
  for (void* library : libraries_) {
    void* const found = dlsym(library, std::string(launch.kernel.symbol).c_str());
    if (found == nullptr) continue;
    const unsigned grid[] = {launch.blocks.x, launch.blocks.y, launch.blocks.z},
                   block[] = {launch.kernel.threads, 1, 1};
    reinterpret_cast<void (*)(const unsigned*, const unsigned*, unsigned, const void*)>(found)(grid, block, 0,
                                                                                               launch.parameters);
    return;
  }
  throw Error("no kernel " + std::string(launch.kernel.symbol));
}

LoopTexts::LoopTexts(const std::vector<LoopCase>& cases) : cases_(cases) {
  std::vector<std::string> texts;
  for (const LoopCase& c : cases) {
    kernels_.push_back(kernel_of(c));
    texts.push_back(kernels_.back()->text().text);
  }
  compiled_ = std::make_unique<CompiledTexts>(texts);
}

std::vector<Tensor> LoopTexts::run(std::size_t i, bool in_place) const {
  const LoopKernel& kernel = *kernels_[i];
  std::vector<Tensor> operands, results;
  for (const Tensor& t : cases_[i].operands) operands.push_back(t.clone());
  const std::vector<int> over = kernel.in_place();
  for (std::size_t r = 0; r < cases_[i].results.size(); ++r) {
    const ValueType& type = cases_[i].results[r];
    results.push_back(in_place && over[r] >= 0 ? operands[static_cast<std::size_t>(over[r])].reshaped(type.shape)
                                               : noise(type.dtype, type.shape));
  }
  std::vector<void*> in, out;
  for (Tensor& t : operands) in.push_back(t.raw());
  for (Tensor& t : results) out.push_back(t.raw());
  auto memory = scratch(kernel.scratch_bytes());
  kernel.give([&](const KernelLaunch& launch) { compiled_->run(launch); }, in.data(), out.data(), memory.data());
  return results;
}

std::size_t local_bytes(const std::vector<unsigned char>& cubin, const std::string& kernel) {
  const auto* const header = reinterpret_cast<const Elf64_Ehdr*>(cubin.data());
  const auto* const sections = reinterpret_cast<const Elf64_Shdr*>(cubin.data() + header->e_shoff);
  const char* const names = reinterpret_cast<const char*>(cubin.data() + sections[header->e_shstrndx].sh_offset);
  // EIATTR_FRAME_SIZE (0x11) in .nv.info: the symbol's number and bytes of the frame.
  std::size_t most = 0;
  for (int i = 0; i < header->e_shnum; ++i) {
    if (std::string_view(names + sections[i].sh_name) != ".nv.info") continue;
    const unsigned char* at = cubin.data() + sections[i].sh_offset;
    const unsigned char* const end = at + sections[i].sh_size;
    while (at + 4 <= end) {
      const unsigned format = at[0], attribute = at[1];
      const unsigned size = static_cast<unsigned>(at[2]) | static_cast<unsigned>(at[3]) << 8;
      if (format == 4) {  // a size and so many bytes
        if (attribute == 0x11 && size >= 8) {
          std::uint32_t frame = 0;
          std::memcpy(&frame, at + 8, sizeof frame);
          most = std::max<std::size_t>(most, frame);
        }
        at += 4 + size;
      } else {
        at += 4;  // the value stands in the place of the size
      }
    }
  }
  (void)kernel;
  return most;
}

}  // namespace ridgeline::cuda::testing
