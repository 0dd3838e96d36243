// Experiments with a stand-in for the training program: a script that writes what a training would leave.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/train/experiment/run_experiment.h"
#include "ridgeline/train/recipe/options.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::train {
namespace {

namespace fs = std::filesystem;
using Row = std::vector<std::string>;

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// The stand-in's accuracy is 0.50 for lr 0.1 and 0.60 for lr 0.2, and 0.01 more with seed 2; its loss is 1.5 and 1.2,
// and 0.05 more; lr 0.3 fails; an unknown flag is a usage error; momentum 0.5 is twice as fast in ten log lines, one of
// which was delayed. Every call adds a line to `calls`.
constexpr const char* kProgram = R"sh(#!/bin/sh
top=0.50 loss=1.5 lines=1000
for word in "$@"; do
  case $word in
    --log_dir=*) dir=${word#--log_dir=} ;;
    --lr=0.2) top=0.60 loss=1.2 ;;
    --momentum=0.5) lines="2000 2010 1990 2000 50 2010 1990 2000 2010 1990" ;;
    --lr=0.3) echo "working"; echo "ridgeline train: the loss is not finite"; exit 1 ;;
    --nonsense*) echo "ridgeline train: unknown flag --nonsense"; exit 2 ;;
    --seed=2) top=${top%0}1 loss=${loss}5 ;;
  esac
done
echo "$@" >> "$(dirname "$0")/calls"
echo weights > "$dir/model.ckpt-9.safetensors"
echo '{"model":"linear","settings":{"batch_size":50}}' > "$dir/model.ckpt-9.json"
for rate in $lines; do cat <<END
{"kind":"train","step":9,"epoch":1.0,"loss":$loss,"total_loss":1.5,"lr":0.1,"images_per_second":$rate.0,"time":10.0}
END
done > "$dir/metrics.jsonl"
cat >> "$dir/metrics.jsonl" <<END
{"kind":"evaluation","step":9,"epoch":1.0,"val-top1acc":$top,"val-top5acc":0.9,"val-loss":1.0,"rows":10,"bad_samples":0,"time":11.0}
END
)sh";

class Experiments : public ::testing::Test {
 protected:
  Experiments()
      : folder_(testing::temporary_directory() + "/" +
                ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::create_directories(folder_);
    options_.program = {folder_ + "/program"};
    options_.out = folder_ + "/out";
    write_file_atomically(options_.program.front(), kProgram);
    fs::permissions(options_.program.front(), fs::perms::owner_all);
  }
  std::size_t calls() const {
    const std::string path = folder_ + "/calls";
    if (!is_regular_file(path)) return 0;
    const std::string text = read_file(path);
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  std::string folder_;
  ExperimentOptions options_;
};

TEST_F(Experiments, VariantsAreComparedSeedBySeed) {
  options_.seeds = {1, 2};
  options_.flags = {"--model=linear"};
  const Report report = report_of(run_experiment(sweep({"lr=0.1,0.2"}), options_));
  ASSERT_EQ(report.tables.at(0).rows.size(), 2u);
  const Row &first = report.tables[0].rows[0], &second = report.tables[0].rows[1];
  EXPECT_EQ((Row{first.begin(), first.begin() + 7}), (Row{"lr 0.1", "50.00, 51.00", "", "1.525", "", "50.0", ""}));
  EXPECT_EQ((Row{second.begin(), second.begin() + 7}),
            (Row{"lr 0.2", "60.00, 61.00", "> (+10.00 ± 0.00)", "1.225", "-0.300 ± 0.000", "50.0", "1.00x"}));
  EXPECT_EQ(report.runs.size(), 4u);
  EXPECT_TRUE(holds(report.tables[1].rows.at(3)[0], "train --model=linear --lr=0.2 --seed=2 --log_dir="));
  EXPECT_FALSE(fs::exists(options_.out + "/sweep/lr_0.1-1/model.ckpt-9.safetensors"));
}

TEST_F(Experiments, AFinishedRunIsNotMadeAgainAndAnotherCommandIs) {
  run_experiment(sweep({"lr=0.1,0.2"}), options_);
  EXPECT_EQ(calls(), 2u);
  run_experiment(sweep({"lr=0.1,0.2"}), options_);
  EXPECT_EQ(calls(), 2u);
  options_.flags = {"--batch_size=32"};
  run_experiment(sweep({"lr=0.1,0.2"}), options_);
  EXPECT_EQ(calls(), 4u);
}

TEST_F(Experiments, ARunThatFailsLeavesTheOthersStanding) {
  const Report report = report_of(run_experiment(sweep({"lr=0.1,0.3,0.2"}), options_));
  EXPECT_EQ(report.tables[0].rows[1][1], "failed: ridgeline train: the loss is not finite");
  EXPECT_EQ(report.tables[0].rows[2][1], "60.00");
  EXPECT_EQ(report.runs.size(), 2u);
}

TEST_F(Experiments, AWrongCallEndsItAtOnce) {
  options_.flags = {"--nonsense=1"};
  EXPECT_EQ(error_of([&] { run_experiment(sweep({"lr=0.1,0.2"}), options_); }),
            "[experiment] the first run was refused: ridgeline train: unknown flag --nonsense");
  EXPECT_EQ(calls(), 0u);
}

TEST_F(Experiments, WhatWouldMakeTwoRunsOneIsRefused) {
  options_.seeds = {1, 2, 1};
  EXPECT_EQ(error_of([&] { run_experiment(sweep({"lr=0.1,0.2"}), options_); }),
            "[experiment] seeds 1, 2, 1: each may be given once");
  options_.seeds = {1};
  EXPECT_EQ(error_of([&] { run_experiment(sweep({"restore_path=a/b,a_b"}), options_); }),
            "[experiment] sweep: the variants 'restore_path a/b' and 'restore_path a_b' would have the same folder");
  for (const char* flag : {"--seed=3", "--log_dir=x"}) {
    options_.flags = {flag};
    EXPECT_TRUE(holds(error_of([&] { run_experiment(sweep({"lr=0.1,0.2"}), options_); }), "by the experiment: use --"));
    EXPECT_TRUE(holds(error_of([&] { sweep({flag}); }), "by the experiment: use --")) << flag;
  }
  EXPECT_EQ(calls(), 0u);
}

TEST_F(Experiments, EqualLossesAreSaidToBeEqual) {
  Experiment experiment = sweep({"lr=0.1,0.2"});
  experiment.variants.push_back({"again", {"--lr=0.1", "--momentum=0.9"}});
  const Report report = report_of(run_experiment(experiment, options_));
  EXPECT_EQ(report.tables[0].rows[1].back(), "no");
  EXPECT_EQ(report.tables[0].rows[2].back(), "yes");
}

// A run that counts SIGTERMs and ends at the second; a stopped experiment leaves no process behind.
constexpr const char* kStubborn = R"sh(#!/bin/sh
here=$(dirname "$0")
times=0
trap 'times=$((times+1)); echo $times > "$here/terms"; [ $times -ge '$(cat "$here/patience")' ] && exit 130' TERM
echo $$ > "$here/process"
while :; do sleep 0.02; done
)sh";

