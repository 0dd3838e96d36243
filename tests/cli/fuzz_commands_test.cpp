// Mutated command lines of every command: values that are too large, of the wrong kind or missing; flags that are
// removed, repeated, unknown or of another command; exchanged paths. Each ends with a valid exit code.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <regex>
#include <sstream>

#include "ridgeline/core/file.h"
#include "ridgeline/core/random.h"
#include "tests/cli/fuzz.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;

using testing::fuzz_count;

using Words = std::vector<std::string>;

Words words_of(const std::string& line) {
  std::istringstream in(line);
  Words words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// Command lines that work if the current folder is like sample().
const std::array<const char*, 29> kLines{
    "train --data_dir=shapes --model=linear --mode=train --image_size=16 --batch_size=4 --max_train_steps=2 --lr=0.1 "
    "--log_dir=run --num_workers=1 --save_summary_steps=1",
    "train --data_dir=records --model=linear --mode=train_and_evaluate --image_size=16 --batch_size=4 --max_epochs=1 "
    "--num_classes=10 --log_dir=run --label_smoothing=0.1 --momentum=0.9 --weight_decay=0.001",
    "train --synthetic --model=resnet20 --num_classes=3 --mode=train --batch_size=2 --max_train_steps=1 --log_dir=run "
    "--trace=trace.json --dump_ir=ir",
    "evaluate --data_dir=shapes --model=linear --image_size=16 --checkpoint_dir=done --batch_size=8",
    "predict --model=linear --checkpoint_dir=done --top=3 shapes/val/circle/0.jpg",
    "predict --model=linear --num_classes=10 --image_size=16 --restore_path=done/model.ckpt-1.safetensors --logits "
    "shapes/val/circle/0.jpg",
    "predict --format=csv --top=2 --checkpoint_dir=done shapes/val/circle/0.jpg",
    "export --checkpoint_dir=done --batch_size=2 --out=model.rdgm",
    "info",
    "report done --out=report.html --title=runs",
    "info done/model.ckpt-1.safetensors",
    "bench step --model=linear --batch_size=2 --image_size=16 --num_classes=3 --steps=1 --layers --json",
    "graph show step.rdg --format=let --after --disable_pass=simplify --out=step.txt",
    "graph check step.rdg --json --marked=marked.rdg",
    "graph run step.rdg --seed=3 --fusion=off --reference --values=2",
    "graph bench step.rdg --runs=1 --layers --device=simulated --dump_ir=ir",
    "dataset make shapes --out=made --train=10 --val=10 --seed=2",
    "dataset make tfrecord --from=shapes --out=made --train_shards=2 --validation_shards=1",
    "dataset inspect --data_dir=shapes --split=all --workers=1 --list=broken.txt --json",
    "dataset preview --data_dir=shapes --out=sheet.png --rows=2 --columns=2 --image_size=16 --epoch=1 --original",
    "dataset show --data_dir=shapes --svg=graph.svg --image_size=16 --batch_size=4 --raw --disable_pass=fuse_resize",
    "dataset bench --data_dir=packed --image_size=16 --batch_size=4 --workers=1 --epochs=1 --warmup=0 --slots=2 --hash",
    "dataset pack --data_dir=shapes --out=new.ridge --short_side=20 --quality=80 --workers=1",
    "dataset export-json --data_dir=shapes --eval --image_size=16 --out=graph.json",
    "plan measured.json --cluster=h200x8 --images_per_second=1000 --buckets=4 --auto_parallel --hcom_parallel --json",
    "doctor check --data_dir=shapes --model=linear --image_size=16 --batch_size=4 --rows=4 --only=pixels",
    "doctor dump --data_dir=shapes --model=linear --image_size=8 --rows=2 --steps=1 --out=values",
    "doctor compare done/model.ckpt-1.safetensors done/model.ckpt-1.safetensors --tolerance=0.1 --largest=2 --json",
    "launch --ranks=1 --results=ranks --bind_cores=False -- info"};

void must_run(const std::string& arguments) {
  testing::expect(testing::run_shell(testing::program() + " " + arguments), 0, {});
}

// A folder with data in every layout and a checkpoint.
const std::string& sample() {
  static const std::string path = [] {
    const std::string p = testing::temporary_directory() + "/sample";
    fs::create_directories(p + "/packed");
    fs::create_directories(p + "/empty");
    write_file_atomically(p + "/step.rdg",
                          "graph @step(%x: f32[4,3], %w: param f32[8,3]) {\n  %0 = dense(%x, %w) : f32[4,8]\n"
                          "  %1 = relu(%0) : f32[4,8]\n  %2 = scale(%w) {factor=0.5} : f32[8,3]\n  update %w = %2\n"
                          "  return %1 \"y\"\n}\n");
    write_file_atomically(p + "/measured.json",
                          R"({"model": "alexnet_torchvision", "batch_size": 4, "ms_per_step": 2, "timeline": )"
                          R"([{"name": "a", "ms": 2, "gradient_bytes": 400, "update": false}]})");
    must_run("dataset make shapes --seed=1 --train=20 --val=10 --out=" + p + "/shapes");
    for (const auto& folder : fs::directory_iterator(p + "/shapes/val"))
      fs::rename(*fs::directory_iterator(folder), folder.path() / "0.jpg");
    must_run("dataset make tfrecord --train_shards=2 --validation_shards=1 --from=" + p + "/shapes --out=" + p +
             "/records");
    must_run("dataset pack --data_dir=" + p + "/shapes --out=" + p + "/packed/train.ridge");
    must_run(
        "train --model=linear --mode=train --image_size=16 --batch_size=4 --max_train_steps=1 --lr=0.1 --data_dir=" +
        p + "/shapes --log_dir=" + p + "/done");
    return p;
  }();
  return path;
}

// The flags in the help of a line's command.
Words flags_of(const std::string& line) {
  static std::map<std::string, Words> known;
  Words words;
  for (const std::string& word : words_of(line)) {
    if (word.starts_with("-") || word.find('/') != std::string::npos) break;
    words.push_back(word);
  }
  words.emplace_back("--help");
  std::string command = testing::program();
  for (const std::string& word : words) command += " " + word;
  Words& flags = known[command];
  if (!flags.empty()) return flags;
  const std::string help = testing::run_shell(command).text;
  const std::regex flag("--[a-z_]+");
  for (std::sregex_iterator at(help.begin(), help.end(), flag), end; at != end; ++at) flags.push_back(at->str());
  return flags;
}

template <class List>
auto one_of(const List& list, SampleRandom& random) {
  return list[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(list.size()) - 1))];
}

