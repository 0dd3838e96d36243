#include "ridgeline/format/record/tar.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <thread>

#include "ridgeline/format/record/tar_header.h"
#include "tests/support/files.h"

namespace ridgeline {
namespace {

using Members = std::vector<std::pair<std::string, std::string>>;

const Members kMembers{{"a.txt", "hello"},
                       {"dir/empty", ""},
                       {"dir/block.bin", std::string(512, 'b')},
                       {std::string(60, 'p') + "/" + std::string(90, 'n'), "prefix and name"},
                       {std::string(300, 'l') + ".txt", std::string(600, 'x')}};

std::string write_sample_tar(const std::string& path, const Members& members = kMembers) {
  TarWriter writer(path);
  for (const auto& [name, content] : members) writer.add(name, content);
  writer.finish();
  return read_file(path);
}

std::string member_of(const TarFile& file, std::size_t i) {
  std::string storage;
  return as_text(file.member(i, storage));
}

Members members_of(const TarFile& file) {
  Members members;
  for (std::size_t i = 0; i < file.size(); ++i) {
    members.emplace_back(std::string(file.name(i)), member_of(file, i));
  }
  return members;
}

std::string error_of_file(const std::string& path, const TarOptions& options = {}) {
  const std::string message = error_of([&] { members_of(TarFile(path, options)); });
  const std::string where = "[tar] " + path + ": ";
  EXPECT_TRUE(message.empty() || message.starts_with(where)) << message;
  return message.empty() ? "" : message.substr(where.size());
}

// A member as another program would write it: a header of ours with changed fields and a corrected checksum.
std::string block(const std::string& name, std::uint64_t size, char type,
                  const std::map<std::size_t, std::string>& fields = {}) {
  std::string header = make_tar_header(name, size, type);
  for (const auto& [at, bytes] : fields) header.replace(at, bytes.size(), bytes);
  unsigned sum = 8 * ' ';
  for (std::size_t i = 0; i < 512; ++i) sum += i >= 148 && i < 156 ? 0 : static_cast<unsigned char>(header[i]);
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "%06o", sum);
  header.replace(148, 7, std::string(text.data(), 7));
  return header;
}

std::string padded(std::string content) {
  content.resize((content.size() + 511) / 512 * 512);
  return content;
}

const std::string kEnd(1024, '\0');

class Tar : public ::testing::Test {
 protected:
  std::string error(const std::string& archive) {
    put_file(path_, archive);
    return error_of_file(path_);
  }
  Members read(const std::string& archive) {
    put_file(path_, archive);
    return members_of(TarFile(path_));
  }
  TempFolder folder_;
  std::string path_ = folder_.file("f.tar");
};

TEST_F(Tar, ReadsWhatItWrites) {
  const std::string whole = write_sample_tar(path_);
  EXPECT_EQ(whole.size() % 10240, 0u);
  const TarFile file(path_);
  EXPECT_EQ(members_of(file), kMembers);
  EXPECT_EQ(file.header_offset(0), 0u);
  EXPECT_EQ(file.offset(0), 512u);
  EXPECT_EQ(file.length(2), 512u);
  EXPECT_EQ(whole, write_sample_tar(folder_.file("again.tar")));
  write_sample_tar(path_, {});
  EXPECT_EQ(TarFile(path_).size(), 0u);
}

TEST_F(Tar, WriterRefusesNamesOfNoFileAndLeavesNothingWithoutFinish) {
  put_file(path_, "old");
  {
    TarWriter writer(path_);
    for (const std::string& name : {std::string(), std::string("dir/"), std::string("a\0b", 3)}) {
      EXPECT_TRUE(contains(error_of([&] { writer.add(name, "x"); }), "is no name of a member"));
    }
    writer.add("a", "x");
  }
  EXPECT_EQ(read_file(path_), "old");
}

TEST_F(Tar, ProgramsOfOthersAgree) {
  if (std::system("tar --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no tar program";
  const std::string in = folder_.file("in");
  std::filesystem::create_directories(in + "/deep/er");
  std::filesystem::create_directories(in + "/void");
  std::filesystem::create_directories(in + "/" + std::string(60, 'p'));
  const Members members{{"b.jpg", std::string(1000, 'b')},
                        {"deep/er/c", "c"},
                        {std::string(60, 'p') + "/" + std::string(90, 'n'), "long"},
                        {"empty", ""}};
  for (const auto& [name, content] : members) put_file(in + "/" + name, content);
  std::filesystem::create_symlink("b.jpg", in + "/link");
  std::filesystem::create_hard_link(in + "/b.jpg", in + "/zhard");
  for (const std::string format : {"gnu", "pax", "ustar", "v7", "oldgnu"}) {
    SCOPED_TRACE(format);
    std::string names;
    // v7 has no room for the long name.
    for (const auto& [name, content] : members) names += format == "v7" && content == "long" ? "" : " " + name;
    const std::string command = "tar --format=" + format + " -C " + in + " -cf " + path_ + names + " link zhard void";
    ASSERT_EQ(std::system(command.c_str()), 0);
    Members expected = members;
    if (format == "v7") expected.erase(expected.begin() + 2);
    EXPECT_EQ(members_of(TarFile(path_)), expected);  // without the links and the folder
  }
  // And tar can read what we write.
  write_sample_tar(path_);
  const std::string out = folder_.file("out");
  std::filesystem::create_directories(out);
  ASSERT_EQ(std::system(("tar -C " + out + " -xf " + path_ + " a.txt dir/block.bin").c_str()), 0);
  EXPECT_EQ(read_file(out + "/dir/block.bin"), kMembers[2].second);
  ASSERT_EQ(std::system(("tar -tf " + path_ + " > " + out + "/names").c_str()), 0);
  std::string names;
  for (const auto& [name, content] : kMembers) names += name + "\n";
  EXPECT_EQ(read_file(out + "/names"), names);
}

TEST_F(Tar, KindsOfMembersAndNamesAreTold) {
  const std::string base256("\x80\0\0\0\0\0\0\0\0\0\0\x03", 12);
  const std::string pax = "14 path=p/a/x\n9 size=4\n18 comment=pieces\n";
  const std::string archive =
      block("v7", 3, '\0', {{257, std::string(8, '\0')}}) + padded("one") +      // before ustar
      block("v7dir/", 0, '\0') + block("dir", 99, '5') +                         // sizes without data
      block("hard", 7, '1') + block("soft", 0, '2') + block("device", 0, '3') +  //
      block("label", 0, 'V') + block("dump", 4, 'D') + padded("list") +          // data that is no file's
      block("big", 0, '0', {{124, base256}}) + padded("two") +                   // GNU's large numbers
      block("contiguous", 1, '7') + padded("3") +                                //
      block("././@LongLink", 11, 'L') + padded("gnu/longer!") +                  // the next one's name
      block("././@LongLink", 6, 'K') + padded("target") + block("cut/behind/a/", 2, '0') + padded("44") +
      block("g", 16, 'g') + padded("16 comment=all!\n") +  // for all, and not for us
      block("x", pax.size(), 'x') + padded(pax) + block("short", 0, '0') + padded("five") + block("plain", 1, '0') +
      padded("6") + kEnd;
  EXPECT_EQ(read(archive), (Members{{"v7", "one"},
                                    {"big", "two"},
                                    {"contiguous", "3"},
                                    {"gnu/longer!", "44"},
                                    {"p/a/x", "five"},
                                    {"plain", "6"}}));
}

TEST_F(Tar, DamageIsNamedWithItsByte) {
  EXPECT_EQ(error(""),
            "header at byte 0 is missing: the file ends without the two blocks of zeros that mark the end; "
            "members may be missing");
  EXPECT_EQ(error("text"), "header at byte 0 is cut short: 4 bytes are left, it has 512");
  EXPECT_EQ(error(std::string(600, 't')), "header at byte 0 has a wrong checksum; is this a tar archive?");
  EXPECT_TRUE(
      contains(error(block("a", 5, '0')), "header at byte 0 (a) is cut short: it has 5 bytes of data, the file"));
  EXPECT_TRUE(contains(error(block("a", 0, '0') + std::string(512, '\0')),
                       "header at byte 512 begins the end of the archive, which is cut short"));
  EXPECT_TRUE(contains(error(block("a", 0, '0') + kEnd + block("b", 0, '0') + kEnd),
                       "header at byte 512 ends the archive, but there is more data at byte 1536"));
  EXPECT_TRUE(
      contains(error(block("a", 0, '0', {{124, "12x"}}) + kEnd), "header at byte 0 has a size that is no number"));
  EXPECT_TRUE(contains(error(block("a", 0, '0', {{124, std::string(12, '\xff')}}) + kEnd), "size that is no number"));
  EXPECT_TRUE(contains(error(block("a", 0, 'S') + kEnd), "(a) is a sparse member"));
  EXPECT_TRUE(contains(error(block("g", 12, 'g') + padded("12 path=abc\n") + kEnd), "one path or size to all"));
  EXPECT_TRUE(contains(error(block("x", 12, 'x') + padded("12 path=abc\n") + kEnd), "is zero, behind an extended"));
  EXPECT_TRUE(
      contains(error(block("x", 12, 'x') + padded("12 path=abc\n")), "the file ends behind an extended header"));
  for (const std::string record : {"13 path=abc\n", "x path=abc\n", "12 pathabcd\n", "12 path=abcd", "1 path=abc\n",
                                   "99999999999999999999 a=b\n", "11 size=12x\n", "8 path=\n", "12"}) {
    const std::string message = error(block("x", record.size(), 'x') + padded(record) + block("a", 0, '0') + kEnd);
    EXPECT_TRUE(contains(message, "header at byte 0 (x): a pax record ")) << record << ": " << message;
  }
  EXPECT_TRUE(contains(error(block("x", 22, 'x') + padded("22 GNU.sparse.major=1\n") + block("a", 0, '0') + kEnd),
                       "announces a sparse member"));
}

TEST_F(Tar, CompressedArchivesAreRefusedByName) {
  using namespace std::string_literals;
  for (const auto& [magic, name] : std::map<std::string, std::string>{
           {"\x1f\x8b\x08"s, "gzip"}, {"\x28\xb5\x2f\xfd"s, "zstd"}, {"BZh9"s, "bzip2"}, {"\xfd\x37zXZ"s, "xz"}}) {
    EXPECT_EQ(error(magic + std::string(1000, 'z')), "the file is " + name +
                                                         "-compressed; unpack it first, a compressed archive has no "
                                                         "random access");
    EXPECT_TRUE(contains(error(magic), name));
  }
  EXPECT_EQ(read(block("BZh9", 0, '0') + kEnd).size(), 1u);  // a name is not a magic number if the checksum is correct
}

TEST_F(Tar, EveryCutIsNamed) {
  const Members members{{"a.txt", "hello"}, {std::string(160, 'l'), std::string(512, 'x')}};
  const std::string whole = write_sample_tar(folder_.file("whole.tar"), members);
  const std::size_t end = 512 * (2 + 4);  // where the zeros begin
  // Everything after the two blocks of zeros is padding.
  expect_cuts_are_errors(
      path_, whole, "[tar] " + path_ + ": header at byte ", [&] { members_of(TarFile(path_)); },
      [&](std::size_t n) { return n >= end + 1024; });
  // With this option, the end of a whole member is accepted.
  for (std::size_t n = 0; n < end + 1024; ++n) {
    put_file(path_, std::string_view(whole).substr(0, n));
    const std::string message = error_of_file(path_, {.allow_missing_end = true});
    const bool prefix = n == 0 || (n >= 517 && n <= 1024) || n == end;
    ASSERT_EQ(message.empty(), prefix) << n << message;
    if (prefix) {
      EXPECT_EQ(TarFile(path_, {.allow_missing_end = true}).size(), n == 0 ? 0u : n == end ? 2u : 1u);
    }
  }
}

TEST_F(Tar, FlippedBytesNeverCrash) {
  const std::string whole = write_sample_tar(folder_.file("whole.tar"));
  EXPECT_GT(expect_flips_are_survived(path_, whole, [&] { members_of(TarFile(path_)); }), 200);
}

TEST_F(Tar, IndexIsKeptAndNeverTrustedBlindly) {
  write_sample_tar(path_);
  const TarOptions options{.index_cache_directory = folder_.path()};  // beside the archive
  EXPECT_FALSE(TarFile(path_, options).index_was_cached());
  const TarFile cached(path_, options);
  EXPECT_TRUE(cached.index_was_cached());
  EXPECT_EQ(members_of(cached), kMembers);
  // Other contents with the same size and time.
  const auto time = std::filesystem::last_write_time(path_);
  std::string other = read_file(path_);
  other[0] = 'z';
  put_file(path_, other);
  std::filesystem::last_write_time(path_, time);
  const TarFile stale(path_, options);
  EXPECT_TRUE(stale.index_was_cached());
  EXPECT_TRUE(contains(error_of([&] { member_of(stale, 0); }),
                       "header at byte 0 of a.txt is not where the cached index says: the file has changed"));
  // Another time, and a damaged cache: rebuilt.
  std::filesystem::last_write_time(path_, time + std::chrono::seconds(1));
  EXPECT_TRUE(contains(error_of([&] { TarFile(path_, options); }), "wrong checksum"));
  write_sample_tar(path_);
  EXPECT_FALSE(TarFile(path_, options).index_was_cached());
  std::string index;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    if (entry.path().extension() == ".tar-index") index = entry.path();
  }
  const std::string content = read_file(index);
  for (std::size_t n = 0; n < content.size(); n += 7) {
    std::string bad = content;
    bad[n] = static_cast<char>(bad[n] ^ 1);
    put_file(index, bad);
    const TarFile file(path_, options);
    EXPECT_FALSE(file.index_was_cached()) << n;
    EXPECT_EQ(members_of(file), kMembers);
  }
}

TEST_F(Tar, AnyThreadMayRead) {
  write_sample_tar(path_);
  const TarFile file(path_);
  std::vector<std::thread> threads;
  std::array<bool, 4> right{};
  for (std::size_t t = 0; t < right.size(); ++t) {
    threads.emplace_back([&, t] { right[t] = members_of(file) == kMembers; });
  }
  for (auto& t : threads) t.join();
  for (const bool r : right) EXPECT_TRUE(r);
}

}  // namespace
}  // namespace ridgeline
