#include "shared/capability/manifest.h"

#include <gtest/gtest.h>

#include "shared/base/limits.h"
#include "shared/capability/merge.h"
#include "shared/journal/json_patch.h"

namespace acl {
namespace {

Hash256 HashOf(std::uint8_t fill) {
  Hash256 hash;
  hash.fill(fill);
  return hash;
}

FileChange File(std::string path, std::uint8_t fill = 1) { return FileChange{std::move(path), HashOf(fill), 3, 0644, false}; }

TEST(Path, WhatPeopleWriteBecomesOneForm) {
  const std::pair<std::string, std::string> table[] = {
      {"", ""},
      {".", ""},
      {"./", ""},
      {"a", "a"},
      {"a/b", "a/b"},
      {"./a//b/", "a/b"},
      {"a/./b", "a/b"},
      {"a/../b", "b"},
      {"a/b/../../c", "c"},
      {"/workspace", ""},
      {"/workspace/", ""},
      {"/workspace/a/b", "a/b"},
      {"/workspace//a", "a"},
      {"..a", "..a"},
      {"a..", "a.."},
      {"...", "..."},
      {"%2e%2e/x", "%2e%2e/x"},
      {"a\\..\\b", "a\\..\\b"},
      {"Ünï/código", "Ünï/código"},
      {" a ", " a "},
      {"~/x", "~/x"},
      {"C:/x", "C:/x"},
      {std::string(255, 'x'), std::string(255, 'x')},
  };
  for (const auto& [raw, want] : table) {
    auto path = NormalisePath(raw);
    ASSERT_TRUE(path) << raw << ": " << path.error();
    EXPECT_EQ(*path, want) << raw;
  }
}

TEST(Path, WhatWouldLeaveTheWorkspaceIsRefused) {
  const std::string table[] = {
      "..",
      "../x",
      "a/../../x",
      "./../x",
      "a/b/../../../c",
      "/",
      "/etc/passwd",
      "/workspace/../etc/passwd",
      "/workspace2/x",
      "/workspacex",
      "//workspace/x",
      "/../x",
      "/proc/self/root/etc",
      "/tmp/x",
      "/data/x",
  };
  for (const auto& raw : table) {
    auto path = NormalisePath(raw);
    ASSERT_FALSE(path) << raw;
    EXPECT_EQ(path.code(), Code::kInvalid);
    EXPECT_NE(path.message().find("/workspace"), std::string::npos) << "the error says which root applies: " << path.message();
  }
}

TEST(Path, NamesThatCannotBeStoredAreRefused) {
  const std::string table[] = {std::string("a\0b", 3),
                               "a\nb",
                               "a\x7f",
                               "\xff",
                               "a/\xc3",
                               "\xed\xa0\x80",
                               "\xc0\xaf",
                               std::string(256, 'x'),
                               std::string(255, 'x') + "/" + std::string(3000, 'y')};
  for (const auto& raw : table) EXPECT_FALSE(NormalisePath(raw)) << ToHex(raw).substr(0, 40);
  std::string deep = "a";
  while (deep.size() <= kMaxPathBytes) deep += "/a";
  EXPECT_FALSE(NormalisePath(deep));
}

TEST(Path, PartsAndUnder) {
  EXPECT_EQ(ParentPath("a/b/c"), "a/b");
  EXPECT_EQ(ParentPath("a"), "");
  EXPECT_EQ(BaseName("a/b/c"), "c");
  EXPECT_EQ(LogicalPath("a/b"), "/workspace/a/b");
  EXPECT_EQ(LogicalPath(""), "/workspace");
  EXPECT_TRUE(IsUnder("a/b", "a"));
  EXPECT_FALSE(IsUnder("ab", "a"));  // components, not text: ws2 is not below ws
  EXPECT_FALSE(IsUnder("a", "a"));
  EXPECT_TRUE(IsUnder("a", ""));
  EXPECT_FALSE(IsUnder("", ""));
}

TEST(FileEntryJson, RoundTripsAndRefusesOtherForms) {
  FileEntry file{HashOf(7), 12, 0755, false};
  FileEntry dir{Hash256{}, 0, 0755, true};
  EXPECT_EQ(*FileEntryFromJson(FileEntryToJson(file)), file);
  EXPECT_EQ(*FileEntryFromJson(FileEntryToJson(dir)), dir);
  const char* bad[] = {R"(1)",
                       R"({})",
                       R"({"hash":"00","size":1,"mode":420})",
                       R"({"size":1,"mode":420})",
                       R"({"dir":false,"mode":420})",
                       R"({"dir":true})",
                       R"({"dir":true,"mode":4095})"};
  for (const char* text : bad) EXPECT_FALSE(FileEntryFromJson(Json::parse(text))) << text;
}

TEST(Manifest, PatchMakesTheChangesAndNothingElse) {
  Document state;
  state.Set("other", 1);
  state.Set(FileKey("kept"), FileEntryToJson(EntryOf(File("kept", 1))));
  state.Set(FileKey("old"), FileEntryToJson(EntryOf(File("old", 2))));
  state.Set(FileKey("gone"), FileEntryToJson(EntryOf(File("gone", 3))));
  std::vector<FileChange> changes{File("old", 9),      File("new", 4), FileChange{"gone"}, FileChange{"dir", std::nullopt, 0, 0755, true},
                                  FileChange{"never"}, File("kept", 1)};

  Document after = state;
  Json patch = PatchFiles(state, changes);
  EXPECT_EQ(patch.size(), 4u) << "what changes nothing is left out: " << patch;
  ASSERT_TRUE(after.Apply(patch));
  auto manifest = ReadManifest(after);
  ASSERT_TRUE(manifest);
  ASSERT_EQ(manifest->size(), 4u);
  EXPECT_EQ(manifest->at("old").hash, HashOf(9));
  EXPECT_EQ(manifest->at("new").hash, HashOf(4));
  EXPECT_TRUE(manifest->at("dir").is_dir);
  EXPECT_FALSE(manifest->contains("gone"));

  EXPECT_EQ(RealChanges(state, changes).size(), 4u);
}

TEST(Manifest, AnEntryThatDoesNotParseIsCorruptByName) {
  Document state;
  state.Set(FileKey("a"), Json("nonsense"));
  EXPECT_EQ(FindFile(state, "a").code(), Code::kCorrupt);
  auto manifest = ReadManifest(state);
  ASSERT_FALSE(manifest);
  EXPECT_NE(manifest.message().find("file:a"), std::string::npos);
}

TEST(Manifest, AFileWithSomethingBelowItCannotBe) {
  const FileEntry file{HashOf(1), 1, 0644, false}, directory{Hash256{}, 0, 0755, true};
  EXPECT_EQ(ImpossibleIn({{"d", directory}, {"d/x", file}, {"d-", file}, {"d/x-y", file}, {"only/below", file}}), std::nullopt);
  EXPECT_EQ(ImpossibleIn({{"d", file}, {"d-", file}, {"d/y", file}}), "'d' is a file, yet 'd/y' lies below it");
  EXPECT_EQ(ImpossibleIn({{"d", file}, {"d/e/f/y", directory}}), "'d' is a file, yet 'd/e/f/y' lies below it");
}

TEST(Manifest, OneDepthForEveryPath) {
  std::string path = "a";
  for (std::size_t names = 1; names < kMaxPathDepth; ++names) path += "/a";
  EXPECT_TRUE(NormalisePath(path));
  EXPECT_NE(NormalisePath(path + "/a").message().find("201 names, 200 are allowed"), std::string::npos);
  EXPECT_TRUE(WithParents({File(path)}));
  EXPECT_FALSE(WithParents({File(path + "/a")}));
}

TEST(Manifest, ParentsAreAddedAndConflictsRefused) {
  auto files = WithParents({File("./b/c/d.txt"), File("a.txt")});
  ASSERT_TRUE(files) << files.error();
  std::vector<std::string> paths;
  for (const auto& file : *files) paths.push_back(file.path + (file.is_dir ? "/" : ""));
  EXPECT_EQ(paths, (std::vector<std::string>{"a.txt", "b/", "b/c/", "b/c/d.txt"}));
  EXPECT_FALSE(WithParents({File("a"), File("a/b")}));
  EXPECT_FALSE(WithParents({File("a"), File("./a")}));
  EXPECT_FALSE(WithParents({File("../a")}));
  EXPECT_FALSE(WithParents({File("")}));
  EXPECT_FALSE(WithParents({FileChange{"a"}}));
}

TEST(Manifest, FoldersCountAsEntriesWhoeverNamesThem) {
  // 120 files in folders of their own, 199 deep: 24,000 entries of 120 names.
  std::vector<FileChange> deep;
  for (int i = 0; i < 120; ++i) {
    std::string path = "f" + std::to_string(i);
    for (std::size_t names = 2; names < kMaxPathDepth; ++names) path += "/d";
    deep.push_back(File(path + "/x"));
  }
  const auto refused = WithParents(deep);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.message().find("more than 20000 files and folders"), std::string::npos) << refused.error();
  deep.resize(100);
  const auto taken = WithParents(deep);
  ASSERT_TRUE(taken) << taken.error();
  EXPECT_EQ(taken->size(), limits::kRunFiles);
}

TEST(Manifest, PathsAreBoundedByTheirBytesInAll) {
  std::string folder(255, 'n');
  for (int i = 0; i < 10; ++i) folder += "/" + std::string(255, 'n');
  std::vector<FileChange> files;
  for (int i = 0; i < 3'100; ++i) files.push_back(File(folder + "/" + std::to_string(i)));
  const auto refused = WithParents(files);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.message().find("8388608"), std::string::npos) << refused.error();
  files.resize(2'900);
  EXPECT_TRUE(WithParents(files));
}

TEST(Manifest, AFileAboveAFolderIsFoundBehindAnyOther) {
  EXPECT_FALSE(WithParents({File("a/b/c/x"), File("a/b/c/y"), File("a")}));
  EXPECT_FALSE(WithParents({FileChange{"a/b", std::nullopt, 0, 0755, true}, File("a/b/c/y"), File("a")}));
}

}  // namespace
}  // namespace acl
