// Values of the store: zeros that are not allocated yet are read as zeros on every device and in every layout.
#include "ridgeline/compile/run/parameter_store.h"

#include <gtest/gtest.h>

#include "ridgeline/graph/ir/text.h"
#include "tests/compile/list_device.h"
#include "tests/compile/support.h"

namespace ridgeline {
namespace {

// Large enough for pages of its own.
constexpr std::int64_t kMany = 1 << 20;

void expect_all(const Tensor& t, double value) {
  for (std::int64_t i = 0; i < t.elements(); ++i) ASSERT_EQ(t.at(i), value) << i;
}

TEST(ParameterStore, ZerosAreReadAsSuchBeforeAndAfterAProgramRuns) {
  for (const char* device : {"cpu", "simulated"}) {
    Session session({.device = device});
    ParameterStore& store = session.parameters();
    for (const std::int64_t size : {std::int64_t{7}, kMany}) {
      const ValueType type{DType::f32, Shape{size}};
      const std::string name = "w" + std::to_string(size);
      store.declare(name, type, ValueKind::param);
      EXPECT_TRUE(store.entry(name).zero);
      expect_all(store.get(name), 0);
      Tensor ones(type.dtype, type.shape);
      for (float& v : ones.span<float>()) v = 1;
      store.set(name, ones);
      expect_all(store.get(name), 1);
      // Zeros in memory that was written before.
      const std::uint64_t version = store.entry(name).version;
      store.set_zeros(name, type);
      EXPECT_GT(store.entry(name).version, version);
      expect_all(store.get(name), 0);
    }
  }
}

// In the store's own memory if that is plain rows on the host, else by a copy.
TEST(ParameterStore, AValueThatIsWrittenInPlaceIsTheOneThatIsRead) {
  const ValueType type{DType::f32, {6, 5}};
  const auto count_up = [](Tensor& value) {
    for (std::int64_t i = 0; i < value.elements(); ++i) value.set(i, static_cast<double>(i + 1));
  };
  for (const bool blocked : {false, true}) {
    for (const char* device : {"cpu", "simulated"}) {
      Session session({.device = device});
      ParameterStore& store = session.parameters();
      store.declare("w", type, ValueKind::param);
      if (blocked) store.fix_home("w", testing::columns_layout(type));
      const std::uint64_t version = store.entry("w").version;
      const void* written = nullptr;
      store.write("w", type, ValueKind::param, [&](Tensor& value) {
        written = value.raw();
        count_up(value);
      });
      EXPECT_GT(store.entry("w").version, version);
      EXPECT_FALSE(store.entry("w").zero);
      const Tensor read = store.get("w");
      for (std::int64_t i = 0; i < 30; ++i) EXPECT_EQ(read.at(i), static_cast<double>(i + 1)) << device << blocked;
      if (std::string(device) == "cpu") {
        EXPECT_EQ(written == store.entry("w").memory->address(), !blocked);
      }
    }
  }
}

TEST(ParameterStore, AProgramReadsAndUpdatesZerosThatNobodyWrote) {
  for (const char* device : {"cpu", "simulated"}) {
    Session session({.device = device});
    const Graph graph = parse_graph(
        "graph @g(%w: param f32[1048576], %s: state f32[3], %x: f32[1048576]) {\n"
        "  %0 = add(%w, %x) : f32[1048576]\n  update %w = %0\n  return %s \"s\"\n}\n");
    const auto program = compile(graph, session);
    Tensor x(DType::f32, Shape{kMany});
    for (float& v : x.span<float>()) v = 2;
    program->bind("x", x);
    ASSERT_TRUE(program->run());
    expect_all(program->output("s"), 0);
    expect_all(session.parameters().get("w"), 2);
    ASSERT_TRUE(program->run());
    expect_all(session.parameters().get("w"), 4);
  }
}

TEST(ParameterStore, AHomeIsGivenUpWhereNoProgramBorrowsTheEntry) {
  const char* text =
      "graph @scale(%x: f32[4,5], %w: param f32[6,5]) {\n"
      "  %0 = dense(%x, %w) : f32[4,6]\n"
      "  return %0 \"y\"\n"
      "}\n";
  const ValueType type{DType::f32, {6, 5}};
  for (const char* device : {"cpu", "simulated"}) {
    Session session({.device = device});
    ParameterStore& store = session.parameters();
    Tensor value(type.dtype, type.shape);
    for (std::int64_t i = 0; i < value.elements(); ++i) value.set(i, static_cast<double>(i));
    store.set("w", value);
    store.fix_home("w", testing::columns_layout(type));
    std::unique_ptr<Program> program = compile(parse_graph(text), session);
    EXPECT_FALSE(store.release_home("w"));
    EXPECT_FALSE(store.entry("w").home.plain());
    program.reset();
    EXPECT_TRUE(store.release_home("w"));
    EXPECT_TRUE(store.entry("w").home.plain());
    EXPECT_FALSE(store.entry("w").home_fixed);
    const Tensor read = store.get("w");
    for (std::int64_t i = 0; i < value.elements(); ++i) ASSERT_EQ(read.at(i), value.at(i)) << device << " " << i;
    store.fix_home("w", testing::columns_layout(type));
    EXPECT_FALSE(store.entry("w").home.plain());
  }
}

TEST(ParameterStore, ZerosStayZerosWhenTheHomeIsFixed) {
  Session session(testing::on_list_device({}));
  ParameterStore& store = session.parameters();
  const ValueType type{DType::f32, Shape{3, 5}};
  for (const bool written : {false, true}) {
    const std::string name = written ? "written" : "zeros";
    store.declare(name, type, ValueKind::param);
    const Tensor value = written ? testing::random_tensor(type, "v") : Tensor::zeros(type.dtype, type.shape);
    if (written) store.set(name, value);
    store.fix_home(name, testing::columns_layout(type));
    store.fill_zeros();
    const Tensor got = store.get(name);
    for (std::int64_t i = 0; i < 15; ++i) EXPECT_EQ(got.at(i), value.at(i)) << name;
  }
}

// A value is marked as written only after its bytes are, so a failure leaves no garbage that counts as a value.
TEST(ParameterStore, AnEntryCountsAsWrittenOnlyWhenItsBytesAre) {
  const ValueType type{DType::f32, Shape{kMany}};
  for (const char* device : {"cpu", "simulated"}) {
    Session session({.device = device});
    ParameterStore& store = session.parameters();
    const auto fail = [](Tensor& value) {
      value.set(3, 5);
      throw Error("the file ends here");
    };
    EXPECT_THROW(store.write("w", type, ValueKind::param, fail), Error);
    EXPECT_TRUE(store.entry("w").zero) << device;
    expect_all(store.get("w"), 0);
    store.fill_zeros();
    expect_all(store.get("w"), 0);
  }
  // A copy that the device refuses: it gets a device address instead of a host address.
  Session session({.device = "simulated"});
  ParameterStore& store = session.parameters();
  store.declare("w", type, ValueKind::param);
  const std::unique_ptr<DeviceMemory> elsewhere = session.device().allocate(type.bytes());
  EXPECT_THROW(store.set("w", Tensor::view(elsewhere->address(), type.dtype, type.shape)), Error);
  EXPECT_TRUE(store.entry("w").zero);
  expect_all(store.get("w"), 0);
}

}  // namespace
}  // namespace ridgeline