std::string any_value(SampleRandom& random) {
  static const std::array<std::string, 45> kValues{"0",
                                                   "1",
                                                   "-1",
                                                   "2",
                                                   "3",
                                                   "7",
                                                   "255",
                                                   "65535",
                                                   "65536",
                                                   "1000000",
                                                   "2147483647",
                                                   "2147483648",
                                                   "4294967296",
                                                   "9223372036854775807",
                                                   "9223372036854775808",
                                                   "-9223372036854775808",
                                                   "1e308",
                                                   "1e-308",
                                                   "-0",
                                                   "0.5",
                                                   "nan",
                                                   "inf",
                                                   "",
                                                   "x",
                                                   "True",
                                                   "maybe",
                                                   "0x10",
                                                   "1,2",
                                                   "%s",
                                                   "\xff\xfe",
                                                   "linear",
                                                   "resnet20",
                                                   "train",
                                                   "val",
                                                   "shapes",
                                                   "records",
                                                   "packed/train.ridge",
                                                   "done",
                                                   "done/model.ckpt-1.safetensors",
                                                   "empty",
                                                   "missing/x",
                                                   "shapes/val/circle/0.jpg",
                                                   "step.rdg",
                                                   ".",
                                                   "run"};
  if (random.integer(0, 40) == 0) return std::string(5000, 'a');
  return one_of(kValues, random);
}