class StoppedExperiment : public Experiments {
 protected:
  // Runs in a separate process.
  pid_t start(int patience) {
    write_file_atomically(options_.program.front(), kStubborn);
    fs::permissions(options_.program.front(), fs::perms::owner_all);
    write_file_atomically(folder_ + "/patience", std::to_string(patience));
    const pid_t experiment = ::fork();
    if (experiment != 0) return experiment;
    try {
      run_experiment(sweep({"lr=0.1,0.2"}), options_);
    } catch (const Error& error) {
      ::_exit(error.kind() == ErrorKind::interrupted ? 13 : 14);
    }
    ::_exit(0);
  }
  template <class Condition>
  static bool within_seconds(int seconds, Condition&& condition) {
    for (int i = 0; i < 100 * seconds; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  int number_in(const std::string& name) const {
    const std::string path = folder_ + "/" + name;
    return is_regular_file(path) ? std::atoi(read_file(path).c_str()) : 0;
  }
};

TEST_F(StoppedExperiment, HandsSigtermOnToItsRun) {
  const pid_t experiment = start(1);
  ASSERT_TRUE(within_seconds(30, [&] { return number_in("process") > 0; }));
  ::kill(experiment, SIGTERM);
  int status = 0;
  ASSERT_EQ(::waitpid(experiment, &status, 0), experiment);
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 13);
  EXPECT_EQ(number_in("terms"), 1);
}

TEST_F(StoppedExperiment, LeavesNoRunBehindAtTheSecondSigterm) {
  const pid_t experiment = start(2);
  ASSERT_TRUE(within_seconds(30, [&] { return number_in("process") > 0; }));
  ::kill(experiment, SIGTERM);
  ASSERT_TRUE(within_seconds(30, [&] { return number_in("terms") == 1; }));
  ::kill(experiment, SIGTERM);
  int status = 0;
  ASSERT_EQ(::waitpid(experiment, &status, 0), experiment);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
  const int run = number_in("process");
  EXPECT_TRUE(within_seconds(30, [&] { return ::kill(run, 0) != 0; }));
}

// The document's relations next to those of the runs: one that holds, one that does not, one whose run failed.
TEST_F(Experiments, RelationsAreSaidToHoldOrNot) {
  Experiment experiment = sweep({"lr=0.1,0.2,0.3"});
  using Q = Claim::Quantity;
  experiment.claims = {{Q::accuracy, "lr 0.2", '>', "lr 0.1", "better", "unused"},
                       {Q::loss, "lr 0.2", '=', "lr 0.1", "no change", "another rate"},
                       {Q::time, "lr 0.2", '=', "lr 0.1", "~5 s both"},
                       {Q::time, "lr 0.3", '=', "lr 0.1", "~5 s both"}};
  options_.seeds = {1, 2};
  const Report report = report_of(run_experiment(experiment, options_));
  const ReportTable& table = report.tables.at(1);
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(table.rows[0],
            (Row{"accuracy: lr 0.2 beside lr 0.1", "higher (better)", "higher (+10.00 ± 0.00 points)", "yes", ""}));
  EXPECT_EQ(table.rows[1],
            (Row{"loss: lr 0.2 beside lr 0.1", "equal (no change)", "lower (-0.300 ± 0.000)", "no", "another rate"}));
  EXPECT_EQ(table.rows[2],
            (Row{"batch time: lr 0.2 beside lr 0.1", "equal (~5 s both)", "equal (50.0 ms beside 50.0)", "yes", ""}));
  const std::string page = to_html({"t", report.tables, {}, {{"a & b", "a/report.html"}}});
  EXPECT_TRUE(holds(page, "<a href=\"a/report.html\">a &amp; b</a>"));
}

// One run's accuracy cannot be distinguished from chance; its time is measured by many log lines.
TEST_F(Experiments, OneSeedDoesNotTellAnAccuracy) {
  Experiment experiment = sweep({"lr=0.1,0.2"});
  experiment.claims = {{Claim::Quantity::accuracy, "lr 0.2", '>', "lr 0.1", "better"},
                       {Claim::Quantity::time, "lr 0.2", '=', "lr 0.1", "~5 s both"}};
  const ReportTable table = report_of(run_experiment(experiment, options_)).tables.at(1);
  EXPECT_EQ(table.rows.at(0), (Row{"accuracy: lr 0.2 beside lr 0.1", "higher (better)", "unknown (+10.00 points)", "?",
                                   "one seed does not tell it from chance: --seeds=1,2,3 does"}));
  EXPECT_EQ(table.rows.at(1).at(3), "yes");
}

// Agreeing seeds distinguish times, even if one line of each run was delayed.
TEST_F(Experiments, ALineThatWasHeldUpMakesNoTimesEqual) {
  Experiment experiment = sweep({"momentum=0.9,0.5"});
  experiment.claims = {{Claim::Quantity::time, "momentum 0.5", '<', "momentum 0.9", "faster"}};
  const auto row = [&] { return report_of(run_experiment(experiment, options_)).tables.at(1).rows.at(0); };
  EXPECT_EQ(row().at(2), "equal (25.0 ms beside 50.0)");  // one seed
  options_.seeds = {1, 2};
  EXPECT_EQ(row(), (Row{"batch time: momentum 0.5 beside momentum 0.9", "faster (faster)",
                        "faster (25.0 ms beside 50.0)", "yes", ""}));
}

TEST(ExperimentTable, SweepsAreCombinations) {
  const Experiment two = sweep({"lr=0.1,0.2", "--momentum=0.8,0.9"});
  ASSERT_EQ(two.variants.size(), 4u);
  EXPECT_EQ(two.variants[1].label, "lr 0.1, momentum 0.9");
  EXPECT_EQ(two.variants[1].flags, (Row{"--lr=0.1", "--momentum=0.9"}));
  for (const char* wrong : {"lr", "lr=", "=3", "--=3", ""})
    EXPECT_TRUE(holds(error_of([&] { sweep({wrong}); }), "is no NAME=VALUE")) << wrong;
  EXPECT_TRUE(holds(error_of([&] { sweep({"lr=1", "lr=2"}); }), "swept already"));
  EXPECT_EQ(error_of([&] { sweep({"moment=1,2"}); }),
            "[experiment] --flag=moment=1,2: train has no flag --moment: did you mean 'momentum'?");
}

TEST(ExperimentTable, SomeVariantsOfOne) {
  const Experiment two = only(sweep({"lr=1,2,3"}), {"lr 3", "lr 1"});
  ASSERT_EQ(two.variants.size(), 2u);
  EXPECT_EQ(two.variants[0].label, "lr 1");
  EXPECT_EQ(error_of([] { only(sweep({"lr=1,2"}), {"lr 4"}); }),
            "[experiment] sweep has no variant 'lr 4' (it has: lr 1, lr 2)");
}

TEST(ExperimentTable, EveryEntryIsWhole) {
  for (const Experiment& e : experiments()) {
    EXPECT_GE(e.variants.size(), 2u) << e.name;
    for (const Variant& variant : e.variants) {
      for (const std::string& flag : variant.flags)
        EXPECT_NE(find_option(flag.substr(2, flag.find('=') - 2)), nullptr) << e.name << ": " << flag;
    }
    for (const Claim& claim : e.claims) {
      EXPECT_NO_THROW(only(e, {claim.of, claim.against})) << e.name;
      EXPECT_FALSE(claim.document.empty()) << e.name;
    }
    for (const Row& row : e.published.rows) EXPECT_EQ(row.size(), e.published.columns.size()) << e.name;
    EXPECT_EQ(&experiment_named(e.name), &e);
  }
  EXPECT_TRUE(holds(error_of([] { experiment_named("precision_mod"); }), "'precision_mode'?"));
}

}  // namespace
}  // namespace ridgeline::train
