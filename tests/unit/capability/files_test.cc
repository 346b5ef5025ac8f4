#include "shared/capability/merge.h"
#include "tests/unit/capability/fixture.h"

namespace acl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Files : public CapabilityTest {};

TEST_F(Files, WriteReadHashExists) {
  StepResult written = Apply("io.fs.write_file", {{"file_path", "out/ä.txt"}, {"content", "héllo"}, {"create_dirs", true}});
  EXPECT_EQ(written.outputs.dump(), R"({"bytes_written":6,"success":true})");
  EXPECT_THAT(Paths(), ElementsAre("out/", "out/ä.txt"));
  EXPECT_EQ(Apply("io.fs.read_file", {{"path", "/workspace/out/ä.txt"}}).outputs.dump(), R"({"content":"héllo","size":5,"success":true})");
  EXPECT_EQ(Apply("io.fs.hash_file", {{"path", "out/ä.txt"}}).outputs,
            Json({{"checksum_sha256", ToHex(Sha256("héllo"))}, {"success", true}}));
  EXPECT_EQ(Apply("io.fs.exists", {{"path", "out"}}).outputs.dump(), R"({"exists":true,"is_dir":true,"is_file":false})");
  EXPECT_EQ(Apply("io.fs.exists", {{"path", "nope"}}).outputs.dump(), R"({"exists":false,"is_dir":false,"is_file":false})");
  EXPECT_EQ(Apply("io.fs.exists", {{"path", "."}}).outputs["is_dir"], true);
}

TEST_F(Files, ContentsAreInTheStoreBeforeTheResult) {
  StepResult result = Call("io.fs.write_file", {{"path", "a"}, {"content", "x"}});
  ASSERT_EQ(result.files.size(), 1u);
  EXPECT_TRUE(contents_.Has(*result.files[0].hash));
  contents_.fail_put = true;
  StepResult refused = Call("io.fs.write_file", {{"path", "a"}, {"content", "y"}});
  EXPECT_EQ(refused.outcome, Outcome::kFailed);
  EXPECT_TRUE(refused.retryable);
  EXPECT_THAT(refused.files, IsEmpty());
}

TEST_F(Files, ChangesSayWhatTheAttemptFound) {
  StepResult first = Call("io.fs.write_file", {{"path", "a"}, {"content", "x"}});
  StepResult second = Call("io.fs.write_file", {{"path", "a"}, {"content", "y"}});  // began when the first had not completed
  ASSERT_EQ(first.files.size(), 1u);
  EXPECT_EQ(first.files[0].found, Hash256{}) << "nothing was there";
  EXPECT_FALSE(FindConflict(Document(), second.files));
  Document merged;
  ASSERT_TRUE(merged.Apply(PatchFiles(merged, first.files)));
  EXPECT_FALSE(FindConflict(merged, first.files)) << "already what it makes of it";
  ASSERT_TRUE(FindConflict(merged, second.files));
  EXPECT_EQ(FindConflict(merged, second.files)->path, "a");
}

TEST_F(Files, AFailedOrUncommittedAttemptLeavesNothing) {
  Call("io.fs.write_file", {{"path", "a"}, {"content", "x"}});  // its result is never committed
  EXPECT_EQ(Call("io.fs.exists", {{"path", "a"}}).outputs["exists"], false);
}

TEST_F(Files, MistakesOfReadingAndWriting) {
  Write("dir/file", "x");
  EXPECT_THAT(FailureOf("io.fs.read_file", {{"path", "nope"}}), HasSubstr("File not found: nope"));
  EXPECT_THAT(FailureOf("io.fs.read_file", {{"path", "dir"}}), HasSubstr("Is a directory"));
  EXPECT_THAT(FailureOf("io.fs.hash_file", {{"path", "nope"}}), HasSubstr("File not found"));
  EXPECT_THAT(FailureOf("io.fs.write_file", {{"path", "new/x"}, {"content", ""}}), HasSubstr("create_dirs"));
  EXPECT_THAT(FailureOf("io.fs.write_file", {{"path", "dir"}, {"content", ""}}), HasSubstr("is a directory"));
  EXPECT_THAT(FailureOf("io.fs.write_file", {{"path", "dir/file/x"}, {"content", ""}, {"create_dirs", true}}),
              HasSubstr("'dir/file' is a file"));
  EXPECT_THAT(FailureOf("io.fs.write_file", {{"path", "."}, {"content", ""}}), HasSubstr("root itself"));
  EXPECT_THAT(FailureOf("io.fs.write_file", {{"path", "x"}, {"content", "é"}, {"encoding", "ascii"}}), HasSubstr("use utf-8"));
  EXPECT_THAT(FailureOf("io.fs.read_file", {{"path", "dir/file"}, {"encoding", "ebcdic"}}), HasSubstr("unknown encoding"));
}