Words mutated_line(const std::string& line, const Words& flags, SampleRandom& random) {
  Words words = words_of(line);
  const auto place = [&] {
    return static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(words.size()) - 1));
  };
  for (std::int64_t k = random.integer(1, 3); k > 0 && !words.empty(); --k) {
    const std::size_t at = place();
    const std::string value = any_value(random);
    switch (random.integer(0, 8)) {
      case 0:
      case 1:
      case 2:  // another value
        words[at] = words[at].starts_with("--") ? words[at].substr(0, words[at].find('=')) + "=" + value : words[at];
        break;
      case 3: words.erase(words.begin() + static_cast<std::ptrdiff_t>(at)); break;
      case 4: words.insert(words.begin() + static_cast<std::ptrdiff_t>(place()), std::string(words[at])); break;
      case 5: std::swap(words[at], words[place()]); break;
      case 6: words.push_back(one_of(flags, random) + "=" + value); break;
      case 7: words.push_back(random.integer(0, 1) == 0 ? one_of(flags, random) : value); break;
      default: words[at] = testing::mutated(words[at], random);
    }
  }
  // A NUL ends a word. Nothing is written outside the folder, however a path was mutated.
  for (std::string& word : words) {
    word = word.substr(0, word.find('\0'));
    const std::size_t slash = word.find('=') == std::string::npos ? 0 : word.find('=') + 1;
    if (word.substr(slash).starts_with("/") || word.find("..") != std::string::npos) word = "--unknown";
  }
  return words;
}

TEST(FuzzCommands, MutatedLinesEndAsTheyShould) {
  const int each = fuzz_count(2);
  sample();  // created here, and not in each process
  std::vector<Words> flags;
  for (const char* line : kLines) flags.push_back(flags_of(line));
  const auto line_of = [&](int i) {
    const auto number = static_cast<std::size_t>(i) % kLines.size();
    SampleRandom random(philox_key(11, "lines"), number, static_cast<std::uint64_t>(i) / kLines.size());
    return static_cast<std::size_t>(i) < kLines.size() ? words_of(kLines[number])
                                                       : mutated_line(kLines[number], flags[number], random);
  };
  testing::FuzzOptions options{.interrupt_seconds = 3, .process_each = true};
  options.may_end_with = [](int i, int code) {
    const bool whole = static_cast<std::size_t>(i) < kLines.size();
    return whole ? code == 0 : code == 0 || code == 1 || code == 2 || code == 130;
  };
  testing::try_all(
      static_cast<int>(kLines.size()) * (each + 1),
      [&](int i) {
        fs::copy(sample(), ".", fs::copy_options::recursive);
        testing::become_program(line_of(i));
      },
      [&](int i) {
        std::string text;
        for (const std::string& word : line_of(i)) text += "'" + word.substr(0, 200) + "' ";
        return text;
      },
      options);
}

// Mutated checkpoints, logs and metrics of an earlier run, and the commands that resume from them.
TEST(FuzzCommands, DamagedRunFoldersAreRefusedOrReplaced) {
  const std::array<const char*, 4> lines{
      "train --data_dir=shapes --model=linear --mode=train --image_size=16 --batch_size=4 --max_train_steps=2 --lr=0.1 "
      "--log_dir=done --num_workers=1",
      "evaluate --data_dir=shapes --model=linear --image_size=16 --checkpoint_dir=done --batch_size=8",
      "predict --model=linear --checkpoint_dir=done shapes/val/circle/0.jpg", "info done/model.ckpt-1.safetensors"};
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(sample() + "/done")) files.push_back(entry.path().filename());
  std::sort(files.begin(), files.end());
  const auto number = [](int i) { return static_cast<std::size_t>(i); };
  testing::FuzzOptions options{.interrupt_seconds = 10, .process_each = true};
  options.may_end_with = [](int, int code) { return code == 0 || code == 1 || code == 2; };
  testing::try_all(
      static_cast<int>(lines.size() * files.size()) * fuzz_count(1),
      [&](int i) {
        fs::copy(sample(), ".", fs::copy_options::recursive);
        SampleRandom random(philox_key(13, "run folder"), 0, number(i));
        const std::string file = "done" / files[number(i) / lines.size() % files.size()];
        write_file_atomically(file, testing::mutated(read_file(file), random));
        testing::become_program(words_of(lines[number(i) % lines.size()]));
      },
      [&](int i) {
        return std::string(lines[number(i) % lines.size()]) + " with a mutated " +
               files[number(i) / lines.size() % files.size()].string();
      },
      options);
}

}  // namespace
}  // namespace ridgeline
