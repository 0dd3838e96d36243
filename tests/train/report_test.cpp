// Reports from log directories of trainings, and from invalid ones.
#include <gtest/gtest.h>

#include <filesystem>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/train/report/report.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::train {
namespace {

namespace fs = std::filesystem;
// A folder of the running test.
std::string test_folder(const std::string& name) {
  return testing::temporary_directory() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name() + "/" +
         name;
}

constexpr const char* kMeasuredSteps =
    R"({"kind":"train","step":10,"epoch":0.5,"loss":2.25,"total_loss":2.5,"lr":0.1,"images_per_second":100.0,"time":1000.0}
{"kind":"train","step":20,"epoch":1.0,"loss":"NaN","total_loss":"NaN","lr":0.05,"images_per_second":300.0,"time":1010.0}
{"kind":"evaluation","step":20,"epoch":1.0,"val-top1acc":0.625,"val-top5acc":0.9,"val-loss":1.5,"rows":400,"bad_samples":0,"time":1100.0}
{"kind":"bad_samples","step":20,"epoch":1.0,"bad_samples":3,"time":1100.0}
)";

std::string make_run(const std::string& directory, const std::string& metrics) {
  fs::create_directories(directory);
  write_file_atomically(directory + "/metrics.jsonl", metrics);
  return directory;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Report, ComparesWhatTheRunsLeft) {
  const std::string a = make_run(test_folder("a"), kMeasuredSteps);
  const std::string b = make_run(test_folder("b"), replaced(kMeasuredSteps, "0.625", "0.75"));
  write_file_atomically(a + "/alexnet_training.log", "ridgeline 0.1.0\nStep   Epoch\nstep: 10\n");
  for (const auto& [directory, rate] : {std::pair{a, "0.1"}, {b, "0.2"}}) {
    write_file_atomically(directory + "/model.ckpt-20.safetensors", "never read");
    write_file_atomically(directory + "/model.ckpt-20.json",
                          std::string(R"({"model":"linear","settings":{"lr":)") + rate + R"(,"momentum":0.9}})");
  }
  const Report report = compare_runs(read_run_logs({a, b}));
  ASSERT_EQ(report.tables.size(), 4u);
  using Row = std::vector<std::string>;
  EXPECT_EQ(report.tables[0].rows[0],
            (Row{"a", "20", "1.0", "62.50", "62.50", "90.00", "-", "300.0", "1 min 40 s", "3"}));
  EXPECT_EQ(report.tables[0].rows[1], (Row{"b", "20", "1.0", "75.00 (+12.50)", "75.00 (+12.50)", "90.00", "-",
                                           "300.0 (1.00x)", "1 min 40 s", "3"}));
  EXPECT_EQ(report.tables[1].rows, (std::vector<Row>{{"lr", "0.1", "0.2"}}));
  EXPECT_EQ(report.tables[2].rows, (std::vector<Row>{{"model", "linear"}, {"momentum", "0.9"}}));
  EXPECT_EQ(report.tables[3].rows, (std::vector<Row>{{"a", "ridgeline 0.1.0"}}));
  EXPECT_TRUE(holds(to_markdown(report), "| b | 20 | 1.0 | 75.00 (+12.50) |"));
  EXPECT_TRUE(holds(to_csv(report), "lr,0.1,0.2\r\n"));
  const std::string page = to_html(report);
  EXPECT_TRUE(holds(page, "<td>75.00 (+12.50)</td>"));
  EXPECT_TRUE(holds(page, R"("loss":[2.25,null])")) << "a loss that is no number is a gap";
}

TEST(Report, NamesAreTheLastPartsThatDiffer) {
  const std::string a = make_run(test_folder("one/run"), kMeasuredSteps),
                    b = make_run(test_folder("two/run"), kMeasuredSteps);
  const std::vector<RunLog> runs = read_run_logs({a, b + "/"});
  EXPECT_EQ(runs[0].name, "one/run");
  EXPECT_EQ(runs[1].name, "two/run");
  try {
    read_run_logs({a, a + "/."});
    ADD_FAILURE() << "the same directory twice";
  } catch (const Error& error) {
    EXPECT_TRUE(holds(error.what(), "is given twice")) << error.what();
  }
}

TEST(Report, TextOfANameBecomesNoMarkup) {
  const std::string run = make_run(test_folder("<script>alert(1)<") + "|\"&", kMeasuredSteps);
  const std::string page = to_html(compare_runs(read_run_logs({run})));
  EXPECT_FALSE(holds(page, "<script>alert"));
  EXPECT_TRUE(holds(page, "&lt;script&gt;alert(1)&lt;|&quot;&amp;"));
  EXPECT_TRUE(holds(page, R"(\u003cscript>alert(1)\u003c|)")) << "in the numbers, where markup could end the element";
  EXPECT_TRUE(holds(to_markdown(compare_runs(read_run_logs({run}))), "alert(1)<\\|"));
}

TEST(Report, ARunThatHasNotBegunAndDamagedOnes) {
  const std::string page = to_html(compare_runs(read_run_logs({make_run(test_folder("empty"), "")})));
  EXPECT_TRUE(holds(page, "<td>empty</td><td>-</td>"));
  EXPECT_FALSE(holds(page, "id=\"charts\""));
  const std::string torn =
      make_run(test_folder("torn"), std::string(kMeasuredSteps) + R"({"kind":"train","step":30,"ep)");
  EXPECT_EQ(read_run_log(torn).steps.size(), 2u);
  for (const auto& [metrics, words] :
       {std::pair{"{\"kind\":\"train\"\n{}\n", "metrics.jsonl: line 1"}, {"[1]\n{}\n", "metrics.jsonl: line 1"}}) {
    try {
      read_run_log(make_run(test_folder("damaged"), metrics));
      ADD_FAILURE() << metrics;
    } catch (const Error& error) {
      EXPECT_TRUE(holds(error.what(), words)) << error.what();
    }
  }
  try {
    read_run_log(test_folder("none"));
    ADD_FAILURE() << "no such directory";
  } catch (const Error& error) {
    EXPECT_TRUE(holds(error.what(), "holds no metrics.jsonl")) << error.what();
  }
}

TEST(Report, DamagedSettingsLeaveAGap) {
  const std::string run = make_run(test_folder("run"), kMeasuredSteps);
  write_file_atomically(run + "/model.ckpt-20.safetensors", "");
  write_file_atomically(run + "/model.ckpt-20.json", R"({"model":"lin)");
  const RunLog log = read_run_log(run);
  EXPECT_TRUE(log.settings.empty());
  ASSERT_EQ(log.opening.size(), 1u);
  EXPECT_TRUE(holds(log.opening[0], "settings unknown: ")) << log.opening[0];
}

}  // namespace
}  // namespace ridgeline::train