TEST_F(Files, PathsThatLeaveTheWorkspaceAreRefusedEverywhere) {
  for (const char* path : {"../x", "/etc/passwd", "a/../../x", "/workspace/../etc/passwd", "/proc/self/root/x", "/workspacex/y"}) {
    EXPECT_THAT(FailureOf("io.fs.read_file", {{"path", path}}), HasSubstr("escapes workspace boundary"));
    EXPECT_THAT(FailureOf("io.fs.write_file", {{"path", path}, {"content", "x"}}), HasSubstr("escapes workspace boundary"));
    EXPECT_THAT(FailureOf("io.fs.list_dir", {{"path", path}}), HasSubstr("escapes workspace boundary"));
    EXPECT_THAT(FailureOf("io.fs.move", {{"source", "a"}, {"destination", path}}), HasSubstr("escapes workspace boundary"));
    EXPECT_THAT(FailureOf("sys.archive.zip", {{"source_paths", {path}}, {"output_path", "a.zip"}}),
                HasSubstr("escapes workspace boundary"));
  }
}

TEST_F(Files, BinaryFilesAreRefusedAsTextWithAWayOut) {
  Apply("io.fs.write_bytes", {{"path", "b"}, {"content_base64", "AAECAw=="}});
  EXPECT_THAT(FailureOf("io.fs.read_file", {{"path", "b"}}), HasSubstr("NUL"));
  Apply("io.fs.write_bytes", {{"path", "c"}, {"content_base64", "/+k="}});  // ff e9
  EXPECT_THAT(FailureOf("io.fs.read_file", {{"path", "c"}}), HasSubstr("io.fs.hash_file"));
  EXPECT_EQ(Apply("io.fs.read_file", {{"path", "c"}, {"encoding", "latin-1"}}).outputs["content"], "ÿé");
}

TEST_F(Files, WriteBytesIsStrict) {
  StepResult result = Apply("io.fs.write_bytes", {{"path", "x/y.bin"}, {"content_base64", "aGVsbG8="}, {"create_dirs", true}});
  EXPECT_EQ(result.outputs.dump(), fmt::format(R"({{"file_path":"/workspace/x/y.bin","bytes_written":5,"checksum":"{}","success":true}})",
                                               ToHex(Sha256("hello"))));
  EXPECT_EQ(ContentOf("x/y.bin"), "hello");
  EXPECT_THAT(FailureOf("io.fs.write_bytes", {{"path", "x/y.bin"}, {"content_base64", "aGVsbG8="}}), HasSubstr("File exists"));
  for (const char* bad : {"", "aGVsbG8", "aGVs bG8=", "aGVsbG8=\n", "aGVsbG9=", "====", "a===", "aG=s", "_-__"}) {
    EXPECT_THAT(FailureOf("io.fs.write_bytes", {{"path", "z"}, {"content_base64", bad}}), HasSubstr("base64")) << bad;
  }
}

TEST_F(Files, MakeDirAndDelete) {
  EXPECT_EQ(Apply("io.fs.make_dir", {{"path", "a/b"}, {"parents", true}}).outputs["created"], true);
  EXPECT_EQ(Apply("io.fs.make_dir", {{"path", "a/b"}}).outputs["created"], false);
  EXPECT_THAT(FailureOf("io.fs.make_dir", {{"path", "a/b"}, {"exist_ok", false}}), HasSubstr("exists"));
  EXPECT_THAT(FailureOf("io.fs.make_dir", {{"path", "q/r"}}), HasSubstr("parents"));
  Write("a/b/f", "1");
  EXPECT_THAT(FailureOf("io.fs.delete", {{"path", "a"}}), HasSubstr("not empty"));
  EXPECT_THAT(FailureOf("io.fs.delete", {{"path", "nope"}}), HasSubstr("not found"));
  EXPECT_THAT(FailureOf("io.fs.delete", {{"path", "/workspace"}, {"recursive", true}}), HasSubstr("root"));
  Apply("io.fs.delete", {{"path", "a/b/f"}});
  EXPECT_THAT(Paths(), ElementsAre("a/", "a/b/"));
  Apply("io.fs.delete", {{"path", "a"}, {"recursive", true}});
  EXPECT_THAT(Paths(), IsEmpty());
}

TEST_F(Files, DeletingTwiceInOneRunWorks) {  // K32: one fixed backup name made the second fail
  for (int i = 0; i < 2; ++i) {
    Write("f", "again");
    Apply("io.fs.delete", {{"path", "f"}});
  }
  EXPECT_THAT(Paths(), IsEmpty());
}

TEST_F(Files, MoveAndCopy) {
  Write("d/one", "1");
  Write("d/sub/two", "2");
  Write("e", "old");
  Apply("io.fs.copy", {{"source", "d"}, {"dest", "c"}});
  EXPECT_THAT(Paths(), ElementsAre("c/", "c/one", "c/sub/", "c/sub/two", "d/", "d/one", "d/sub/", "d/sub/two", "e"));
  Apply("io.fs.move", {{"source", "d"}, {"destination", "m"}});
  EXPECT_THAT(Paths(), ElementsAre("c/", "c/one", "c/sub/", "c/sub/two", "e", "m/", "m/one", "m/sub/", "m/sub/two"));
  EXPECT_EQ(ContentOf("m/sub/two"), "2");
  EXPECT_THAT(FailureOf("io.fs.move", {{"source", "nope"}, {"destination", "x"}}), HasSubstr("Source not found: nope"));
  EXPECT_THAT(FailureOf("io.fs.copy", {{"source", "c/one"}, {"destination", "e"}}), HasSubstr("Destination exists: e"));
  EXPECT_THAT(FailureOf("io.fs.move", {{"source", "c"}, {"destination", "c/x"}}), HasSubstr("into itself"));
  EXPECT_THAT(FailureOf("io.fs.move", {{"source", "c/one"}, {"destination", "c"}, {"overwrite", true}}),
              HasSubstr("would remove the source"));
  EXPECT_THAT(FailureOf("io.fs.move", {{"source", "e"}, {"destination", "e"}, {"overwrite", true}}), HasSubstr("would remove the source"));
  Apply("io.fs.move", {{"source", "c/one"}, {"destination", "e"}, {"overwrite", true}});
  EXPECT_EQ(ContentOf("e"), "1");
}

TEST_F(Files, ListIsSortedAndHidesDotNames) {
  Write("b.txt", "12");
  Write("a/x", "1");
  Write("a/.hidden/y", "1");
  Write(".git/config", "1");
  Json top = Apply("io.fs.list_dir", {{"path", "."}}).outputs;
  EXPECT_EQ(
      top.dump(),
      R"({"entries":[{"name":"a","path":"/workspace/a","is_dir":true,"size":0},{"name":"b.txt","path":"/workspace/b.txt","is_dir":false,"size":2}],"success":true})");
  auto names = [](const Json& outputs) {
    std::vector<std::string> out;
    for (const auto& entry : outputs["entries"]) out.push_back(entry["path"]);
    return out;
  };
  EXPECT_THAT(names(Apply("io.fs.list_dir", {{"path", ""}, {"recursive", true}}).outputs),
              ElementsAre("/workspace/a", "/workspace/a/x", "/workspace/b.txt"));
  EXPECT_EQ(names(Apply("io.fs.list_dir", {{"path", ""}, {"recursive", true}, {"include_hidden", true}}).outputs).size(), 7u);
  EXPECT_THAT(FailureOf("io.fs.list_dir", {{"path", "b.txt"}}), HasSubstr("Not a directory"));
  EXPECT_THAT(FailureOf("io.fs.list_dir", {{"path", "zz"}}), HasSubstr("not found"));
}

TEST_F(Files, DirectoriesWithoutAnEntryAreDirectoriesAllTheSame) {
  state_.Set(FileKey("in/deep/f"), FileEntryToJson(FileEntry{Sha256(""), 0, 0644, false}));
  ASSERT_TRUE(contents_.Put(Sha256(""), ""));
  EXPECT_EQ(Apply("io.fs.exists", {{"path", "in/deep"}}).outputs["is_dir"], true);
  EXPECT_EQ(Apply("io.fs.list_dir", {{"path", "in"}}).outputs["entries"][0]["name"], "deep");
  Write("in/deep/g", "x");
  EXPECT_THAT(FailureOf("io.fs.write_file", {{"path", "in"}, {"content", ""}}), HasSubstr("is a directory"));
  Apply("io.fs.delete", {{"path", "in/deep"}, {"recursive", true}});
  EXPECT_THAT(Paths(), ElementsAre("in/"));
}

TEST_F(Files, LimitsAreClearFailures) {
  CapabilityConfig config;
  config.files = {.max_file_bytes = 10, .max_total_bytes = 15, .max_files = 3};
  Start(config);
  EXPECT_THAT(FailureOf("io.fs.write_file", {{"path", "a"}, {"content", "12345678901"}}), HasSubstr("10 are allowed for one file"));
  Write("a", "1234567890");
  EXPECT_THAT(FailureOf("io.fs.write_file", {{"path", "b"}, {"content", "123456"}}), HasSubstr("15 are allowed"));
  Write("a", "12");  // shrinking frees
  Write("b", "123456");
  Write("c", "");
  EXPECT_THAT(FailureOf("io.fs.write_file", {{"path", "d"}, {"content", ""}}), HasSubstr("3 are allowed"));
}

TEST_F(Files, ADamagedLocalCopyIsFetchedAnew) {
  Write("a", "precious");
  auto find = [&](const std::string& name) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(work_.path)) {
      if (entry.path().filename() == name) return entry.path().string();
    }
    return std::string();
  };
  std::string copy = find(ToHex(Sha256("precious")));
  ASSERT_FALSE(copy.empty());
  ASSERT_EQ(::truncate(copy.c_str(), 3), 0);
  EXPECT_EQ(Apply("io.fs.read_file", {{"path", "a"}}).outputs["content"], "precious");
}

}  // namespace
}  // namespace acl
